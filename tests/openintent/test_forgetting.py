"""Forget reaches all that OpenIntent keeps; the log stays, and says what is missing (R69)."""

import base64
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory import ledger
from memory.addresses import Address, Tier
from memory.forget import execution
from memory.forget.erasers.declared import Declared
from memory.forget.erasers.entries import SEALED_VALUES, EntryNames
from memory.forget.execution import Preview
from memory.host import erasure, event_log
from memory.host.tenancy import TenantScope
from memory.ledger.entries import AddressedValue
from memory.models import EventNote, ForgetRequest, ForgetState, Intent, Namespace, Task
from memory.models.address import EntryAddress
from memory.models.entry import MemoryEntry
from memory.openintent import entries, events, namespaces, work
from memory.openintent.access import Caller
from memory.openintent.namespaces import Permissions
from memory.openintent.work import grants
from memory.openintent.work.rows import NewCoordinator, NewIntent, NewTask, TaskChange
from tests import building
from tests.memory.test_forgetting import MARTA, carry_out, confirm, everything_stored, forget, preview

pytestmark = pytest.mark.django_db
AGENT = "billing-01"
Wire = dict[str, Any]


@pytest.fixture
def acme() -> TenantScope:
    return building.scope()


def caller(scope: TenantScope, agent: str = AGENT) -> Caller:
    return Caller(scope, agent)


def remembered(scope: TenantScope, value: Wire, *tags: str, agent: str = AGENT, **more: Any) -> EntryAddress:
    place = {"tier": Tier.EPISODIC, "namespace": "ns", "key": f"k{EntryAddress.objects.count()}", **more}
    address = Address(agent_id=agent, **place)
    return entries.create(caller(scope, agent), AddressedValue(address, value, tags), now=timezone.now())


def holding(found: Preview, store: str) -> tuple[int, int]:
    of_store = next(each for each in found.holdings if each.store == store)
    return len(of_store.erase), len(of_store.suspected)


def events_of(scope: TenantScope, intent_id: str) -> list[Wire]:
    log = events.intent_log(caller(scope), intent_id, now=timezone.now())
    return events.page(log, events.EventQuery()).events


def an_intent(scope: TenantScope, title: str = "Invoices", **more: Any) -> Intent:
    return work.intents.create_intent(scope, NewIntent(title, **more), actor=AGENT, now=timezone.now())


def wire(prefix: str, row: Any) -> str:
    return f"{prefix}_{row.id.hex}"


def a_task(scope: TenantScope, intent: Intent, name: str = "Send", **more: Any) -> Task:
    new = NewTask(wire("intent", intent), name, **more)
    made = work.tasks.create_task(scope, new, actor=AGENT, now=timezone.now())
    return change(scope, made, status="running", assigned_agent=AGENT)


def change(scope: TenantScope, task: Task, **fields: Any) -> Task:
    changed = TaskChange(**fields)
    return work.tasks.update_task(
        scope, wire("task", task), changed, version=task.version, actor=AGENT, now=timezone.now()
    )


@pytest.mark.engines
def test_a_forgotten_subject_is_nowhere_in_what_openintent_keeps_and_the_log_is_as_it_was(acme: TenantScope) -> None:
    streams = everything_about_marta(acme)
    assert MARTA in everything_stored().casefold()
    before = [event_log.read(acme.tenant_id, each) for each in streams]
    done = forget(acme)
    assert done.state == ForgetState.FORGOTTEN, done.receipt
    assert MARTA not in everything_stored().casefold()
    after = [event_log.read(acme.tenant_id, each) for each in streams]
    assert [now[: len(then)] for now, then in zip(after, before, strict=True)] == before
    assert [row.key for row in EntryAddress.objects.all()] == ["stays"]


