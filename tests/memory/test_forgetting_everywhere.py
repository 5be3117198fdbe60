"""Forget in every store that keeps text, in every form a name is written in, and beside what has to stay.

The stores and their columns are asked of the registered erasers, so one that is added later is tested here as well.
"""

import base64
import json
from collections.abc import Iterator
from itertools import cycle
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone
from django_q.models import Task
from pytest_django import DjangoDbBlocker

from memory import external_runs, ledger, passes, saved_filters
from memory.entry_drafts import EntryDraft
from memory.forget import execution, holds, plans
from memory.forget.erasers.declared import Declared
from memory.forget.execution import Preview
from memory.host import audit, erasure, interrupts
from memory.host.models import AuditReason, Interrupt, InterruptVote
from memory.host.tenancy import TenantScope
from memory.models import ForgetRequest, ForgetState, Pass
from memory.models.entry import MemoryEntry
from memory.models.forget import Decision
from memory.openintent import work
from memory.openintent.work import grants
from memory.openintent.work.rows import NewCoordinator
from memory.origins import Origin
from memory.passes import archives, orders
from memory.passes.orders import RequestedPass
from memory.templatetags.memory_words import page_of
from proposals import comments, policies
from tests import building, proposing
from tests.budgets import THOROUGH
from tests.building import undone
from tests.memory.test_forgetting import carry_out, everything_stored
from tests.openintent.test_forgetting import a_task, an_intent, remembered
from tests.openintent.test_forgetting import wire as wire_of
from tests.peopled import World

pytestmark = pytest.mark.django_db
ANA = "ana.q@exquis.org"
NEAR = f"jo{ANA}"
STRANGER = "zoltan@elsewhere.net"
B64 = [base64.b64encode(f"{'x' * shift}<{ANA}> {shift}".encode()).decode() for shift in range(3)]
EXACT = {
    "plain": f"write to {ANA}.",
    "case": "Ana.Q@EXQUIS.org",
    "width": "\uff21na.q@exquis.org",
    "percent": quote(ANA, safe=""),
    "every letter percent-encoded": "".join(f"%{byte:02X}" for byte in ANA.encode()),
    **{f"base64 at {shift}": text for shift, text in enumerate(B64)},
    "base64url": base64.urlsafe_b64encode(f"??>>{ANA} ~~".encode()).decode().rstrip("="),
    "entity": "ana.q&#64;exquis&period;org",
    "zero width": "ana.\u200bq@exquis.org",
    "soft hyphen": "ana.q@ex\u00adquis.org",
    "mailto": f"mailto:{quote(ANA, safe='')}?subject=hi",
    "json escape": r"\u0061na.q@exquis.org",
}
SUSPECTED = {
    "diacritics": "\u00e1na.q@exquis.org",
    "tag": "ana.q+news@exquis.org",
    "inside a word": NEAR,
    "longer domain": f"{ANA}.uk",
    "tag, percent-encoded": "ana.q%2Bnews%40exquis.org",
}
# Kept in a form of their own, and planted through what makes them.
OF_THEIR_OWN = {"archives", "recorded reads", "notes beside the event log"}


