"""Entries that are selected in the ledger and retired, restored or protected at once: all of them, or none."""

import csv
import html
import io
import json
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from memory import entry_selection, ledger, provenance, recordings
from memory.addresses import Address, Tier
from memory.host import api_keys, audit, ids, vault
from memory.host.errors import NotFound
from memory.ledger.entries import AddressedValue
from memory.models import ForgetRequest
from memory.models.entry import MemoryEntry
from memory.openintent import entries
from memory.openintent.access import Caller
from memory.passes import archives
from memory.provenance import Descent
from tests import archiving, building
from tests.pages.conftest import SignIn, body_of
from tests.pages.test_entry_page import recalled

pytestmark = pytest.mark.django_db


def written(*texts: str) -> list[str]:
    owner = building.scope()
    run = building.open_run(owner)
    return [ids.wire("mem", building.write(owner, run, text).id) for text in texts]


def rows(mem_ids: list[str]) -> list[MemoryEntry]:
    return list(MemoryEntry.objects.filter(id__in=[ids.parse("mem", each) for each in mem_ids]))


def send(browser: Client, action: str, mem_ids: list[str], **more: Any) -> Any:
    return browser.post("/memory/selected", {"action": action, "id": mem_ids, **more})


@pytest.mark.engines
def test_selected_entries_are_shown_then_retired_and_restored_with_a_record_of_each(ada: Client) -> None:
    made = written("alpha", "beta", "gamma")
    listed = body_of(ada.get("/memory"))
    assert all(f'name="id" value="{each}"' in listed for each in made)
    shown = body_of(ada.get("/memory/selected", {"action": "retire", "id": made[:2]}))
    assert ("alpha" in shown, "beta" in shown, "gamma" in shown) == (True, True, False)
    assert "You can restore them until they expire." in shown
    assert "All that match the filter" not in shown
    answer = send(ada, "retire", made[:2], reason="not ours", next="/memory?tag=x")
    assert answer["Location"] == "/memory?tag=x"
    assert {row.retired_reason for row in rows(made[:2])} == {"not ours"}
    assert rows(made[2:])[0].retired_at is None
    assert "beta" not in body_of(ada.get("/memory"))
    send(ada, "restore", made[:2])
    assert all(row.retired_at is None for row in rows(made))
    send(ada, "protect", made)
    assert all(row.protected for row in rows(made))
    assert body_of(ada.get("/memory")).count('title="No pass removes it"') == 3
    for action, targets in (("retired", made[:2]), ("restored", made[:2]), ("protected", made)):
        found = audit.newest(building.tenant().id, audit.AuditFilter(action=f"memory.{action}"))
        assert sorted(each.target for each in found) == sorted(targets)


def test_a_change_of_selected_entries_leads_to_no_other_site(ada: Client) -> None:
    made = written("alpha")
    for place in ("https://evil.example/", "//evil.example"):
        assert send(ada, "protect", made, next=place)["Location"] == "/memory"
        assert "evil.example" not in body_of(
            ada.get("/memory/selected", {"action": "retire", "id": made, "next": place})
        )


@pytest.mark.engines
def test_who_retires_is_shown_the_runs_that_read_the_entries_and_the_archives_that_keep_their_text(ada: Client) -> None:
    unread = building.remember("acme", "of no interest", memory_ref="elsewhere").entries[0]
    made = archiving.distilled("acme", "price is 5", "color is red")
    sources = [ids.wire("mem", each) for each in archives.sources_of(bytes(made.body))]
    run = recalled("pricing")
    told = [f'href="/archives/{ids.wire("arc", made.id)}"', f'href="/runs/{ids.wire("run", run.id)}"']
    for address in (
        f"/memory/{sources[0]}/retire",
        f"/memory/selected?action=retire&id={sources[0]}&id={sources[1]}&id={unread}",
        "/memory/selected?action=retire&all=yes&matching=ref%3Dnotes",
    ):
        shown = body_of(ada.get(address))
        assert [each in shown for each in told] == [True, True], address
    both = body_of(ada.get(f"/memory/selected?action=retire&id={sources[0]}&id={sources[1]}"))
    assert '<td class="num" data-label="Entries read">2</td>' in both
    for address in (
        f"/memory/{unread}/retire",
        f"/memory/selected?action=retire&id={unread}",
        f"/memory/selected?action=protect&id={sources[0]}",
    ):
        shown = body_of(ada.get(address))
        assert [each in shown for each in (*told, "does not call back")] == [False] * 3, address


