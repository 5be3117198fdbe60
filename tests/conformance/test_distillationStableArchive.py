"""``distillation-stable-archive``: the same sources and budget make the same bytes, whenever it is (RFC 0062 B.4)."""

from tests.conformance import dreaming
from tests.conformance.conftest import Host
from tests.conformance.dreaming import DISTILL, SOURCES


def checksum(host: Host, ref: str, **given: object) -> str:
    return str(dreaming.asked(host, DISTILL, memoryRef=ref, **given)["archiveChecksum"])


def test_the_same_sources_and_budget_have_the_same_checksum(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    given = {"tokenBudget": 2000, "sources": SOURCES}
    assert checksum(seamed, ref, **given) == checksum(seamed, ref, **given)


def test_texts_and_objects_with_the_same_texts_are_the_same_sources(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    objects = [{"content": text, "id": f"s-{number}"} for number, text in enumerate(SOURCES)]
    assert checksum(seamed, ref, sources=SOURCES) == checksum(seamed, ref, sources=objects)


def test_an_unchanged_ref_has_the_same_checksum_however_often_it_is_distilled(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    dreaming.seed(seamed, ref, *SOURCES)
    assert len({checksum(seamed, ref, tokenBudget=2000) for _ in range(3)}) == 1


def test_other_sources_have_another_checksum(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    assert checksum(seamed, ref, sources=SOURCES) != checksum(seamed, ref, sources=SOURCES[:-1])


def test_an_archive_that_came_later_leaves_the_earlier_entry_readable_or_says_that_it_is_gone(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    first = dreaming.asked(seamed, DISTILL, memoryRef=ref, sources=SOURCES)
    again = dreaming.asked(seamed, DISTILL, memoryRef=ref, sources=SOURCES)
    with seamed.client() as client:
        for made in (first, again):
            answer = client.get(f"/v1/host/console/memory/{made['event']['outputId']}")
            assert answer.status_code == 200, answer.text
    assert first["archiveChecksum"] == again["archiveChecksum"]