def everything_about_marta(scope: TenantScope) -> list[Any]:
    """Her name in every column that takes words, but for those that a log takes as well."""
    now = timezone.now()
    intent = an_intent(scope, f"For {MARTA}", description=MARTA, state={"who": MARTA}, constraints={MARTA: 1})
    work.intents.log_event(scope, wire("intent", intent), "comment", {"text": f"asks {MARTA}"}, actor=AGENT, now=now)
    task = a_task(scope, intent, f"Call {MARTA}", description=MARTA)
    task_id = wire("task", task)
    work.coordinators.create_coordinator(
        scope,
        NewCoordinator(wire("intent", intent), "boss", {"denied_semantic_namespaces": [MARTA]}),
        actor=AGENT,
        now=now,
    )
    for tier in Tier:
        more = {"tier": tier, "task_id": task_id} if tier == Tier.WORKING else {"tier": tier}
        remembered(scope, {"mail": MARTA.upper()}, **more)
        remembered(scope, {"n": 1}, f"by {MARTA}", **more)
        remembered(scope, {"n": 1}, **{**more, "key": f"{tier}: {MARTA}"})
        if tier != Tier.SEMANTIC:  # a namespace that is shared is part of a ref, which stands on the log
            remembered(scope, {"n": 1}, **{**more, "namespace": MARTA})
        remembered(scope, {"mail": MARTA}, **{**more, "sensitivity": "restricted"})
    other = a_task(scope, intent)
    remembered(scope, {"said": f"{MARTA} wrote"}, MARTA, tier=Tier.WORKING, task_id=wire("task", other), key=MARTA)
    change(scope, other, status="completed")
    rules = [{"agent": MARTA, "access": "write"}, {"agent": "boss", "access": "read"}]
    namespaces.change(caller(scope), "ns", Permissions("read", rules), now=now)
    remembered(scope, {"n": 1}, tier=Tier.EPISODIC, key="stays", task_id=f"case of {MARTA}", intent_id=MARTA)
    agent = work.rows.agent(scope.tenant_id, AGENT, by="host", now=now)
    return [intent.id, agent.run_id]


@pytest.mark.engines
def test_agents_that_are_called_like_forgotten_people_may_have_used_the_same_key(acme: TenantScope) -> None:
    for agent in (f"{MARTA} at her desk", f"{MARTA} on the phone", "marta kowalska", "marta.kowalska"):
        remembered(acme, {"n": 1}, agent=agent, key="progress")
    assert forget(acme).state == ForgetState.FORGOTTEN
    found = preview(acme, "marta kowalska")
    ticked = [row.hex for holding in found.holdings for row in holding.suspected]
    done = carry_out(confirm(acme, found, ticked=ticked))
    assert done.state == ForgetState.FORGOTTEN, done.receipt
    assert not EntryAddress.objects.exists()


@pytest.mark.engines
def test_an_agent_that_is_called_like_the_subject_is_called_otherwise_and_its_memory_is_gone(acme: TenantScope) -> None:
    now = timezone.now()
    own = remembered(acme, {"n": 1}, agent=MARTA, key="own")
    remembered(acme, {"n": 1}, agent=MARTA, key="shared", tier=Tier.SEMANTIC, created_by=MARTA, curated_by=MARTA)
    intent = an_intent(acme)
    work.intents.assign_agent(acme, wire("intent", intent), MARTA, actor=AGENT, now=now)
    given = grants.NewGrant(MARTA, "read")
    grants.grant(acme, wire("intent", intent), given, actor=AGENT, now=now)
    done = forget(acme)
    assert done.state == ForgetState.FORGOTTEN, done.receipt
    shared = EntryAddress.objects.get()
    assert shared.id != own.id
    assert (shared.agent_id, shared.created_by, shared.curated_by) == ("[FORGOTTEN]",) * 3
    assert Intent.objects.get().agents == []
    stays = done.receipt["stores"]["names on the event log"]
    assert stays["stays"] > 0
    assert "what a workflow, a node, an agent or a task is called" in stays["staysBecause"]


def test_an_archived_value_that_names_the_subject_is_redacted_and_the_others_stay(acme: TenantScope) -> None:
    intent = an_intent(acme)
    task = a_task(acme, intent)
    scope = {"tier": Tier.WORKING, "task_id": wire("task", task)}
    remembered(acme, {"mail": MARTA}, "vip", key="named", **scope)
    remembered(acme, {"n": 1}, f"by {MARTA}", key="tagged", **scope)
    remembered(acme, {"n": 2}, key="other", **scope)
    change(acme, task, status="completed")
    before = events_of(acme, wire("intent", intent))
    assert MARTA in str(before)

    assert forget(acme).state == ForgetState.FORGOTTEN

    after = events_of(acme, wire("intent", intent))
    assert [each["id"] for each in after] == [each["id"] for each in before]
    archived = next(each for each in after if each["type"] == "memory.archived")
    assert archived["data"] == {
        "entries_archived": 3,
        "snapshot": [
            {"namespace": "ns", "key": "named", "tags": ["vip"], "value_redacted": True},
            {"namespace": "ns", "key": "tagged", "tags": ["[FORGOTTEN]"], "value_redacted": True},
            {"namespace": "ns", "key": "other", "value": {"n": 2}, "tags": []},
        ],
    }