@pytest.mark.engines
def test_what_an_entry_had_replaced_is_offered_again_when_it_is_retired(ada: Client) -> None:
    old, other = written("the limit is 100", "unrelated")
    ada.post(f"/memory/{old}/correct", {"content": "the limit is 100000"})
    new = ids.wire("mem", MemoryEntry.objects.get(content="the limit is 100000").id)
    for address in (f"/memory/{new}/retire", f"/memory/selected?action=retire&id={new}&id={other}"):
        shown = body_of(ada.get(address))
        assert f'href="/memory/{old}"' in shown, address
        assert f'href="/memory/selected?action=restore&amp;id={old}"' in shown, address
    assert "had replaced" not in body_of(ada.get(f"/memory/{new}"))
    ada.post(f"/memory/{new}/retire")
    shown = body_of(ada.get(f"/memory/{new}"))
    assert "It had replaced 1 entry, still retired" in shown
    link = f"/memory/selected?action=restore&amp;id={old}&amp;next=/memory/{new}"
    assert f'href="{link}"' in shown
    assert "the limit is 100" in body_of(ada.get(html.unescape(link)))
    assert send(ada, "restore", [old], next=f"/memory/{new}")["Location"] == f"/memory/{new}"
    assert "had replaced" not in body_of(ada.get(f"/memory/{new}"))


def test_what_is_offered_again_is_the_last_that_a_revoked_key_has_not_written() -> None:
    """Prices of a good key, of the leaked one twice, and once more of the leaked one."""
    good, leaked = building.scope(name="good"), building.scope(name="leaked")
    first = [building.write(good, building.open_run(good), text).id for text in ("Doppio 1000", "Moka 300")]
    bad = [building.write(leaked, building.open_run(leaked), text).id for text in ("Doppio 90", "Moka 30", "Doppio 80")]
    descents = [(first[0], bad[0]), (first[1], bad[1]), (bad[0], bad[2])]
    provenance.record(
        good.tenant_id, [Descent(*each, "superseded") for each in descents], pass_id=None, now=timezone.now()
    )
    for entry_id in (*first, bad[0]):
        ledger.retirement.retire_entry(good, entry_id, reason="", now=timezone.now())

    def offered(whose: str = "") -> list[str]:
        chosen = [bad[1], bad[2]]
        found = entry_selection.reach_of(good, chosen, whose=whose, now=timezone.now()).replaced
        return sorted(each.content for each in found.entries)

    assert offered() == ["Doppio 90", "Moka 300"], "a key may have written over its own"
    assert offered(leaked.principal.id) == ["Doppio 1000", "Moka 300"]
    key_id = ids.parse("key", leaked.principal.id)
    assert key_id
    api_keys.revoke_api_key(good.tenant_id, key_id, now=timezone.now())
    assert offered() == ["Doppio 1000", "Moka 300"]


