"""The write: an entry, its tags and its fact commit together, redacted, or not at all."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memory import adapter, entry_drafts, ledger, ledger_search
from memory.adapter import console
from memory.adapter.runs import RunView
from memory.host import access, audit, event_log, ids, runs, tenancy, vault
from memory.host.errors import Forbidden, Invalid, NotFound, StreamClosed
from memory.models.entry import EntryTag, LedgerHead, MemoryEntry, Tombstone
from memory.retention_sweep import sweep
from tests import building

pytestmark = pytest.mark.django_db


@pytest.mark.engines
def test_a_write_is_an_entry_and_a_fact_that_names_it() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    written = building.write(
        acme, run, "likes e-mail", tags=("crm", "", "crm"), node_id="summarize-2", agent_id="acme.bot"
    )
    fact = event_log.read(acme.tenant_id, run.id)[-1]
    assert fact.type == "memory.written"
    assert fact.payload == {
        "memoryRef": "notes",
        "memoryId": ids.wire("mem", written.id),
        "nodeId": "summarize-2",
        "agentId": "acme.bot",
        "tags": ["crm"],
    }
    assert "likes e-mail" not in str(fact)


@pytest.mark.engines
def test_a_host_write_names_no_node() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    building.write(acme, run, "summary", node_id=None)
    assert "nodeId" not in event_log.read(acme.tenant_id, run.id)[-1].payload


@pytest.mark.engines
def test_a_write_that_cannot_record_its_fact_leaves_nothing_behind() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    runs.complete(run, now=timezone.now())
    with pytest.raises(StreamClosed):
        building.write(acme, run, "too late")
    assert building.contents(acme) == []
    assert not LedgerHead.objects.of(acme.tenant_id).exists()


@pytest.mark.engines
def test_a_run_of_another_tenant_writes_nothing() -> None:
    acme, globex = building.scope("acme"), building.scope("globex")
    with pytest.raises(NotFound):
        building.write(acme, building.open_run(globex), "x")
    assert MemoryEntry.objects.count() == 0


@pytest.mark.engines
def test_a_viewer_writes_nothing() -> None:
    run = building.open_run(building.scope())
    with pytest.raises(Forbidden, match="memory:write"):
        building.write(building.scope(role="viewer"), run, "x")


@pytest.mark.engines
def test_what_cannot_be_stored_is_refused_by_field_and_nothing_is_stored() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    before = event_log.length(acme.tenant_id, run.id)
    for draft, field in (
        ({"content": ""}, "content"),
        ({"content": "a\x00b"}, "content"),
        ({"content": "half \ud800 pair"}, "content"),
        ({"content": "ü" * 32_769}, "content"),
        ({"content": "x", "tags": tuple(f"t{n}" for n in range(65))}, "tags"),
        ({"content": "x", "tags": ("t" * 257,)}, "tags"),
        ({"content": "x", "tags": ("line\nbreak",)}, "tags"),
        ({"content": "x", "subject": "s" * 257}, "subject"),
        ({"content": "x", "expires_at": timezone.now() - timedelta(seconds=1)}, "expiresAt"),
    ):
        with pytest.raises(Invalid) as refused:
            building.write(acme, run, **draft)
        assert [error["field"] for error in refused.value.details["errors"]] == [field], (draft, field)
        assert MemoryEntry.objects.count() == 0, (draft, field)
        assert event_log.length(acme.tenant_id, run.id) == before, (draft, field)


@pytest.mark.engines
def test_the_largest_entry_that_is_advertised_is_stored() -> None:
    acme = building.scope()
    building.write(acme, building.open_run(acme), "x" * entry_drafts.MAX_CONTENT_BYTES)
    assert len(building.contents(acme)[0]) == entry_drafts.MAX_CONTENT_BYTES


@pytest.mark.engines
def test_a_secret_the_run_has_resolved_is_redacted_everywhere_and_in_every_process() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    vault.store_secret(acme.tenant_id, "crm", "tok-123456789", now=timezone.now())
    assert vault.resolve(run, "crm", now=timezone.now()) == "tok-123456789"
    written = building.write(
        acme,
        run,
        "called with tok-123456789",
        tags=("tok-123456789",),
        subject="tok-123456789",
        memory_ref="r/tok-123456789",
    )
    row = MemoryEntry.objects.of(acme.tenant_id).get(id=written.id)
    stored = f"{row.content} {row.search_text} {row.tags} {row.subject} {row.memory_ref}"
    assert "tok-123456789" not in stored
    assert row.redactions == 1
    assert row.content == "called with [REDACTED:crm]"
    assert EntryTag.objects.of(acme.tenant_id).get().tag == "[REDACTED:crm]"
    assert "tok-123456789" not in str(event_log.read(acme.tenant_id, run.id))


@pytest.mark.engines
def test_what_a_pass_makes_goes_through_every_secret_of_the_tenant_and_every_shape_of_one() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    vault.store_secret(acme.tenant_id, "crm", "tok-123456789", now=timezone.now())
    draft = entry_drafts.EntryDraft(
        "tok-123456789 and AKIAABCDEFGH12345678", ("tok-123456789",), subject="tok-123456789"
    )
    made = [ledger.entries.Derivation(draft, "merged")]
    [written] = ledger.entries.write_derived(building.ref(acme, "notes"), made, run=run, now=timezone.now())
    entry = MemoryEntry.objects.get(id=written.id)
    assert entry.content == "[REDACTED:crm] and [REDACTED:secret-shape]"
    assert (entry.tags, entry.subject) == (["[REDACTED:crm]"], "[REDACTED:crm]")


@pytest.mark.engines
def test_a_secret_the_run_has_not_resolved_is_not_this_run_s_business() -> None:
    acme = building.scope()
    vault.store_secret(acme.tenant_id, "crm", "tok-123456789", now=timezone.now())
    building.write(acme, building.open_run(acme), "tok-123456789")
    assert building.contents(acme) == ["tok-123456789"]


@pytest.mark.engines
def test_an_expired_entry_is_gone_to_the_millisecond_before_any_sweep() -> None:
    acme = building.scope()
    now = timezone.now()
    end = now + timedelta(seconds=10)
    written = building.write(acme, building.open_run(acme), "short-lived", expires_at=end, now=now)
    just_before, scope = end - timedelta(milliseconds=1), building.ref(acme, "notes")
    assert building.contents(acme, now=just_before) == ["short-lived"]
    assert adapter.runs.get_entry(scope, written.id, now=just_before)
    assert building.contents(acme, now=end) == []
    assert adapter.runs.get_entry(scope, written.id, now=end) is None
    assert ledger_search.ledger_page(acme, ledger_search.LedgerFilter(), now=end).total == 0
    assert adapter.console.find_entry(acme, written.id, now=end) is None


@pytest.mark.engines
def test_the_sweep_removes_what_expired_and_leaves_a_tombstone_without_content() -> None:
    acme = building.scope()
    now = timezone.now()
    run = building.open_run(acme)
    lapsing = building.write(acme, run, "lapses", expires_at=now + timedelta(seconds=1), now=now, tags=("t",))
    building.write(acme, run, "stays", now=now)
    assert sweep(now=now + timedelta(seconds=2)) == 1
    assert sweep(now=now + timedelta(seconds=2)) == 0
    assert MemoryEntry.objects.of(acme.tenant_id).get().content == "stays"
    assert EntryTag.objects.count() == 0
    stone = Tombstone.objects.of(acme.tenant_id).get()
    assert (stone.id, stone.reason) == (lapsing.id, "expired")
    assert adapter.console.count_entries(acme, now=now) == 1


@pytest.mark.engines
def test_retire_hides_and_restore_shows_again() -> None:
    acme = building.scope()
    written = building.write(acme, building.open_run(acme), "stale")
    ledger.retirement.retire_entry(acme, written.id, reason="no longer true", now=timezone.now())
    assert building.contents(acme) == []
    assert ledger_search.ledger_page(acme, ledger_search.LedgerFilter(), now=timezone.now()).total == 0
    assert ledger_search.ledger_page(acme, ledger_search.LedgerFilter(state="retired"), now=timezone.now()).total == 1
    ledger.retirement.restore_entry(acme, written.id, now=timezone.now())
    assert building.contents(acme) == ["stale"]
    assert adapter.console.count_entries(acme, now=timezone.now()) == 1


def test_only_those_who_operate_retire() -> None:
    acme = building.scope()
    written = building.write(acme, building.open_run(acme), "x")
    for role in sorted(access.ROLES.keys() - {"operator", "owner"}):
        with pytest.raises(Forbidden):
            ledger.retirement.retire_entry(building.scope(role=role), written.id, reason="", now=timezone.now())
        assert building.contents(acme) == ["x"], role


@pytest.mark.engines
def test_a_run_reads_its_start_snapshot_and_its_own_writes() -> None:
    acme = building.scope()
    earlier = building.open_run(acme)
    before = building.write(acme, earlier, "before")
    reader = building.open_run(acme)
    building.write(acme, earlier, "after")
    building.write(acme, reader, "own")
    view = RunView.for_run(reader)
    assert building.contents(acme, view=view) == ["own", "before"]
    ledger.retirement.retire_entry(acme, before.id, reason="", now=timezone.now())
    assert building.contents(acme, view=view) == ["own", "before"]
    assert building.contents(acme) == ["own", "after"]


@pytest.mark.engines
def test_what_was_retired_before_the_run_started_is_not_in_its_snapshot() -> None:
    acme = building.scope()
    written = building.write(acme, building.open_run(acme), "retired early")
    ledger.retirement.retire_entry(acme, written.id, reason="", now=timezone.now())
    assert building.contents(acme, view=RunView.for_run(building.open_run(acme))) == []


@pytest.mark.engines
def test_what_is_restored_and_retired_again_changes_no_snapshot() -> None:
    acme = building.scope()
    written = building.write(acme, building.open_run(acme), "comes and goes")
    seeing = RunView.for_run(building.open_run(acme))
    ledger.retirement.retire_entry(acme, written.id, reason="", now=timezone.now())
    blind = RunView.for_run(building.open_run(acme))
    for change in ("restore", "retire", "restore"):
        if change == "restore":
            ledger.retirement.restore_entry(acme, written.id, now=timezone.now())
        else:
            ledger.retirement.retire_entry(acme, written.id, reason="", now=timezone.now())
        assert building.contents(acme, view=blind) == []
        assert building.contents(acme, view=seeing) == ["comes and goes"]
    assert building.contents(acme, view=RunView.for_run(building.open_run(acme))) == ["comes and goes"]


@pytest.mark.engines
def test_retiring_and_restoring_are_audited_without_what_was_said() -> None:
    acme = building.scope()
    written = building.write(acme, building.open_run(acme), "stale")
    ledger.retirement.retire_entry(acme, written.id, reason="Ana said so", now=timezone.now())
    ledger.retirement.restore_entry(acme, written.id, now=timezone.now())
    restored, retired = audit.newest(acme.tenant_id, limit=2)
    assert (retired.action, restored.action) == ("memory.retired", "memory.restored")
    assert (retired.actor, retired.target) == (acme.principal.id, ids.wire("mem", written.id))
    assert "Ana" not in str(retired.details)


@pytest.mark.engines
def test_a_label_that_its_mark_makes_too_long_is_refused() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    vault.store_secret(acme.tenant_id, "a-very-long-name-of-a-secret", "12345678", now=timezone.now())
    vault.resolve(run, "a-very-long-name-of-a-secret", now=timezone.now())
    with pytest.raises(Invalid) as refused:
        building.write(acme, run, "x", tags=("t" * 247 + "12345678",))
    assert [error["field"] for error in refused.value.details["errors"]] == ["tags"]
    assert MemoryEntry.objects.count() == 0


@pytest.mark.engines
def test_the_adapter_lists_newest_first_by_tag_and_limit() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    for number in range(5):
        building.write(acme, run, f"entry {number}", tags=("odd",) if number % 2 else ("even",))
    assert building.contents(acme, limit=2) == ["entry 4", "entry 3"]
    assert building.contents(acme, tag="odd") == ["entry 3", "entry 1"]
    assert building.contents(acme, tag="missing") == []
    assert building.contents(acme, "elsewhere") == []


@pytest.mark.engines
def test_the_adapter_answers_what_the_orm_would() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    for number in range(3):
        building.write(
            acme, run, f"entry {number} ü", tags=("a", "b"), expires_at=timezone.now() + timedelta(hours=number + 1)
        )
    rows = MemoryEntry.objects.of(acme.tenant_id).filter(memory_ref="notes").order_by("-id")
    listed = adapter.runs.list_entries(building.ref(acme, "notes"), now=timezone.now())
    expected = [(row.id, row.memory_ref, row.content, tuple(row.tags), row.created_at, row.expires_at) for row in rows]
    found = [(e.id, e.memory_ref, e.content, e.tags, e.created_at, e.expires_at) for e in listed]
    assert found == expected
    assert adapter.runs.get_entry(building.ref(acme, "notes"), rows[1].id, now=timezone.now()) == listed[1]


def test_a_ref_that_is_malformed_or_another_tenant_s_resolves_to_nothing() -> None:
    globex = building.scope("globex")
    for raw in (
        "",
        "../notes",
        "a/../b",
        "a/./b",
        "..\\notes",
        "a\x00b",
        "a\nb",
        "n" * 257,
        "tenant/acme/notes",
        None,
        7,
        ["notes"],
        "\ud800",
    ):
        assert tenancy.memory_scope(globex, raw) is None, raw


@pytest.mark.engines
def test_a_ref_of_the_own_tenant_s_shape_resolves() -> None:
    assert tenancy.memory_scope(building.scope("acme"), "tenant/acme/notes") is not None


@pytest.mark.engines
def test_a_foreign_ref_resolves_to_nothing_even_if_the_store_held_such_rows() -> None:
    acme, globex = building.scope("acme"), building.scope("globex")
    building.write(acme, building.open_run(acme), "of acme", memory_ref="tenant/acme/notes")
    building.write(acme, building.open_run(acme), "shared name", memory_ref="notes")
    assert building.contents(globex, "notes") == []
    assert tenancy.memory_scope(globex, "tenant/acme/notes") is None


@pytest.mark.engines
def test_search_finds_every_word_in_any_case_and_alphabet() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    building.write(acme, run, "Die ÜBUNG in Łódź", tags=("Kurs",))
    building.write(acme, run, "something else")

    def total(text: str) -> int:
        wanted = ledger_search.LedgerFilter(text=text, order=ledger_search.NEWEST)
        return ledger_search.ledger_page(acme, wanted, now=timezone.now()).total

    assert [total(text) for text in ["übung", "łódź ÜB", "kurs", "übung else", "100%", "_"]] == [1, 1, 1, 0, 0, 0]


@pytest.mark.engines
def test_the_ledger_pages_to_its_end_with_a_true_total() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    for number in range(23):
        building.write(acme, run, f"entry {number}")
    seen: list[str] = []
    after = None
    while True:
        page = ledger_search.ledger_page(
            acme, ledger_search.LedgerFilter(), after=after, seen=len(seen), size=10, now=timezone.now()
        )
        assert (page.total, page.total_is_exact) == (23, True)
        assert (page.first, page.last) == (len(seen) + 1, len(seen) + len(page.entries))
        seen += [row.content for row in page.entries]
        if (after := page.after) is None:
            break
    assert seen == [f"entry {number}" for number in reversed(range(23))]


@pytest.mark.engines
def test_the_maintained_count_is_what_a_count_would_say() -> None:
    acme = building.scope()
    now = timezone.now()
    run = building.open_run(acme)
    rows = [building.write(acme, run, f"e{n}", now=now, expires_at=now + timedelta(seconds=n + 1)) for n in range(6)]
    ledger.retirement.retire_entry(acme, rows[4].id, reason="", now=now)
    ledger.retirement.retire_entry(acme, rows[0].id, reason="", now=now)
    later = now + timedelta(seconds=2)
    assert (
        adapter.console.count_entries(acme, now=later)
        == adapter.console.visible_entries(acme, now=later).filter(retired_at=None).count()
        == 3
    )
    sweep(now=later)
    assert adapter.console.count_entries(acme, now=later) == 3


@pytest.mark.engines
def test_the_use_an_agent_makes_of_memory_is_counted_by_its_own_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    acme, now = building.scope(), timezone.now()
    run = building.open_run(acme)
    rows = [building.write(acme, run, f"entry {n}", agent_id="acme.bot", now=now) for n in range(4)]
    building.write(acme, run, "lapsed", agent_id="acme.bot", now=now, expires_at=now + timedelta(seconds=1))
    building.write(acme, run, "of another", agent_id="acme.other", now=now)
    ledger.retirement.retire_entry(acme, rows[3].id, reason="", now=now)
    later = now + timedelta(seconds=2)
    asked = ["acme.bot", "acme.other", "acme.silent"]
    notes = frozenset({"notes"})
    assert adapter.console.agent_usage(acme, asked, now=later) == {
        "acme.bot": (3, 0, 1, False, now, notes),
        "acme.other": (1, 0, 0, False, now, notes),
    }
    assert adapter.console.agent_usage(building.scope("globex"), asked, now=later) == {}
    assert adapter.console.agent_usage(acme, [], now=later) == {}
    monkeypatch.setattr(console, "COUNTED", 1)
    bounded = adapter.console.agent_usage(acme, asked, now=later)
    assert [bounded[each].has_more for each in asked[:2]] == [True, False]