def test_an_archived_value_that_goes_whole_is_not_offered_for_another_name_in_it(acme: TenantScope) -> None:
    task = a_task(acme, an_intent(acme))
    both = {"mail": MARTA, "colleague": f"jo{MARTA}"}
    remembered(acme, both, key="both", tier=Tier.WORKING, task_id=wire("task", task))
    change(acme, task, status="completed")
    assert holding(preview(acme), "notes beside the event log") == (1, 0)


def test_an_event_whose_note_was_forgotten_reads_without_it(acme: TenantScope) -> None:
    intent = an_intent(acme)
    scope = {"tier": Tier.WORKING, "intent_id": wire("intent", intent)}
    remembered(acme, {}, key=MARTA, **scope)
    remembered(acme, {}, key="other", **scope)
    work.intents.log_event(acme, wire("intent", intent), "comment", {"who": MARTA}, actor=AGENT, now=timezone.now())
    forget(acme)
    told = events_of(acme, wire("intent", intent))
    kinds = [each["type"] for each in told]
    assert kinds == ["intent_created", "memory.created", "memory.created", "comment", "memory.deleted"]
    named, other, comment, deleted = (each["data"] for each in told[1:])
    assert (named["key"], named["namespace"], named["tags"], named["version"]) == (None, None, [], 1)
    assert (other["key"], comment) == ("other", {"value_redacted": True})
    assert (deleted["entry_id"], deleted["key"]) == (named["entry_id"], None)
    assert [each.get("value_redacted") for each in (named, other, deleted)] == [True, None, True]


def test_a_sealed_value_is_opened_and_looked_through(acme: TenantScope) -> None:
    values: list[Wire] = [{"mail": MARTA}, {MARTA: 1}, {"deep": [[{"x": f"to {MARTA}."}]]}, {"x": f"jo{MARTA}"}]
    for number, value in enumerate(values):
        remembered(acme, value, key=f"s{number}", sensitivity="confidential")
    remembered(acme, {"n": 1}, key="other", sensitivity="restricted")
    found = preview(acme)
    assert holding(found, SEALED_VALUES.store) == (3, 1)
    held = next(each for each in found.holdings if each.store == SEALED_VALUES.store)
    assert SEALED_VALUES.texts(acme.tenant_id, (*held.erase, *held.suspected)) == {}
    assert carry_out(confirm(acme, found)).state == ForgetState.FORGOTTEN
    assert sorted(row.key for row in EntryAddress.objects.all()) == ["other", "s3"]
    assert MemoryEntry.objects.count() == 2


def test_a_suspected_sealed_value_goes_when_it_is_ticked(acme: TenantScope) -> None:
    row = remembered(acme, {"x": f"jo{MARTA}"}, sensitivity="confidential")
    done = carry_out(confirm(acme, preview(acme), ticked={row.id.hex}))
    assert done.state == ForgetState.FORGOTTEN
    assert EntryAddress.objects.count() == 0


@pytest.mark.engines
def test_a_seal_that_does_not_open_may_hide_anybody_and_is_for_a_person_to_decide(acme: TenantScope) -> None:
    row = remembered(acme, {"mail": "somebody"}, sensitivity="confidential")
    EntryAddress.objects.written_by("memory.ledger").filter(id=row.id).update(sealed=b"x" * 40)
    found = preview(acme)
    assert holding(found, SEALED_VALUES.store) == (0, 1)
    done = carry_out(confirm(acme, found))
    assert (done.state, EntryAddress.objects.count()) == (ForgetState.FORGOTTEN, 1)
    carry_out(confirm(acme, preview(acme), ticked={row.id.hex}))
    assert EntryAddress.objects.count() == 0


