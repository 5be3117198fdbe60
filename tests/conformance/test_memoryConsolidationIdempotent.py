"""``memory-consolidation-idempotent``: a second pass over an unchanged corpus reduces nothing (RFC 0068 B.2)."""

from tests.conformance import dreaming
from tests.conformance.conftest import Host
from tests.conformance.dreaming import CONSOLIDATE


def counts(host: Host, ref: str, **given: object) -> tuple[int, int]:
    event = dreaming.asked(host, CONSOLIDATE, memoryRef=ref, **given)["event"]
    return event["inputCount"], event["outputCount"]


def test_a_second_pass_changes_nothing(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    before, after = counts(seamed, ref)
    assert after < before
    entries = dreaming.listed(seamed, ref)
    assert counts(seamed, ref) == (after, after)
    assert dreaming.listed(seamed, ref) == entries


def test_so_it_is_with_a_canary(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    _, after = counts(seamed, ref, includeSecretCanary=True)
    entries = dreaming.listed(seamed, ref)
    assert counts(seamed, ref, includeSecretCanary=True) == (after, after)
    assert dreaming.listed(seamed, ref) == entries


def test_a_restatement_that_comes_later_is_merged_and_then_there_is_nothing_more_to_do(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    dreaming.seed(seamed, ref, "The loan machine is kept in the back room.", "Parcels leave at four.")
    assert counts(seamed, ref) == (2, 2)
    dreaming.seed(seamed, ref, "The loan machine is kept in the back room.")
    assert counts(seamed, ref) == (3, 2)
    assert counts(seamed, ref) == (2, 2)


def test_the_same_ref_by_the_name_that_the_public_suite_uses(seamed: Host) -> None:
    ref = "mem://conformance/consolidation"
    _, after = counts(seamed, ref)
    assert counts(seamed, ref) == (after, after)