def test_more_than_a_page_of_what_was_replaced_is_counted_and_offered_part_by_part(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = written(*(f"note {number}" for number in range(6)))
    found = [ids.parse("mem", each) for each in made]
    descents = [Descent(each, found[-1], "merged") for each in found[:-1] if each and found[-1]]
    provenance.record(building.tenant().id, descents, pass_id=None, now=timezone.now())
    send(ada, "retire", made[:-1])
    monkeypatch.setattr(entry_selection, "MOST", 3)
    shown = body_of(ada.get(f"/memory/{made[-1]}/retire"))
    assert '<span class="count">5</span>' in shown
    assert "Restore the newest 3…" in shown
    send(ada, "restore", made[2:5])
    shown = body_of(ada.get(f"/memory/{made[-1]}/retire"))
    assert [f'href="/memory/{each}"' in shown for each in made[:5]] == [True, True, False, False, False]


@pytest.mark.engines
def test_who_read_what_a_filter_finds_is_a_page_and_a_file_also_after_it_was_retired(
    ada: Client, sign_in: SignIn
) -> None:
    mem_ids = building.remember("acme", "price is 5", "color is red", memory_ref="notes").entries
    run = recalled("pricing")
    started_by = run.principal
    where = "/memory/reach?state=all&amp;ref=notes"
    assert f'href="{where}"' in body_of(ada.get("/memory?ref=notes"))
    form = {"action": "retire", "all": "yes", "matching": "ref=notes", "upto": "99999"}
    answer = ada.post("/memory/selected", form)
    assert answer["Location"] == "/memory/reach?ref=notes&state=all"
    shown = body_of(ada.get(answer["Location"]))
    assert f'href="/runs/{ids.wire("run", run.id)}"' in shown
    assert 'href="/memory?ref=notes&amp;state=all"' in shown
    told = json.loads(body_of(ada.get("/memory/reach?ref=notes&state=all&format=json")))
    [row] = told["readers"]
    assert (row["runId"], row["entriesRead"], row["startedBy"]) == (ids.wire("run", run.id), 2, started_by)
    [line] = csv.DictReader(io.StringIO(body_of(ada.get("/memory/reach?ref=notes&state=all&format=csv"))))
    assert (line["runId"], line["workflowId"]) == (row["runId"], "pricing")
    assert "No run has read them" in body_of(ada.get("/memory/reach?ref=elsewhere"))
    assert "No run has read them" in body_of(sign_in("globex").get("/memory/reach?ref=notes&state=all"))
    assert len(mem_ids) == 2


@pytest.mark.engines
def test_where_not_all_is_looked_at_the_page_says_so_and_its_file_has_every_reader(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    building.remember("acme", "read one", "read two", memory_ref="notes")
    read = [ids.wire("run", recalled("pricing").id) for _ in range(3)]
    building.remember("acme", "unread one", "unread two", memory_ref="notes")
    monkeypatch.setattr(entry_selection, "LOOKED_AT", 2)
    shown = body_of(ada.get("/memory/reach?ref=notes"))
    assert "Only the newest 2 entries were looked at." in shown
    assert "No run has read them" not in shown
    form = {"action": "retire", "all": "yes", "matching": "ref=notes", "upto": "99999"}
    assert ada.post("/memory/selected", form)["Location"] == "/memory/reach?ref=notes&state=all"
    monkeypatch.setattr(recordings, "COUNTED", 1)
    told = json.loads(body_of(ada.get("/memory/reach?ref=notes&state=all&format=json")))["readers"]
    assert [each["runId"] for each in told] == read[::-1]
    assert {each["entriesRead"] for each in told} == {2}


def test_who_may_not_read_runs_gets_neither_the_page_nor_a_file_of_who_read_entries(sign_in: SignIn) -> None:
    auditor = sign_in(role="auditor")
    for query in ("", "?format=csv"):
        assert auditor.get(f"/memory/reach{query}").status_code == 403


@pytest.mark.engines
def test_what_entries_were_merged_into_and_distilled_from_in_turn_is_listed(ada: Client) -> None:
    made = archiving.distilled("acme", "price is 5", "color is red")
    source = archives.sources_of(bytes(made.body))[0]
    assert made.entry_id
    above = archiving.archive("acme", [("all of it", [made.entry_id])], memory_ref="above")
    merged, gone = (ids.parse("mem", each) for each in written("price is 5, they say", "price was 5"))
    assert merged
    assert gone
    descents = [Descent(source, each, "merged") for each in (merged, gone)]
    provenance.record(made.tenant_id, descents, pass_id=None, now=timezone.now())
    ledger.retirement.retire_entry(building.scope(), gone, reason="", now=timezone.now())
    shown = body_of(ada.get(f"/memory/{ids.wire('mem', source)}/retire"))
    for linked in (ids.wire("arc", made.id), ids.wire("arc", above.id), ids.wire("mem", merged)):
        assert f'/{linked}"' in shown, linked
    assert ids.wire("mem", gone) not in shown, "it is retired already"


def test_to_retire_what_nothing_has_read_leads_back_to_the_list(ada: Client) -> None:
    building.remember("acme", "price is 5", memory_ref="notes")
    form = {"action": "retire", "all": "yes", "matching": "ref=notes", "upto": "99999"}
    assert ada.post("/memory/selected", {**form, "next": "/memory?ref=notes"})["Location"] == "/memory?ref=notes"


def test_of_the_runs_that_read_an_entry_the_last_are_named_and_all_are_counted(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    (mem_id,) = building.remember("acme", "price is 5").entries
    monkeypatch.setattr(entry_selection, "NAMED", 2)
    first, *last = (ids.wire("run", recalled("pricing").id) for _ in range(3))
    shown = body_of(ada.get(f"/memory/{mem_id}/retire"))
    assert [f"/runs/{each}" in shown for each in (first, *last)] == [False, True, True]
    assert "The last 2 of 3." in shown
    monkeypatch.setattr(recordings, "COUNTED", 2)
    assert '<span class="count">2+</span>' in body_of(ada.get(f"/memory/{mem_id}/retire"))


@pytest.mark.engines
def test_one_that_is_not_there_or_is_another_tenant_s_keeps_the_others_as_they_are(ada: Client) -> None:
    made = written("alpha")
    foreign = building.scope("globex")
    theirs = ids.wire("mem", building.write(foreign, building.open_run(foreign), "theirs").id)
    for other in (theirs, f"mem_{'0' * 32}", "nonsense"):
        assert send(ada, "retire", [*made, other]).status_code == 404
    assert [row.retired_at for row in rows([*made, theirs])] == [None, None]


def test_no_entry_more_than_a_page_has_or_another_act_is_refused(ada: Client) -> None:
    for action, number in [("retire", 0), ("retire", 51), ("burn", 1)]:
        given = {"action": action, "id": [ids.wire("mem", ids.new_id()) for _ in range(number)]}
        assert ada.get("/memory/selected", given).status_code == 422, action
        assert ada.post("/memory/selected", given).status_code == 422, action


def test_who_may_not_retire_has_no_boxes_and_is_refused(ada: Client, sign_in: SignIn) -> None:
    made, viewer = written("alpha"), sign_in(role="viewer")
    assert "data-check" not in body_of(viewer.get("/memory"))
    assert send(viewer, "retire", made).status_code == 403
    assert rows(made)[0].retired_at is None


@pytest.mark.engines
def test_an_entry_that_goes_meanwhile_leaves_the_others_as_they_were() -> None:
    (mem_id,) = written("alpha")
    chosen = [row.id for row in rows([mem_id])]
    with pytest.raises(NotFound):
        entry_selection.apply(
            building.scope(), "retire", [*chosen, UUID(int=2**128 - 1)], reason="", now=timezone.now()
        )
    assert rows([mem_id])[0].retired_at is None
    assert audit.newest(building.tenant().id, audit.AuditFilter(action="memory.retired")) == []


def tags_of(mem_ids: list[str]) -> list[list[str]]:
    found = {ids.wire("mem", row.id): row.tags for row in rows(mem_ids)}
    return [found[each] for each in mem_ids]


def contents(browser: Client, query: str) -> set[str]:
    shown = body_of(browser.get(f"/memory?{query}"))
    return {text for text in ("alpha", "beta", "gamma") if text in shown}


@pytest.mark.engines
@pytest.mark.parametrize("is_indexed", [False, True])
def test_a_tag_is_put_on_selected_entries_and_taken_off_and_they_are_found_by_it(ada: Client, is_indexed: bool) -> None:
    made, tenant = written("alpha", "beta", "gamma"), building.tenant().id
    before = {row.id: row.position for row in rows(made)}
    if is_indexed:
        ledger.index.catch_up(tenant)
    shown = body_of(ada.get("/memory/selected", {"action": "tag", "id": made[:2]}))
    assert "Add the tag" in shown
    assert send(ada, "tag", made[:2], tag="Quarter End").status_code == 302
    assert tags_of(made) == [["Quarter End"], ["Quarter End"], []]
    assert {row.id: row.position for row in rows(made)} == before, "runs in progress still see them"
    ledger.index.catch_up(tenant)
    assert contents(ada, "tag=Quarter+End") == contents(ada, "q=quarter") == {"alpha", "beta"}
    assert contents(ada, "q=alpha") == {"alpha"}
    send(ada, "untag", made[1:], tag="Quarter End")
    assert tags_of(made) == [["Quarter End"], [], []]
    assert contents(ada, "tag=Quarter+End") == contents(ada, "q=quarter") == {"alpha"}
    found = audit.newest(tenant, audit.AuditFilter(action="memory.tagged"))
    assert sorted(each.target for each in found) == sorted(made[:2])
    assert {each.reason for each in found} == {"Tag: Quarter End"}
    (taken,) = audit.newest(tenant, audit.AuditFilter(action="memory.untagged"))
    assert taken.target == made[1], "the third never had it"


def test_a_tag_that_cannot_be_stored_or_is_a_secret_changes_nothing(ada: Client) -> None:
    made = written("alpha")
    vault.store_secret(building.tenant().id, "stripe", "sk-live-4eC39HqLyjWDarjtT1zdp7dc", now=timezone.now())
    of_nobody = "sk-live-9fD48JrMzkXEbskuU2aeq8ed"  # has the shape of a secret
    for tag in ["", "x" * 257, "a\x00b", "sk-live-4eC39HqLyjWDarjtT1zdp7dc", of_nobody]:
        answer = send(ada, "tag", made, tag=tag)
        assert answer.status_code == 422, tag
        assert "Nothing was changed" in body_of(answer), tag
        assert tags_of(made) == [[]], tag


def test_an_entry_has_so_many_tags_and_no_more(ada: Client) -> None:
    made = written("alpha")
    for number in range(64):
        ledger.entries.tag_entry(building.scope(), rows(made)[0].id, f"t{number}", tagged=True, now=timezone.now())
    assert "more than 64" in body_of(send(ada, "tag", made, tag="one more"))
    assert len(tags_of(made)[0]) == 64


def test_the_tags_of_an_openintent_entry_and_of_an_archive_are_not_a_person_s_to_change(ada: Client) -> None:
    made = written("alpha")
    place = Address(tier=Tier.WORKING, agent_id="billing-01", namespace="invoices", key="progress")
    row = entries.create(Caller(building.scope(), "billing-01"), AddressedValue(place, {"n": 1}), now=timezone.now())
    addressed = ids.wire("mem", row.id)
    answer = send(ada, "tag", [*made, addressed], tag="red")
    assert answer.status_code == 409
    assert "at its address" in body_of(answer)
    assert tags_of(made) == [[]]


def about(subject: str, *texts: str) -> list[str]:
    owner = building.scope()
    run = building.open_run(owner)
    return [ids.wire("mem", building.write(owner, run, text, subject=subject).id) for text in texts]


def test_forgetting_selected_entries_leads_to_the_preview_of_their_subject_and_removes_nothing(ada: Client) -> None:
    marta, hannes = about("Marta", "first", "second"), about("Hannes", "third")
    [plain] = written("of nobody in particular")
    assert 'value="forget"' in body_of(ada.get("/memory"))
    alone = ada.get("/memory/selected", {"action": "forget", "id": marta})
    assert alone["Location"] == f"/forget?from={marta[0]}"
    assert 'value="Marta"' in body_of(ada.get(alone["Location"]))
    shown = body_of(ada.get("/memory/selected", {"action": "forget", "id": [*marta, *hannes, plain]}))
    assert shown.index("Marta") < shown.index("Hannes"), "that of most entries first"
    assert f"/forget?from={hannes[0]}" in shown
    assert "Entries without a subject" in shown
    assert "of nobody in particular" in shown
    matching = {"action": "forget", "all": "yes", "matching": "subject=Hannes"}
    assert ada.get("/memory/selected", matching)["Location"] == f"/forget?from={hannes[0]}"
    assert send(ada, "forget", marta).status_code == 422, "nothing is forgotten from here"
    assert all(row.content for row in rows([*marta, *hannes]))
    assert not ForgetRequest.objects.exists()


def test_who_may_not_forget_is_not_offered_it(sign_in: SignIn) -> None:
    made = about("Marta", "first")
    operator = sign_in(role="operator")
    listed = body_of(operator.get("/memory"))
    assert ('value="retire"' in listed, 'value="forget"' in listed) == (True, False)
    for chosen in ({"id": made}, {"all": "yes", "matching": "subject=Marta"}):
        assert operator.get("/memory/selected", {"action": "forget", **chosen}).status_code == 403