def test_what_is_kept_of_a_sealed_value_is_never_called_forgotten(
    acme: TenantScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered(acme, {"mail": MARTA}, sensitivity="restricted")
    with monkeypatch.context() as patching:
        patching.setattr(type(SEALED_VALUES), "erase", lambda *given, **options: 1)
        left = forget(acme)
    assert left.state == ForgetState.RESIDUE
    assert left.receipt["residue"][SEALED_VALUES.store] == 1
    assert carry_out(execution.retry(acme, left.id, now=timezone.now())).state == ForgetState.FORGOTTEN


def test_what_is_kept_of_a_name_beside_an_entry_is_never_called_forgotten(
    acme: TenantScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered(acme, {"n": 1}, task_id=f"case of {MARTA}")
    monkeypatch.setattr(EntryNames, "erase", lambda *given, **options: 1)
    left = forget(acme)
    assert left.state == ForgetState.RESIDUE
    assert left.receipt["residue"][EntryNames.store] == 1


@pytest.mark.engines
def test_what_is_kept_of_a_note_is_never_called_forgotten(acme: TenantScope, monkeypatch: pytest.MonkeyPatch) -> None:
    an_intent(acme, f"For {MARTA}")
    monkeypatch.setattr(EventNote, "overwrite", lambda *given, **values: None)
    left: ForgetRequest = forget(acme)
    assert left.receipt["residue"]["notes beside the event log"] == 1
    assert EventNote.objects.filter(body__title=f"For {MARTA}").exists()


@pytest.mark.engines
def test_a_namespace_that_is_called_like_the_subject_is_called_otherwise_and_is_empty(acme: TenantScope) -> None:
    remembered(acme, {"n": 1}, tier=Tier.SEMANTIC, namespace=f"of:{MARTA}")
    remembered(acme, {"n": 1}, tier=Tier.SEMANTIC, namespace="kept")
    forget(acme)
    assert [row.namespace for row in EntryAddress.objects.all()] == ["kept"]
    names = sorted(Namespace.objects.values_list("name", flat=True))
    assert names[1:] == ["kept"]
    assert names[0].startswith("forgotten-")


@pytest.mark.engines
@pytest.mark.parametrize("part", ["namespace", "key"])
def test_the_whole_name_in_base64_in_a_namespace_or_a_key_is_surely_the_subject(acme: TenantScope, part: str) -> None:
    """Search form has no capitals, so it shows no base64."""
    for name, exact, suspected in ((f"jo{MARTA}", 0, 1), (MARTA, 1, 1)):
        remembered(acme, {"n": 1}, **{part: base64.b64encode(name.encode()).decode()})
        assert holding(preview(acme), "memory entries") == (exact, suspected)


@pytest.mark.engines
def test_a_near_miss_beside_an_entry_stays_unless_it_is_ticked(acme: TenantScope) -> None:
    row = remembered(acme, {"n": 1}, key="k", intent_id=f"jo{MARTA}")
    assert carry_out(confirm(acme, preview(acme))).state == ForgetState.FORGOTTEN
    assert EntryAddress.objects.get().intent_id == f"jo{MARTA}"
    carry_out(confirm(acme, preview(acme), ticked={row.id.hex}))
    assert EntryAddress.objects.get().intent_id == "[FORGOTTEN]"
    assert ledger.entries.value_of(ledger.addressed.lock_address(acme.tenant_id, row.id)) == {"n": 1}


@pytest.mark.only_db("sqlite")
def test_C22_what_a_forget_blanks_beside_the_ledger_is_to_go_from_the_files_too(acme: TenantScope) -> None:
    an_intent(acme, f"For {MARTA}")
    before = timezone.now()
    assert not ledger.erase.removed_since(before - timedelta(days=1))
    assert forget(acme).state == ForgetState.FORGOTTEN
    assert ledger.erase.removed_since(before, at_once=True)
    assert MemoryEntry.objects.count() == 0


def test_C22_a_forget_that_finds_nothing_leaves_the_files_alone(acme: TenantScope) -> None:
    an_intent(acme, "For nobody")
    forget(acme)
    assert not ledger.erase.removed_since(timezone.now() - timedelta(days=1), at_once=True)


def test_what_names_the_subject_in_an_intent_leads_to_the_run_of_the_intent(acme: TenantScope) -> None:
    intent = an_intent(acme, f"For {MARTA}")
    task = a_task(acme, intent, f"Call {MARTA}")
    for store, row in (("intents", intent), ("tasks", task)):
        (eraser,) = [each for each in work_stores() if each.store == store]
        assert eraser.found_in(acme.tenant_id, [row.id]) == {row.id: f"run_{intent.id.hex}"}, store


def test_every_text_of_work_is_a_column_that_is_looked_through() -> None:
    """A column that is added later is looked through as well; only the fixed words are not."""
    stores = {each.store: set(each.columns) for each in work_stores()}
    assert stores["intents"] >= {"title", "description", "state", "constraints", "agents", "policy", "created_by"}
    assert stores["tasks"] >= {"name", "description", "assigned_agent", "memory_policy", "record", "created_by"}
    assert stores["namespaces"] >= {"name", "allow", "created_by"}
    assert "status" not in stores["tasks"]


def work_stores() -> list[Any]:
    return [each for each in erasure.registered() if isinstance(each, Declared)]