@pytest.fixture(scope="module")
def acme(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[TenantScope]:
    """Acme with a row in every store, made once; no test leaves anything in it."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield everything("nobody-yet")
        transaction.set_rollback(True)


def everything(name: str) -> TenantScope:
    """Acme with a row in every store, made through what makes such rows; each names ``name`` where it takes words."""
    world, now = World("acme"), timezone.now()
    acme = world.scope
    building.remember("acme", f"about {name}", "another note", subject="x")
    last = MemoryEntry.objects.order_by("-position").first()
    assert last is not None
    ledger.retirement.retire_entry(acme, last.id, reason=f"{name} said so", now=now)
    look = building.definition("look", building.node("recall", "vendor.console.recall", {"memoryRef": "notes"}))
    building.install("acme", look)
    building.execute(acme, "look")
    asking = {"url": "http://127.0.0.1/", "method": "POST", "body": name}  # an address that is not connected to
    building.install("acme", building.definition("ask", building.node("ask", "core.http.request", asking)))
    building.execute(acme, "ask")
    assert all((
        world.run, world.secret, world.file, world.agent, world.background_pass, world.pass_schedule, world.archive,
        world.schedule, world.heartbeat, world.spare_key, world.commitment, world.template, world.webhook,
        world.mcp_server,
    ))  # fmt: skip
    archives.cache_answer(building.ref(acme, "notes"), "a" * 64, f"of {name}", now=now)
    external_runs.write_entry(acme, "notes", EntryDraft("from elsewhere"), Origin("langgraph", node=name), now=now)
    world.made("PUT", "/v1/host/console/memory-policy", {"archiveDays": 60})
    world.ask("POST", "/v1/runs", {"workflowId": "conformance-noop"}, HTTP_IDEMPOTENCY_KEY="once-only-1")
    Task.objects.create(
        id="0" * 31 + "7", name="seven", func="f", started=now, stopped=now, success=False,
        args=(acme.tenant_id.hex,), result=f"duplicate key ({name})",
    )  # fmt: skip
    audit.append(acme.tenant_id, actor="host", action="test.done", reason=f"{name} asked", now=now)
    made, bea = proposing.propose(title=f"For {name}"), building.scope()
    comments.add(acme, made.id, f"{name} called", now=now)
    gate = proposing.ask(made).gate
    assert gate
    proposing.decide(made, gate, decision="rejected", reason=f"{name} would not like it")
    asked = policies.request_change(acme, made.kind, {"quorum": 2}, reason=f"{name} complained", now=now)
    policies.decide_change(bea, asked.id, confirmed=True, now=now)
    saved_filters.save_filter(acme, "proposals", name="hers", query=f"q={name}", shared=True, now=now)
    intent = an_intent(acme, f"For {name}", description=name, state={"who": name}, constraints={name: 1})
    work.coordinators.create_coordinator(
        acme, NewCoordinator(wire_of("intent", intent), "boss", {}), actor="billing-01", now=now
    )
    a_task(acme, intent, f"Call {name}", description=name)
    work.intents.assign_agent(acme, wire_of("intent", intent), "clerk", actor="billing-01", now=now)
    grants.grant(acme, wire_of("intent", intent), grants.NewGrant("clerk", "read"), actor="billing-01", now=now)
    remembered(acme, {"who": name}, f"of {name}", tier="semantic", sensitivity="public")
    remembered(acme, {"who": name}, key="sealed", sensitivity="confidential")
    held = holds.place(acme, [name], reason=f"{name} is a witness", now=now)
    holds.end(acme, held.id, reason=f"{name} was heard", now=now)
    question = Interrupt.objects.of(acme.tenant_id).first()
    assert question is not None
    vote = InterruptVote(tenant_id=acme.tenant_id, interrupt_id=question.id, voter="someone", action="accept")
    vote.principal, vote.at = acme.principal.id, now
    vote.insert(by=interrupts.WRITER)
    other = execution.preview(acme, ["bob@x.org"], now=now).request
    asked_for = execution.confirm(acme, other.id, typed="bob@x.org", reason=f"{name} asked for it", now=now)
    carry_out(asked_for)
    return acme


def generic_stores() -> list[Any]:
    """The stores that keep the rows of one table as they are."""
    return [each for each in erasure.registered() if isinstance(each, Declared) and each.store not in OF_THEIR_OWN]


def planted(column: Any, text: str, beside: Any = None) -> Any:
    """``text`` in the shape of the column, in a JSON value twice and with a bystander."""
    if column.get_internal_type() != "JSONField":
        return text[: column.max_length] if column.max_length else text
    texts = [text, STRANGER, *([] if beside is None else [beside])]
    default = column.get_default() if column.has_default() else {}
    return texts if isinstance(default, list) else {"deep": [{"x": each} for each in texts], text: "in a key"}


def turns(forms: dict[str, str], number: int) -> dict[str, list[str]]:
    """What is planted, time after time. In a thorough run that is one form in every store; in a quick one every form,
    one store after another, and each time the next form in each; on PostgreSQL, where no form is read otherwise,
    once."""
    if THOROUGH:
        return {form: [text] for form, text in forms.items()}
    number = number if connection.vendor == "sqlite" else 1
    texts, step = list(forms.values()), max(len(forms) // number, 1)
    return {f"from form {begin}": texts[begin:] + texts[:begin] for begin in range(0, step * number, step)}


def plant(acme: TenantScope, *texts: str, beside: Any = None) -> dict[str, Any]:
    """One of the texts stands in every column of one row of each of these stores; that row by store."""
    rows = {}
    for store, text in zip(generic_stores(), cycle(texts), strict=False):
        if store.table is AuditReason:  # its rows are not changed but by a forget
            audit.append(acme.tenant_id, actor="host", action="test.done", reason=text, now=timezone.now())
        row = store.table.objects.of(acme.tenant_id).order_by("-id").first()
        assert row is not None, f"no row of {store.store}: extend everything()"
        columns = {name: store.table._meta.get_field(name) for name in store.columns}
        values = {name: planted(column, text, beside) for name, column in columns.items() if not column.choices}
        short = {name for name, column in columns.items() if column.max_length and column.max_length < len(text)}
        values = {name: value for name, value in values.items() if name not in short}
        rows_of = store.table.objects.written_by(store.table.writer).filter(tenant_id=acme.tenant_id, id=row.id)
        if store.table is not AuditReason:
            rows_of.update(**values)
        rows[store.store] = row.id
    return rows


def settled(acme: TenantScope, found: Preview, decision: str, subject: str = ANA) -> ForgetRequest:
    """The subject of the preview is forgotten; every suspect was decided so."""
    now, request = timezone.now(), found.request
    execution.decide_rest(acme, request.id, decision, now=now)
    return carry_out(execution.confirm(acme, request.id, typed=subject, reason="ticket 17", now=now))


def stored(*texts: str) -> list[str]:
    """Those of the texts that any column of any table holds, as they are or escaped."""
    everywhere = everything_stored()
    return [text for text in texts if text in everywhere or json.dumps(text)[1:-1] in everywhere]


def problems_of(done: ForgetRequest) -> dict[str, Any]:
    """What is left or undecided, by store."""
    if done.state != ForgetState.FORGOTTEN:
        return {store: rows for store, rows in done.receipt["residue"].items() if rows} or {"state": done.state}
    return {store: counts for store, counts in done.receipt["stores"].items() if counts["undecided"]}


def previewed(acme: TenantScope, *names: str) -> tuple[Preview, dict[str, erasure.Holding]]:
    """The preview of the subject with these aliases, and what it offers by store."""
    found = execution.preview(acme, [*names] or [ANA], now=timezone.now())
    return found, {each.store: each for each in found.holdings}


def is_json(store: Any, name: str) -> bool:
    return bool(store.table._meta.get_field(name).get_internal_type() == "JSONField")


@pytest.mark.engines
def test_an_exact_name_goes_from_every_column_of_every_store_without_a_decision(acme: TenantScope) -> None:
    wrong = {}
    for turn, texts in turns(EXACT, 3).items():
        with undone():
            rows = plant(acme, *texts)
            building.remember("acme", *[f"note {text}" for text in texts], "a bystander stays")
            remembered(acme, {"who": texts[0]}, f"t {texts[-1]}", key="other", sensitivity="confidential")
            found, offered = previewed(acme)
            missed = {store for store, row in rows.items() if row not in offered[store].erase}
            problems = problems_of(settled(acme, found, Decision.UNDECIDED))
            left, kept = stored(*texts), stored(STRANGER) + stored("a bystander stays")
            if missed or problems or left or kept != [STRANGER, "a bystander stays"]:
                wrong[turn] = (missed, problems, left, kept)
    assert wrong == {}


@pytest.mark.engines
def test_a_suspected_name_is_offered_in_every_store_and_goes_or_stays_as_decided(acme: TenantScope) -> None:
    wrong: dict[object, object] = {}
    for turn, texts in turns(SUSPECTED, 2).items():
        with undone():
            rows = plant(acme, *texts)
            building.remember("acme", *[f"note {text}" for text in texts])
            remembered(acme, {"who": texts[0]}, f"t {texts[-1]}", key=f"k {texts[0]}", sensitivity="confidential")
            found, offered = previewed(acme)
            missed = {store for store, row in rows.items() if row not in offered[store].suspected}
            without = {store for store, row in rows.items() if not says(acme, store, row)}
            assert sum(len(each.erase) for each in offered.values()) == 0
            if missed or without:
                wrong[turn] = (missed, without)
            for decision in (Decision.TICKED, Decision.SPARED):
                with undone():
                    problems, left = problems_of(settled(acme, found, decision)), stored(*texts)
                    if problems or left != (texts if decision == Decision.SPARED else []):
                        wrong[turn, decision] = (problems, left)
                    assert stored(STRANGER)
    assert wrong == {}


def says(acme: TenantScope, store: str, row: UUID) -> bool:
    """Whether a person who decides about the row is shown what it says."""
    (eraser,) = [each for each in erasure.registered() if each.store == store]
    return any(eraser.texts(acme.tenant_id, [row]).get(row, []))


SHOWS_NOTHING = {"sealed values"}  # they are opened on the page of their entry alone


def test_a_suspect_of_every_store_is_shown_with_what_it_is_suspected_for(acme: TenantScope) -> None:
    with undone():
        building.write_each(acme, "Nothing of note", memory_ref="of-nobody-yet")
        remembered(acme, {}, agent="nobody-yet")
        ordered = orders.order(acme, RequestedPass("consolidate", "of-nobody-yet"), now=timezone.now())
        orders.run_pass(acme.tenant_id, ordered.id, holder="test/1", clock=timezone.now)
        request = execution.preview(acme, ["obody-yet"], now=timezone.now()).request
        rows, _ = plans.suspects(request, limit=1000)
        shown = plans.suspects_in_context(request, ("obody-yet",), rows)
        of_their_own = {"consolidation signatures", "failed tasks", "entry aliases", "proposals"}
        assert of_their_own < {each.suspect.store for each in shown}
        assert {each.suspect.store for each in shown if each.excerpt.mention != "obody-yet"} == SHOWS_NOTHING


def test_a_row_with_both_kinds_of_mention_is_offered_for_both_in_every_store(acme: TenantScope) -> None:
    rows = plant(acme, ANA, beside=NEAR)
    both = [
        each
        for each in generic_stores()
        if not each.personal.goes_whole and any(is_json(each, name) for name in each.columns)
    ]
    assert len(both) > 10
    both_go_as_decided(acme, {each.store: rows[each.store] for each in both})


def both_go_as_decided(acme: TenantScope, rows: dict[str, UUID]) -> None:
    """Each of the rows is offered for the exact name in it and for the suspected one, which stays when it is spared."""
    found, offered = previewed(acme)
    assert {store for store, row in rows.items() if row not in offered[store].erase} == set()
    assert {store for store, row in rows.items() if row not in offered[store].suspected} == set()
    for decision in (Decision.SPARED, Decision.TICKED):
        with undone():
            assert problems_of(settled(acme, found, decision)) == {}
            assert bool(stored(NEAR)) is (decision == Decision.SPARED)
            assert stored(STRANGER)


def test_a_row_with_each_kind_of_mention_in_a_column_of_its_own_is_offered_for_both_in_every_store(
    acme: TenantScope,
) -> None:
    rows = dict[str, UUID]()
    for store in generic_stores():
        fields = [store.table._meta.get_field(name) for name in store.columns]
        wide = [each for each in fields if not each.choices and (each.max_length or 99) >= len(NEAR)]
        if len(wide) > 1 and not store.personal.goes_whole and store.table is not AuditReason:
            row = store.table.objects.of(acme.tenant_id).order_by("-id").first()
            of_row = store.table.objects.written_by(store.table.writer).filter(tenant_id=acme.tenant_id, id=row.id)
            of_row.update(**{wide[0].name: planted(wide[0], ANA), wide[-1].name: planted(wide[-1], NEAR)})
            rows[store.store] = row.id
    assert {"agents", "coordinators", "intents", "tasks", "grants"} < rows.keys()
    both_go_as_decided(acme, rows)


# Stores whose rows stand on no page with an id of its own.
WITHOUT_A_PAGE = {
    "MCP servers", "distillation cache", "heartbeats", "idempotency cache", "memory policy", "names and agents of keys",
    "names of secrets", "namespaces", "pass schedules", "reasons of approval policies", "reasons of disabled artifacts",
    "reasons of policy changes", "reasons on the audit log", "saved filters", "schedules", "workspace files",
}  # fmt: skip


def test_a_suspect_opens_the_page_of_what_it_stands_in(acme: TenantScope, client: Client) -> None:
    with undone():
        rows, closed = plant(acme, *SUSPECTED.values()), set[str]()
        client.force_login(building.operator())
        for store in generic_stores():
            page = page_of(store.found_in(acme.tenant_id, [rows[store.store]]).get(rows[store.store], ""))
            if not page:
                closed.add(store.store)
            else:
                assert client.get(page).status_code == 200, (store.store, page)
        assert closed == WITHOUT_A_PAGE


COMMON = ["Ted", "Eve", "Ned", "Tena", "Kind", "State", "Reason", "Owner", "Null", "True", "Tier", "every", "Nul"]


@pytest.mark.engines
def test_a_name_that_is_a_common_word_is_forgotten_and_leaves_nothing_undecided(
    acme: TenantScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a quick run half of them are the aliases of one subject whose suspects go, half of one whose suspects stay.

    The forget's own progress stands at a store whose name is nearly such a word, as on a slow machine.
    """

    def report(row: Pass, *, doing: str, **more: Any) -> None:
        if "event log" in doing:
            passes.progress(row, doing=doing, **more)

    monkeypatch.setattr("memory.passes.report", report)
    building.remember("acme", *[f"{name} called" for name in COMMON])
    decisions = (Decision.TICKED, Decision.SPARED)
    every = [([name], decision) for name in COMMON for decision in decisions]
    for names, decision in every if THOROUGH else zip((COMMON[:7], COMMON[7:]), decisions, strict=True):
        with undone():
            found, _ = previewed(acme, *names)
            assert problems_of(settled(acme, found, decision, names[0])) == {}, (names, decision)
