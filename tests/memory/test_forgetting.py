"""Forget: final, verified and receipted; the event log stays as it was."""

import base64
import hashlib
import hmac
import json
import re
import runpy
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key
from django.db import connection, transaction
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django_q.models import Task
from pytest_django.fixtures import Settings

from memory import ledger, ledger_search, passes, retention_sweep
from memory.adapter import forget as adapter_forget
from memory.forget import execution, plans, receipts
from memory.forget import plans as forget_plans
from memory.forget.erasers import declared, entries
from memory.forget.execution import Preview
from memory.host import api_keys, audit, erasure, event_log, ids, interrupts, signing, sql, vault
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound
from memory.host.models import ApiKey, Interrupt, InterruptVote, Run, RunEvent, Secret, Tenant
from memory.host.tenancy import TenantScope
from memory.ledger import index
from memory.models import Archive, ForgetRequest, ForgetState, KeptContent, Pass, Suspect
from memory.models.entry import MemoryEntry, Tombstone
from memory.models.forget import Decision
from memory.models.vectors import VectorSpace
from memory.passes import archives
from memory.text import encodings
from memory.text.matching import Mention
from openwop_console.runtime import run_operations, steps
from openwop_console.runtime.models import Step, StepState
from openwop_console.runtime.run_operations import RunRequest
from tests import archiving, building
from tests.budgets import THOROUGH

pytestmark = pytest.mark.django_db
MARTA, PHONE = "marta.kowalska@example.com", "491512345678"


def preview(owner: TenantScope, *names: str) -> Preview:
    return execution.preview(owner, list(names) or [MARTA], now=timezone.now())


def confirm(owner: TenantScope, found: Preview, **options: Any) -> ForgetRequest:
    if "typed" not in options:
        options["typed"] = plans.open_terms(found.request)[0]
    given = {"reason": "ticket 17", "ticked": set(), "now": timezone.now(), **options}
    return execution.confirm(owner, found.request.id, **given)


def carry_out(request: ForgetRequest) -> ForgetRequest:
    done = execution.execute(request.tenant_id, request.id, holder="test/1", now=timezone.now(), clock=timezone.now)
    assert done is not None
    return done


def forget(owner: TenantScope, *names: str, **options: Any) -> ForgetRequest:
    return carry_out(confirm(owner, preview(owner, *names), **options))


def whole_log(owner: TenantScope, runs: list[Any]) -> list[Any]:
    return [event_log.read(owner.tenant_id, run) for run in runs]


@pytest.mark.engines
def test_a_forgotten_subject_is_nowhere_and_the_log_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "BATCH", 1)  # every entry is in the index of full text
    acme = building.scope()
    document = building.definition("echo", building.node("say", "vendor.console.compose", {"text": "hello {{mail}}"}))
    document["nodes"][0]["inputs"] = {"mail": building.from_input("mail")}
    building.install("acme", document)
    building.execute(acme, "echo", mail=f"<{MARTA.upper()}>")
    everywhere: dict[str, Any] = {"tags": [f"by {MARTA}"], "configurable": {"who": MARTA}, "metadata": {MARTA: 1}}
    everywhere |= {"scope_id": MARTA, "agent_id": MARTA}
    building.advance(run_operations.create_run(acme, RunRequest("conformance-noop", **everywhere), now=timezone.now()))
    building.remember("acme", f"Marta wrote from\n{MARTA}.", "Somebody else wrote.", subject="x")
    building.remember("acme", "A note about her.", subject=MARTA, tags=["vip"])
    look = building.definition("look", building.node("recall", "vendor.console.recall", {"memoryRef": "notes"}))
    building.install("acme", look)
    building.execute(acme, "look")
    archived = archiving.distilled("acme", f"She is {MARTA}.", "Somebody else wrote.")
    archives.cache_answer(building.ref(acme, "notes"), "a" * 64, f"of {MARTA}", now=timezone.now())
    assert MARTA in str(list(KeptContent.objects.values_list("text", flat=True)))
    assert MARTA in everything_stored()
    run_ids = list(Run.objects.of(acme.tenant_id).values_list("id", flat=True))
    before, events = whole_log(acme, run_ids), RunEvent.objects.count()

    done = forget(acme)

    assert done.state == ForgetState.FORGOTTEN
    assert whole_log(acme, run_ids) == before
    assert RunEvent.objects.count() == events + 4  # the runs of its two passes have started and completed
    page = ledger_search.ledger_page(acme, ledger_search.LedgerFilter(state="all"), now=timezone.now())
    left = [row.content for row in page.entries if not row.memory_ref.startswith("runs/")]
    assert left == ["Somebody else wrote."] * 2
    assert Archive.objects.of(acme.tenant_id).get(id=archived.id).withdrawn_because == "forgotten"
    assert MARTA not in everything_stored().casefold()


def everything_stored() -> str:
    """Every value of every column of every table, as one text."""
    with connection.cursor() as cursor:
        found = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            found += [_said(value) for row in cursor.fetchall() for value in row]
    return "\n".join(found)


def _said(value: Any) -> str:
    return bytes(value).decode(errors="replace") if isinstance(value, bytes | memoryview) else str(value)


def test_the_receipt_counts_what_a_second_query_verified_and_keeps_no_name() -> None:
    acme, globex = building.scope(), building.scope("globex")
    kept = building.remember("acme", *[f"{number}: {MARTA}" for number in range(7)], "unrelated")
    done = forget(acme)
    assert done.receipt["stores"]["memory entries"] == {
        "planned": 7, "erased": 7, "leftAfter": 0, "spared": 0, "undecided": 0, "stays": 0,
        "staysBecause": "",
    }  # fmt: skip
    assert done.receipt["auditSeq"] == audit.newest(acme.tenant_id, limit=1)[0].seq
    assert "event log stays" in done.receipt["stays"]
    assert MARTA not in json.dumps(done.receipt)
    stones = Tombstone.objects.of(acme.tenant_id).values_list("run_id", "reason")
    assert list(stones) == [(kept.run.id, "forgotten")] * 7, "an id and a reason remain of an entry"
    assert done.subject_key == plans.subject_key(acme.tenant_id, MARTA.upper()), "a keyed hash is kept of the subject"
    assert done.subject_key != plans.subject_key(globex.tenant_id, MARTA)
    assert bytes(done.sealed_terms) == b""


@pytest.mark.parametrize("address", ["https://memory.acme.example", ""])
def test_a_receipt_is_genuine_as_it_was_signed_and_under_keys_that_the_host_knows(
    settings: Settings, client: Client, address: str
) -> None:
    settings.OPENWOP_PUBLIC_URL = address
    owner, acme = building.operator(), building.scope()
    done = forget(acme)
    shown = receipts.proof(done)
    assert shown["receipt"]["tenant"] == {"id": ids.wire("tenant", acme.tenant_id), "slug": "acme"}
    assert shown["receipt"]["host"] == {"address": address or None, "keyId": shown["publicKeys"][0]["keyId"]}
    key = load_der_public_key(base64.b64decode(shown["publicKeys"][0]["publicKey"]))
    assert isinstance(key, Ed25519PublicKey)
    key.verify(base64.b64decode(shown["signature"]), rfc8785.dumps(shown["receipt"]))
    with override_settings(SECRET_KEY="another", SECRET_KEY_FALLBACKS=["only-for-tests"]):
        assert receipts.is_genuine(done), "after the host's key was changed"
    with override_settings(SECRET_KEY="another", SECRET_KEY_FALLBACKS=[]):
        assert not receipts.is_genuine(done)
    done.receipt["stores"]["memory entries"]["erased"] += 1
    assert not receipts.is_genuine(done)

    done.signature = hmac.new(b"only-for-tests", rfc8785.dumps(done.receipt), hashlib.sha256).hexdigest()
    assert receipts.is_genuine(done), "one of before the signing keys, by its seal"
    with override_settings(SECRET_KEY="another", SECRET_KEY_FALLBACKS=["only-for-tests"]):
        assert receipts.is_genuine(done), "also after the host's key was changed"
    done.receipt["auditSeq"] += 1
    assert not receipts.is_genuine(done)
    odd = ForgetRequest.objects.get(id=done.id)
    odd.receipt["auditSeq"] = 2**60
    assert not receipts.is_genuine(odd), "one that has no canonical form"
    assert receipts.proof(odd)["signedBytes"] == ""

    for member in ("tenant", "host"):
        del done.receipt[member]
    done.signature = receipts.signature_of(done.receipt or {})
    done.save(by=execution.WRITER)
    assert receipts.is_genuine(done), "one that names neither"
    client.force_login(owner)
    assert b"genuine" in client.get(f"/forget/{ids.wire('fgt', done.id)}").content


def test_what_stays_is_counted_with_the_reason_and_may_grow_after_the_preview() -> None:
    acme = building.scope()
    building.install("acme", building.definition("greeting", building.remember_node(f"Always greet {MARTA}")))
    building.execute(acme, "greeting")
    building.remember("acme", "a note", memory_ref=f"customers/{MARTA}")
    building.operator(email=MARTA)
    found = preview(acme)
    audit.append(acme.tenant_id, actor="x", action="test.done", target=MARTA, details={}, now=timezone.now())
    done = carry_out(confirm(acme, found))
    assert done.state == ForgetState.FORGOTTEN
    assert MemoryEntry.objects.count() == 0
    stays = {
        "installed artifacts": (4, "install a version without"),  # two installations, and what their runs pinned
        "names on the event log": (1, "never changed"),
        "names on the audit log": (1, ""),
        "operator accounts": (1, "deactivate"),
    }
    for store, (number, because) in stays.items():
        counts = done.receipt["stores"][store]
        assert (counts["stays"], counts["erased"]) == (number, 0), store
        assert because in counts["staysBecause"], store
    assert {store for store, counts in done.receipt["stores"].items() if counts["stays"]} == stays.keys()


def test_a_tag_that_is_no_plain_label_is_not_on_the_log() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    building.write(acme, run, "x", tags=("crm", f"customer:{MARTA}", "Run Summary"))
    assert event_log.read(acme.tenant_id, run.id)[-1].payload["tags"] == ["crm"]


def test_near_misses_are_suspected_and_spared_unless_ticked() -> None:
    acme = building.scope()
    building.write_each(acme, f"exact {MARTA}", f"other x{MARTA}", f"other {MARTA}.au")
    found = preview(acme)
    holding = next(each for each in found.holdings if each.store == entries.ENTRIES.store)
    assert (len(holding.erase), len(holding.suspected)) == (1, 2)
    australian = next(row for row in MemoryEntry.objects.all() if row.content.endswith(".au"))
    other = next(row for row in MemoryEntry.objects.all() if row.content.startswith("other x"))
    done = carry_out(confirm(acme, found, ticked={australian.id.hex}, spared={other.id.hex}))
    assert done.state == ForgetState.FORGOTTEN
    assert [row.content for row in MemoryEntry.objects.all()] == [f"other x{MARTA}"]
    assert done.receipt["stores"]["memory entries"]["spared"] == 1


@pytest.mark.engines
def test_a_subject_that_cannot_be_looked_for_is_refused() -> None:
    acme, many = building.scope(), [f"name {n}" for n in range(11)]
    nothing_shown = ["\u0301\u0301\u0301", "\u200b\u200b\u200b", "\u00ad\ufe0f\u2060\u034f"]
    for names in ([], [""], ["ab"], ["x" * 257], ["a\x00bc"], many, *([name] for name in nothing_shown)):
        with pytest.raises(Invalid):
            execution.preview(acme, names, now=timezone.now())
    assert ForgetRequest.objects.count() == 0


def test_only_an_owner_forgets() -> None:
    for role in ("viewer", "author", "agent", "reviewer", "operator", "auditor"):
        with pytest.raises(Forbidden, match="memory:forget"):
            preview(building.scope(role=role))


def test_only_who_may_forget_finds_who_was_forgotten() -> None:
    now, auditor = timezone.now(), building.scope(role="auditor")
    lists: list[Callable[[], object]] = [
        lambda: forget_plans.find(auditor, None),
        lambda: forget_plans.newest(auditor),
        lambda: list(forget_plans.export_requests(auditor)),
        lambda: forget_plans.request_that_removed(auditor, now),
        lambda: forget_plans.unfinished(auditor),
        lambda: forget_plans.awaiting_second(auditor, now=now),
        lambda: forget_plans.with_undecided(auditor),
        lambda: forget_plans.previews_to_decide(auditor, now=now),
    ]
    for look in lists:
        with pytest.raises(Forbidden, match="memory:forget"):
            look()


def test_a_confirmation_that_is_not_one_or_comes_too_late_erases_nothing() -> None:
    acme = building.scope()
    building.write_each(acme, MARTA)
    found = preview(acme)
    reasons = (" ", "x" * 501, f"{MARTA} asked for it")
    for wrong in ({"typed": "marta"}, {"typed": ""}, *({"reason": reason} for reason in reasons)):
        with pytest.raises(Invalid):
            confirm(acme, found, **wrong)
        assert forget_plans.find(acme, found.request.id).state == ForgetState.PREVIEWED
    with pytest.raises(Conflict, match="has expired"):
        confirm(acme, found, now=timezone.now() + execution.LIFETIME + timedelta(seconds=1))
    now = timezone.now()
    assert execution.execute(acme.tenant_id, found.request.id, holder="t", now=now, clock=timezone.now) is None
    assert MemoryEntry.objects.count() == 1


def test_a_world_that_changed_since_the_preview_goes_back_to_it() -> None:
    acme = building.scope()
    building.write_each(acme, MARTA)
    found = preview(acme)
    building.write_each(acme, f"again {MARTA}")
    with pytest.raises(Conflict) as refused:
        confirm(acme, found)
    assert refused.value.details["changed"]["memory entries"] == {"erase": 1, "suspected": 0}
    assert MemoryEntry.objects.count() == 2


def test_a_request_is_confirmed_once_carried_out_once_and_not_cancelled_from_outside() -> None:
    acme = building.scope()
    building.write_each(acme, MARTA)
    found, other = preview(acme), preview(acme).request
    confirmed = confirm(acme, found)
    with pytest.raises(Conflict, match="confirmed already"):
        confirm(acme, found)
    work = Run.objects.of(acme.tenant_id).get(workflow_id="host-forget")
    with pytest.raises(Conflict, match="not cancelled from outside"):
        run_operations.cancel_run(acme, work.id, now=timezone.now())
    assert carry_out(confirmed).state == ForgetState.FORGOTTEN
    again = execution.execute(acme.tenant_id, confirmed.id, holder="test/2", now=timezone.now(), clock=timezone.now)
    assert again is None
    left = ForgetRequest.objects.of(acme.tenant_id).get(id=other.id)
    assert bytes(left.sealed_terms) == b"", "its receipt ends every other preview of the subject"


def test_what_is_written_after_the_confirmation_goes_where_it_is_certain_and_is_left_to_a_person_where_not() -> None:
    acme = building.scope()
    building.write_each(acme, MARTA)
    confirmed = confirm(acme, preview(acme))
    building.write_each(acme, f"while waiting: {MARTA}", f"jo{MARTA}")
    done = carry_out(confirmed)
    assert done.state == ForgetState.FORGOTTEN
    counts = done.receipt["stores"]["memory entries"]
    assert (counts["erased"], counts["undecided"]) == (2, 1)
    assert [row.content for row in MemoryEntry.objects.all()] == [f"jo{MARTA}"]


def test_a_work_that_broke_off_is_taken_over_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    building.write_each(acme, *[f"{number} {MARTA}" for number in range(5)])
    confirmed = confirm(acme, preview(acme))
    monkeypatch.setattr(sql, "CHUNK", 2)
    real, calls = entries.ENTRIES.erase, []

    def dies_in_the_second_chunk(*args: Any, **options: Any) -> int:
        calls.append(args)
        if len(calls) == 2:
            raise OSError("the worker died")
        return real(*args, **options)

    monkeypatch.setattr(entries.LedgerEntries, "erase", lambda self, *a, **o: dies_in_the_second_chunk(*a, **o))
    with pytest.raises(OSError, match="died"):
        carry_out(confirmed)
    assert MemoryEntry.objects.count() == 3
    assert forget_plans.find(acme, confirmed.id).state == ForgetState.CONFIRMED
    assert (
        execution.execute(acme.tenant_id, confirmed.id, holder="test/2", now=timezone.now(), clock=timezone.now) is None
    )

    later = timezone.now() + timedelta(minutes=5)
    done = execution.execute(acme.tenant_id, confirmed.id, holder="test/2", now=later, clock=lambda: later)
    assert done is not None
    assert done.state == ForgetState.FORGOTTEN
    assert MemoryEntry.objects.count() == 0


def test_a_store_that_keeps_something_is_never_called_forgotten_however_often_it_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    acme, now = building.scope(), timezone.now()
    building.write_each(acme, MARTA)
    with monkeypatch.context() as broken:
        broken.setattr(entries.LedgerEntries, "erase", lambda *args, **options: 1)
        left = forget(acme)
        assert left.state == ForgetState.RESIDUE
        assert left.receipt["residue"] == {"memory entries": 1, **dict.fromkeys(other_stores(), 0)}
        assert left.receipt["code"] == "residue_found"
        assert left.signature == ""
        again = execute_at(execution.retry(acme, left.id, now=now), now)
    assert again.state == ForgetState.RESIDUE
    done = execute_at(execution.retry(acme, left.id, now=now), now)
    assert done.state == ForgetState.FORGOTTEN, "two retries at one moment are two pieces of work"
    assert MemoryEntry.objects.count() == 0


def test_a_writer_that_never_stops_leaves_residue_instead_of_a_forget_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    acme = building.scope()
    building.write_each(acme, MARTA)
    confirmed, run = confirm(acme, preview(acme)), building.open_run(acme)
    real = entries.LedgerEntries.remains
    looks: list[Any] = []

    def written_meanwhile(self: Any, *args: Any, **options: Any) -> Any:
        looks.append(building.write(acme, run, f"{len(looks)} again {MARTA}"))
        return real(self, *args, **options)

    monkeypatch.setattr(entries.LedgerEntries, "remains", written_meanwhile)
    left = carry_out(confirmed)
    assert (left.state, left.signature, len(looks)) == (ForgetState.RESIDUE, "", execution.ROUNDS)


def other_stores() -> list[str]:
    return [eraser.store for eraser in erasure.registered() if eraser.store != "memory entries"]


def test_another_tenant_s_subject_and_requests_are_out_of_reach() -> None:
    acme, globex = building.scope("acme"), building.scope("globex")
    building.write_each(acme, MARTA)
    building.write_each(globex, MARTA)
    found = preview(acme)
    with pytest.raises(NotFound):
        confirm(globex, found)
    carry_out(confirm(acme, found))
    assert [row.tenant.slug for row in MemoryEntry.objects.select_related("tenant")] == ["globex"]


def test_a_name_is_found_across_line_breaks_and_double_spaces() -> None:
    acme = building.scope()
    building.write_each(acme, "met Marta\nKowalska today", "Marta  Kowalska called", "\tmarta\u00a0kowalska")
    found = preview(acme, "Marta Kowalska")
    carry_out(confirm(acme, found, typed="marta   kowalska"))
    assert MemoryEntry.objects.count() == 0


def test_a_preview_that_nobody_confirmed_forgets_its_subject() -> None:
    acme = building.scope()
    left = preview(acme).request
    assert execution.lapse_previews(now=timezone.now()) == 0
    assert execution.lapse_previews(now=timezone.now() + timedelta(days=1)) == 1
    row = ForgetRequest.objects.of(acme.tenant_id).get(id=left.id)
    assert (row.state, bytes(row.sealed_terms), row.plan) == (ForgetState.LAPSED, b"", {})


def test_a_preview_whose_workers_keep_dying_is_given_up_with_the_reason_and_without_the_name() -> None:
    acme, now = building.scope(), timezone.now()
    asked = execution.request_preview(acme, [MARTA], now=now)
    for attempt in range(passes.MAX_ATTEMPTS):
        at = now + attempt * timedelta(minutes=5)
        assert asked.pass_id
        assert passes.claim(acme.tenant_id, asked.pass_id, holder=f"killed/{attempt}", now=at)
    ended = execution.build(acme.tenant_id, asked.id, holder="test/1", clock=lambda: now + timedelta(minutes=45))
    assert ended
    assert (ended.state, bytes(ended.sealed_terms)) == (ForgetState.FAILED, b"")
    assert execution.failure_of(ended) == execution.WORKER_LOST.message


def test_a_work_whose_workers_keep_dying_is_given_up_and_can_be_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    acme, now = building.scope(), timezone.now()
    building.write_each(acme, MARTA)
    confirmed = confirm(acme, preview(acme))

    def dies(*args: Any, **options: Any) -> int:
        raise OSError("the worker died")

    with monkeypatch.context() as patching:
        patching.setattr(entries.LedgerEntries, "erase", dies)
        for attempt in range(passes.MAX_ATTEMPTS):
            at = now + attempt * timedelta(minutes=5)
            with pytest.raises(OSError, match="died"):
                execute_at(confirmed, at)
        given_up = execute_at(confirmed, now + timedelta(hours=1))
    assert (given_up.state, given_up.receipt["code"]) == (ForgetState.RESIDUE, "worker_lost")
    assert "nothing was verified" in given_up.receipt["reason"]
    assert execute_at(execution.retry(acme, confirmed.id, now=now), now).state == ForgetState.FORGOTTEN


def test_a_work_that_another_worker_took_over_leaves_off(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    building.write_each(acme, MARTA)
    confirmed = confirm(acme, preview(acme))
    verify = execution._verify

    def taken_over(request: ForgetRequest, work: Pass, *rest: Any) -> Any:
        rows = Pass.objects.written_by("memory.passes").filter(id=work.id)
        rows.update(holder="test/2", attempts=work.attempts + 1)
        return verify(request, work, *rest)

    monkeypatch.setattr(execution, "_verify", taken_over)
    now = timezone.now()
    assert execution.execute(acme.tenant_id, confirmed.id, holder="test/1", now=now, clock=lambda: now) is None
    assert ForgetRequest.objects.get(id=confirmed.id).state == ForgetState.CONFIRMED


def execute_at(request: ForgetRequest, at: Any) -> ForgetRequest:
    done = execution.execute(request.tenant_id, request.id, holder="test/1", now=at, clock=lambda: at)
    assert done is not None
    return done


ENCODED = [
    f"see https://crm/?mail={quote(MARTA, safe='')}",
    f"payload {base64.b64encode(f'to {MARTA}, now'.encode()).decode()} end",
    "mail marta.kowalska&#64;example&period;com",
    "mail marta.\u200bkowalska@exam\u00adple.com",
    r"{\"mail\": \"\u006darta.kowalska@example.com\"}",
]


def test_an_entry_that_names_the_subject_in_an_encoding_goes_and_what_may_be_another_is_offered() -> None:
    acme = building.scope()
    others = ("marta.kowalska+news@example.com", f"jo{quote(MARTA, safe='')}", "Mart\u00e1.Kowalska@example.com")
    building.write_each(acme, *ENCODED, *others, "nothing here", "joana%40example.com")
    found = preview(acme)
    holding = next(each for each in found.holdings if each.store == entries.ENTRIES.store)
    assert (len(holding.erase), len(holding.suspected)) == (len(ENCODED), len(others))
    done = carry_out(confirm(acme, found))
    assert done.receipt["stores"]["memory entries"]["erased"] == len(ENCODED)
    left = sorted(row.content for row in MemoryEntry.objects.all())
    assert left == sorted([*others, "joana%40example.com", "nothing here"])


@pytest.mark.engines
def test_the_verification_finds_an_encoded_name_that_the_finding_has_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    building.write_each(acme, *ENCODED)
    monkeypatch.setattr("memory.adapter.forget.find_mentions", lambda *_, **__: {})
    assert forget(acme).state == ForgetState.RESIDUE


def test_an_entry_that_names_the_subject_in_a_form_that_is_not_stored_goes_or_is_offered() -> None:
    acme = building.scope()
    exact = (
        MARTA.encode().hex(),
        base64.b64encode(MARTA.encode("utf-16-le")).decode(),
        f"=?utf-16?B?{base64.b64encode(MARTA.encode('utf-16')).decode()}?=",
        r"marta\2e kowalska\40 example.com",
        f"key {base64.b32encode(MARTA.encode()).decode()}",
    )
    look_alike = "m\u0430rta.k\u043ewalska@example.com"
    encoded = base64.b64encode(f"to {look_alike}".encode()).decode()
    suspected = (look_alike, encoded, "marta.kowalska(a)example.com")
    building.write_each(acme, *exact, *suspected, "nothing here", "marta.nowak@example.com")
    before = preview(acme)
    building.write_each(acme, exact[0])
    found = [
        next(each for each in one.holdings if each.store == entries.ENTRIES.store) for one in (before, preview(acme))
    ]
    assert [(len(each.erase), len(each.suspected)) for each in found] == [(5, 3), (6, 3)]
    with pytest.raises(Conflict):
        confirm(acme, before)
    done = forget(acme)
    assert (
        done.receipt["stores"]["memory entries"] | {"erased": 6, "leftAfter": 0, "undecided": 3}
        == (done.receipt["stores"]["memory entries"])
    )


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_the_verification_finds_what_is_on_any_page_of_any_of_its_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter_forget, "LOOKED_AT", 2)
    acme = building.scope()
    building.write_each(acme, *[f"note {number}" for number in range(7)])
    rows = MemoryEntry.objects.written_by("memory.ledger").filter(tenant_id=acme.tenant_id)
    for each in rows.order_by("id").values_list("id", flat=True):
        rows.filter(id=each).update(content=ENCODED[0])
        assert adapter_forget.find_traces(acme.tenant_id, (MARTA,)) == {each: Mention.EXACT}
        rows.filter(id=each).update(content="a note")


def test_a_transaction_is_as_large_as_what_the_last_four_took_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    pace, sizes = execution.Pace(), []
    for milliseconds_a_row in (0.1, 0.1, 0.1, 0.5, 0.1, 0.1, 0.1, 0.1, 0.1, 4, 4, 4, 4):
        pace.breathe(pace.size, pace.size * milliseconds_a_row / 1000)
        sizes.append(pace.size)
    assert sizes == [20, 40, 80, 160, 320, 340, 340, 500, 500, 63, 33, 22, 17]


def test_a_transaction_ends_with_a_block_of_the_index_of_words_where_half_of_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(index, "BLOCK", 3)
    acme = building.scope()
    building.write_each(acme, *[f"note {number}" for number in range(40)])
    placed = list(MemoryEntry.objects.order_by("id").values_list("id", "position"))
    rows = [row for row, _ in placed]
    first = next(at for at, (_, position) in enumerate(placed) if position % 8 == 0)
    take = ledger.index.whole_blocks
    assert take(acme.tenant_id, rows[first : first + 9]) == take(acme.tenant_id, rows[first : first + 12]) == 8
    assert take(acme.tenant_id, rows[first : first + 24]) == 16
    assert take(acme.tenant_id, rows[first + 1 : first + 7]) == 5, "no block ends there"
    MemoryEntry.objects.written_by("memory.ledger").filter(id=rows[first + 2]).delete()
    assert take(acme.tenant_id, rows[first : first + 12]) == 11, "one is gone"


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_the_log_of_a_large_transaction_is_moved_before_another_writes() -> None:
    if sql.is_postgres():
        pytest.skip("PostgreSQL moves its log by itself")
    while not sql.empty_log():
        pass
    building.write_each(building.scope(), "a note")
    file, rows = Path(str(connection.settings_dict["NAME"])), MemoryEntry.objects.written_by("memory.ledger")
    small, sizes = file.stat().st_size, []

    def write() -> None:
        with transaction.atomic():
            sizes.append(file.stat().st_size)
        connection.close()

    other = threading.Thread(target=write)
    with sql.log_moved():
        rows.update(content="x" * 8_000_000)
        assert file.stat().st_size < small + 1_000_000
        other.start()
        other.join(0.3)
        assert not sizes, "it waits for the log"
    other.join()
    assert sizes[0] > small + 7_000_000
    rows.update(content="y" * 16_000_000)
    assert file.stat().st_size > small + 15_000_000, "other commits move it themselves, as before"


@pytest.mark.engines
def test_a_voice_that_bears_the_name_stays_one_voice_under_no_name() -> None:
    acme, globex = building.scope(), building.scope("globex")
    for scope in (acme, globex):
        run = building.open_run(scope)
        asked = Interrupt(tenant_id=scope.tenant_id, run_id=run.id, node_id="gate", kind="approval", key="k")
        asked.created_at = timezone.now()
        asked.insert(by=interrupts.WRITER)
        for voter in (MARTA, f"jo{MARTA}", "approver-1"):
            vote = InterruptVote(tenant_id=scope.tenant_id, interrupt_id=asked.id, voter=voter, action="accept")
            vote.principal, vote.at = scope.principal.id, timezone.now()
            vote.insert(by=interrupts.WRITER)
    done = forget(acme)
    voices = InterruptVote.objects.of(acme.tenant_id).order_by("id")
    assert [each.voter for each in voices] == [f"forgotten-{voices[0].id.hex}", f"jo{MARTA}", "approver-1"]
    counted = done.receipt["stores"]["voices at questions of runs"]
    assert (counted["erased"], counted["undecided"]) == (1, 1)
    assert InterruptVote.objects.of(globex.tenant_id).filter(voter=MARTA).count() == 1


def test_a_row_with_a_whole_name_and_a_suspected_one_is_offered_for_both() -> None:
    acme = building.scope()
    said: dict[str, Any] = {"customer": MARTA, "colleague": f"jo{MARTA}", "phone": int(PHONE), "other": 7}
    run = building.execute(acme, "conformance-noop", **said)
    found = preview(acme, MARTA, PHONE)
    holding = next(each for each in found.holdings if each.store == "run inputs and variables")
    assert (holding.erase, holding.suspected) == ((run.id,), (run.id,))
    for ticked, colleague, undecided in ((set(), f"jo{MARTA}", 1), ({run.id.hex}, "[FORGOTTEN]", 0)):
        with building.undone():
            done = carry_out(confirm(acme, found, ticked=ticked))
            assert Run.objects.of(acme.tenant_id).get(id=run.id).inputs == {
                "customer": "[FORGOTTEN]",
                "colleague": colleague,
                "phone": "[FORGOTTEN]",
                "other": 7,
            }
            assert done.receipt["stores"]["run inputs and variables"]["undecided"] == undecided


@pytest.mark.engines
def test_a_name_whose_words_are_fields_of_an_object_is_offered_and_goes_from_every_store() -> None:
    acme, store = building.scope(), "run inputs and variables"
    person = {"first": "Marta", "last": "Kowalska", "city": "Lodz"}
    namesake = {"first": "Marta", "last": "Nowak", "boss": "Jan Kowalska-Lis"}
    run = building.execute(acme, "conformance-noop", people=[person, namesake], note="Kowalska", by="Ada")
    found = preview(acme, "Marta Kowalska")
    assert [(each.store, each.erase, each.suspected) for each in found.holdings if each.erase or each.suspected] == [
        (store, (), (run.id,))
    ]
    done = carry_out(confirm(acme, found, ticked={run.id.hex}))
    inputs = Run.objects.of(acme.tenant_id).get(id=run.id).inputs
    assert inputs["people"] == [{"first": "[FORGOTTEN]", "last": "[FORGOTTEN]", "city": "Lodz"}, namesake]
    assert (inputs["note"], inputs["by"]) == ("Kowalska", "Ada")
    assert done.receipt["stores"][store]["undecided"] == 0
    assert not any(each.erase or each.suspected for each in preview(acme, "Marta Kowalska").holdings)


def test_names_of_secrets_and_keys_and_their_agents_are_forgotten() -> None:
    acme, now = building.scope(), timezone.now()
    secret = vault.store_secret(acme.tenant_id, f"token of {MARTA}", "s3cret-value", now=now)
    api_keys.create_api_key(
        building.tenant(), role="agent", name=f"laptop of {MARTA}", agents=(MARTA, "billing"), now=now
    )
    done = forget(acme)
    assert done.receipt["stores"]["names of secrets"]["erased"] == 1
    assert done.receipt["stores"]["names and agents of keys"]["erased"] == 1
    assert Secret.objects.of(acme.tenant_id).get().name == f"forgotten-{secret.id.hex}"
    kept = ApiKey.objects.of(acme.tenant_id).exclude(agents=[]).get()
    assert (kept.name, kept.agents) == ("[FORGOTTEN]", [f"forgotten-{kept.id.hex}", "billing"])


@pytest.mark.engines
def test_reasons_that_people_gave_are_forgotten() -> None:
    acme = building.scope()
    building.write_each(acme, "an old note")
    ledger.retirement.retire_entry(acme, MemoryEntry.objects.get().id, reason=f"{MARTA} said so", now=timezone.now())
    building.write_each(acme, "bob@x.org")
    forget(acme, "bob@x.org", reason=f"{MARTA} asked for it")
    forget(acme)
    assert MemoryEntry.objects.get().retired_reason == "[FORGOTTEN]"
    assert MARTA not in str(list(ForgetRequest.objects.values_list("reason", flat=True)))


@pytest.mark.engines
def test_the_error_of_a_failed_task_of_the_tenant_or_of_none_is_forgotten() -> None:
    acme, globex, now = building.scope(), building.tenant("globex"), timezone.now()
    named, rest = f"duplicate key ({MARTA})", dict[str, Any](func="f", started=now, stopped=now, success=False)
    for name, owner, said in (
        ("1", (acme.tenant_id.hex,), named),
        ("2", (acme.tenant_id.hex,), "nothing"),
        ("3", (), named),
        ("4", (globex.id.hex,), named),
        ("5", (), f"jo{MARTA}"),
    ):
        Task.objects.create(id=name * 32, name=name, args=owner, result=said, **rest)
    Task.objects.create(id="6" * 32, name="6", args=(acme.tenant_id.hex,), kwargs={"about": named}, **rest)
    done = forget(acme)
    assert (done.state, done.undecided) == (ForgetState.FORGOTTEN, 0), "one of no tenant is shown to none"
    assert sorted(Task.objects.values_list("name", flat=True)) == ["2", "4", "5"]


@pytest.mark.engines
def test_every_event_that_names_the_subject_is_counted_whatever_its_type() -> None:
    acme, name = building.scope(), "marta-kowalska"
    building.remember("acme", "a note", memory_ref=f"customers/{name}", workflow_id=name)
    confirmed = confirm(acme, preview(acme, name))
    building.execute(acme, name)
    done = carry_out(confirmed)
    seen = [event for event in RunEvent.objects.of(acme.tenant_id) if name in f"{event.node_id} {event.payload}"]
    assert {event.type for event in seen} > {"memory.written"}
    assert done.receipt["stores"]["names on the event log"]["stays"] == len(seen)


def test_a_receipt_is_verified_offline_by_the_recipe_of_the_documentation(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    acme = building.scope()
    building.write_each(acme, f"{MARTA}, called José")
    done = forget(acme)
    address = f"/v1/host/console/forget/{ids.wire('fgt', done.id)}"
    found = client.get(address, **building.headers()).json()
    (tmp_path / "host.json").write_text(client.get("/.well-known/openwop").content.decode())
    (recipe,) = re.findall(r"```python\n(.*?)```", Path("docs/receipts.md").read_text(), re.DOTALL)
    (tmp_path / "verify.py").write_text(recipe)
    monkeypatch.chdir(tmp_path)
    command = ["verify.py", "receipt.json", "host.json"]

    def ran(document: dict[str, Any]) -> str:
        """What the recipe prints in a process of its own."""
        Path("receipt.json").write_text(json.dumps(document))
        done = subprocess.run([sys.executable, "-I", *command], capture_output=True, text=True, check=False)
        assert (done.returncode == 0) is done.stdout.startswith("VERIFIED"), done.stderr
        return done.stdout or done.stderr

    def verified(document: dict[str, Any]) -> str:
        """And what it prints here, for the many changes: a process takes a hundred times as long."""
        Path("receipt.json").write_text(json.dumps(document))
        with monkeypatch.context() as patched, pytest.raises(SystemExit) as end:
            patched.setattr(sys, "argv", command)
            runpy.run_path("verify.py", run_name="__main__")
        printed = capsys.readouterr().out
        assert (end.value.code is None) is printed.startswith("VERIFIED")
        return printed or str(end.value.code)

    assert ran(found) == verified(found)
    assert verified(found).startswith("VERIFIED with key")
    changed = found | {"receipt": found["receipt"] | {"auditSeq": 0}}
    assert "not what was signed" in ran(changed)
    forged = base64.b64encode(rfc8785.dumps(changed["receipt"])).decode()
    assert "no key of the host" in ran(changed | {"signedBytes": forged})
    for name, value in found["receipt"].items():
        other = value + 1 if isinstance(value, int) else f"{value}x"
        assert "not what was signed" in verified(found | {"receipt": found["receipt"] | {name: other}}), name
        left = {each: kept for each, kept in found["receipt"].items() if each != name}
        assert "not what was signed" in verified(found | {"receipt": left}), name
    stores = json.loads(json.dumps(found["receipt"]["stores"]))
    stores["memory entries"]["erased"] = True
    assert "not what was signed" in verified(found | {"receipt": found["receipt"] | {"stores": stores}})
    checkpoint = signing.sign_bytes(signing.CHECKPOINTS, rfc8785.dumps(found["receipt"]))
    assert "no key of the host" in verified(found | {"signature": checkpoint.text}), "a key of another purpose"
    assert (found["algorithm"], found["canonicalization"], found["undecided"]) == ("Ed25519", "RFC 8785", 0)


def test_a_receipt_with_undecided_suspects_is_amber_until_they_are_decided(client: Client) -> None:
    acme, ada = building.scope(), building.operator()
    client.force_login(ada)
    building.remember("acme", MARTA)
    confirmed = confirm(acme, preview(acme))
    building.remember("acme", f"jo{MARTA}")
    done = carry_out(confirmed)
    address = f"/forget/{ids.wire('fgt', done.id)}"
    shown = client.get(address).content.decode()
    assert f"{done.undecided} suspects undecided" in shown
    assert "Forgotten and verified" not in shown
    assert "suspects undecided" in client.get("/forget").content.decode()
    again = preview(acme)
    execution.decide_rest(acme, again.request.id, Decision.SPARED, now=timezone.now())
    spared = carry_out(confirm(acme, again))
    assert (spared.receipt["stores"]["memory entries"]["spared"], spared.undecided) == (1, 0)
    for each in (done, spared):
        assert "Forgotten and verified" in client.get(f"/forget/{ids.wire('fgt', each.id)}").content.decode()


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("without_autovacuum")
def test_a_forgotten_name_is_in_no_file_and_no_statistic_of_postgresql(monkeypatch: pytest.MonkeyPatch) -> None:
    if not sql.is_postgres():
        pytest.skip("SQLite rebuilds its file, which test_search.py shows")
    monkeypatch.setattr(retention_sweep, "OVERLAP", timedelta(0))  # the first scrub is the one that counts
    word = remember_a_name()
    with connection.cursor() as cursor, closing(connection.copy()) as other:
        other.settings_dict["NAME"] = "postgres"
        hold(other, "SELECT pg_current_xact_id()")  # the server's other databases are written all the time
        forget(building.scope(), f"canary.{word}@example.com")
        with as_an_owner_who_is_no_superuser(cursor):
            assert retention_sweep.scrub(now=timezone.now())
        for _ in range(20):  # a table whose lock is not free, for autovacuum has it, waits for the next time
            if not (left := in_files(cursor, word[:-1])):
                break
            time.sleep(0.5)
            with as_an_owner_who_is_no_superuser(cursor):
                retention_sweep.scrub(now=timezone.now())
        assert word[:-1] not in statistics_of(cursor)
        assert left == {}
    assert "VACUUM FULL is run by hand" in ForgetRequest.objects.get().receipt["storage"]


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("without_autovacuum")
@pytest.mark.parametrize("held", ["a snapshot from before the forget", "the samples"])
def test_what_keeps_forgotten_rows_in_the_files_of_postgresql_delays_the_scrub_and_no_more(
    held: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not sql.is_postgres():
        pytest.skip("SQLite rebuilds its file, which test_search.py shows")
    # A minute of production: until it is over, a scrub tries without looking at other transactions, and is repeated.
    monkeypatch.setattr(retention_sweep, "OVERLAP", timedelta(seconds=2))
    word = remember_a_name()
    with connection.cursor() as cursor, closing(connection.copy()) as other:
        if held != "the samples":
            hold(other, "SELECT count(*) FROM memory_memoryentry")
        forget(building.scope(), f"canary.{word}@example.com")
        if held == "the samples":
            hold(other, "LOCK TABLE pg_catalog.pg_statistic IN ACCESS SHARE MODE")
        retention_sweep.scrub(now=timezone.now())
        time.sleep(2)
        retention_sweep.scrub(now=timezone.now())
        assert in_files(cursor, word[:-1])
        other.rollback()
        hold(other, f"LOCK TABLE {Tenant._meta.db_table} IN SHARE UPDATE EXCLUSIVE MODE")  # as a vacuum of its own does
        retention_sweep.scrub(now=timezone.now())
        other.rollback()
        for _ in range(20):
            retention_sweep.scrub(now=timezone.now())
            if not (left := in_files(cursor, word[:-1])):
                break
            time.sleep(0.5)
        assert left == {}
        assert not retention_sweep.scrub(now=timezone.now()), "nothing is left to do"


@pytest.fixture
def without_autovacuum(transactional_db: None) -> Iterator[None]:
    """PostgreSQL analyses no table by itself: its snapshot would keep a row in a table that a scrub has rewritten."""
    if not sql.is_postgres():
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT relid::regclass::text FROM pg_stat_user_tables")
        tables = [table for (table,) in cursor.fetchall()]
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
        yield
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} RESET (autovacuum_enabled)")


def remember_a_name() -> str:
    """Entries of a subject with the returned word in their text, their index and PostgreSQL's samples.

    Tables that tests before have made large are small again, so that a scrub rewrites them.
    """
    for table, size in sql.tables_vacuumed_before(timezone.now() + timedelta(days=1)):
        assert size <= retention_sweep.REWRITTEN or sql.vacuum(table, rewrite=True, patience_ms=5_000)
    building.scope()
    word = "zyxkowalskas"
    canary = f"canary.{word}@example.com"
    building.write_each(building.scope(), *[f"{number}: {canary}" for number in range(20)], "y" * 3000, subject=canary)
    building.write_each(building.scope(), f"{canary} {'long text ' * 2000}")
    retention_sweep.scrub(now=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        assert canary in statistics_of(cursor)
        assert in_files(cursor, canary)
        cursor.execute("SELECT count(*) FROM memory_searchstem WHERE stem IN (%s, %s)", [word, word[:-1]])
        assert cursor.fetchone()[0] > 0, "the word is in the index"
    return word


def hold(session: Any, statement: str) -> None:
    """Leave a transaction open in another session that took its snapshot with this statement."""
    session.set_autocommit(False)
    with session.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute(statement)


@contextmanager
def as_an_owner_who_is_no_superuser(cursor: Any) -> Iterator[None]:
    """Inside of the block the database and its tables belong to a role as docs/operations.md makes it."""
    cursor.execute("SELECT quote_ident('owner_of_' || current_database()), quote_ident(current_database())")
    owner, database = cursor.fetchone()
    cursor.execute(f"CREATE ROLE {owner}")
    cursor.execute(f"ALTER DATABASE {database} OWNER TO {owner}")
    cursor.execute("SELECT relid::regclass::text FROM pg_stat_user_tables")
    for (table,) in cursor.fetchall():
        cursor.execute(f"ALTER TABLE {table} OWNER TO {owner}")
    cursor.execute(f"SET ROLE {owner}")
    try:
        yield
    finally:
        cursor.execute("RESET ROLE")
        cursor.execute(f"REASSIGN OWNED BY {owner} TO CURRENT_USER")
        cursor.execute(f"DROP ROLE {owner}")


def statistics_of(cursor: Any) -> str:
    cursor.execute("SELECT most_common_vals::text, histogram_bounds::text FROM pg_stats WHERE schemaname = 'public'")
    return str(cursor.fetchall())


def in_files(cursor: Any, text: str) -> dict[str, int]:
    """How often the files of this database hold the text, by table or index; without the write-ahead log."""
    cursor.execute("CHECKPOINT")
    cursor.execute("SELECT current_setting('data_directory'), oid FROM pg_database WHERE datname = current_database()")
    folder, oid = cursor.fetchone()
    cursor.execute("SELECT pg_relation_filenode(oid)::text, relname FROM pg_class")
    names = dict(cursor.fetchall())
    found: Counter[str] = Counter()
    for file in Path(folder, "base", str(oid)).iterdir():
        found[names.get(re.split("[._]", file.name)[0], file.name)] += file.read_bytes().count(text.encode())
    return dict(+found)


# --- previews that a worker builds ----------------------------------------------------------------------------------


def built(request: ForgetRequest, at: Any, *, holder: str = "test/1") -> ForgetRequest | None:
    return execution.build(request.tenant_id, request.id, holder=holder, clock=lambda: at)


def test_a_preview_is_built_once_and_lives_from_when_it_is_ready() -> None:
    acme, now = building.scope(), timezone.now()
    building.write_each(acme, MARTA)
    asked = execution.request_preview(acme, [MARTA], now=now)
    assert (asked.state, asked.plan) == (ForgetState.BUILDING, {})
    with pytest.raises(Conflict, match="still being built"):
        execution.confirm(acme, asked.id, typed=MARTA, reason="r", now=now)
    later = now + timedelta(minutes=10)
    ready = built(asked, later)
    assert (ready.state, ready.lapses_at) == (ForgetState.PREVIEWED, later + execution.LIFETIME)
    assert built(asked, later, holder="test/2") is None
    assert ready.plan["memory entries"]["erase"] == 1


def test_a_preview_whose_worker_was_killed_is_built_by_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    acme, now = building.scope(), timezone.now()
    building.write_each(acme, MARTA, f"jo{MARTA}")
    asked = execution.request_preview(acme, [MARTA], now=now)

    class Killed(BaseException):
        """Nothing is caught of a process that is gone."""

    def dies(*args: Any, **options: Any) -> None:
        raise Killed

    with monkeypatch.context() as patching:
        patching.setattr(passes, "finish", dies)
        with pytest.raises(Killed):
            built(asked, now)
    assert forget_plans.find(acme, asked.id).state == ForgetState.BUILDING
    assert built(asked, now, holder="test/2") is None  # the lease of the dead one still holds
    ready = built(asked, now + timedelta(minutes=5), holder="test/2")
    assert ready.state == ForgetState.PREVIEWED
    suspected = sum(entry["suspected"] for entry in ready.plan.values())
    assert len(forget_plans.suspects(forget_plans.find(acme, asked.id), limit=1000)[0]) == suspected > 0


@pytest.mark.engines
def test_a_preview_that_is_not_built_in_time_is_cancelled_and_forgets_its_subject() -> None:
    acme, now = building.scope(), timezone.now()
    asked = execution.request_preview(acme, [MARTA], now=now)
    assert execution.lapse_previews(now=now + timedelta(hours=2)) == 1
    row = forget_plans.find(acme, asked.id)
    assert (row.state, bytes(row.sealed_terms), row.background.state) == (ForgetState.LAPSED, b"", "cancelled")
    assert built(asked, now + timedelta(hours=2)) is None


def test_a_preview_that_is_taken_over_or_lapses_while_it_is_built_leaves_off(monkeypatch: pytest.MonkeyPatch) -> None:
    acme, now = building.scope(), timezone.now()
    later, meanwhile, find = now + timedelta(minutes=5), list[Callable[[], Any]](), entries.LedgerEntries.find

    def slowly(*given: Any) -> Any:
        while meanwhile:
            meanwhile.pop()()
        return find(*given)

    monkeypatch.setattr(entries.LedgerEntries, "find", slowly)
    taken = execution.request_preview(acme, [PHONE], now=now)
    meanwhile.append(lambda: built(taken, later, holder="test/2"))
    assert built(taken, now) is None
    assert forget_plans.find(acme, taken.id).lapses_at == later + execution.LIFETIME, "as the second worker built it"
    lapsing = execution.request_preview(acme, [MARTA], now=now)
    meanwhile.append(lambda: execution.lapse_previews(now=now + execution.LONGEST_BUILD))
    built(lapsing, now)
    row = forget_plans.find(acme, lapsing.id)
    assert (row.state, bytes(row.sealed_terms), row.background.state) == (ForgetState.LAPSED, b"", "cancelled")
    with pytest.raises(Conflict, match="has ended"):
        execution.confirm(acme, lapsing.id, typed=MARTA, reason="r", now=now)


def test_a_preview_that_lapsed_keeps_no_suspects() -> None:
    acme, now = building.scope(), timezone.now()
    building.write_each(acme, f"jo{MARTA}")
    preview(acme)
    assert Suspect.objects.of(acme.tenant_id).exists()
    execution.lapse_previews(now=now + timedelta(days=30))
    assert not Suspect.objects.of(acme.tenant_id).exists()


@pytest.mark.engines
def test_a_preview_that_fails_says_so_and_forgets_its_subject(monkeypatch: pytest.MonkeyPatch) -> None:
    acme, now = building.scope(), timezone.now()
    asked = execution.request_preview(acme, [MARTA], now=now)

    def broken(*args: Any, **options: Any) -> Any:
        raise OSError("the disk is full")

    monkeypatch.setattr(entries.LedgerEntries, "find", broken)
    with pytest.raises(OSError, match="disk"):
        built(asked, now)
    row = forget_plans.find(acme, asked.id)
    assert (row.state, bytes(row.sealed_terms), row.background.code) == (ForgetState.FAILED, b"", "internal_error")
    assert execution.failure_of(row) == execution.BROKEN.message


@pytest.mark.engines
def test_a_preview_stores_ids_and_decisions_and_no_text() -> None:
    acme = building.scope()
    building.write_each(acme, f"exact {MARTA}", f"other jo{MARTA}")
    found = preview(acme).request
    rows = [*ForgetRequest.objects.values(), *Suspect.objects.values()]
    assert Suspect.objects.filter(request_id=found.id).exists()
    assert MARTA not in "".join(_said(value) for row in rows for value in row.values())


def test_confirming_looks_through_the_stores_before_it_locks_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    building.write_each(acme, MARTA)
    found, depths = preview(acme), []
    real = entries.LedgerEntries.find
    outside = len(connection.savepoint_ids)

    def noted(self: Any, *args: Any) -> Any:
        depths.append(len(connection.savepoint_ids) - outside)
        return real(self, *args)

    monkeypatch.setattr(entries.LedgerEntries, "find", noted)
    confirm(acme, found)
    assert depths == [0]


@pytest.mark.engines
def test_confirming_reads_the_texts_of_entries_written_since_the_preview_alone() -> None:
    acme = building.scope()
    building.write_each(acme, MARTA, "unrelated")
    found = preview(acme)
    building.write_each(acme, "written meanwhile")
    with CaptureQueriesContext(connection) as seen:
        confirmed = confirm(acme, found)
    looks = [each["sql"] for each in seen if re.search("(instr|strpos)\\(e.search_text", each["sql"])]
    assert [each for each in looks if "e.position > " in each] == looks != []
    assert carry_out(confirmed).state == ForgetState.FORGOTTEN
    assert sorted(MemoryEntry.objects.values_list("content", flat=True)) == ["unrelated", "written meanwhile"]


@pytest.mark.engines
def test_the_event_log_of_which_nothing_goes_is_read_for_the_preview_and_the_receipt_alone() -> None:
    acme = building.scope()
    building.write_each(acme, MARTA)
    found, readings = reads_of_log(lambda: preview(acme))
    assert readings == 1
    confirmed, readings = reads_of_log(lambda: confirm(acme, found))
    assert readings == 0
    done, readings = reads_of_log(lambda: carry_out(confirmed))
    assert (done.state, readings) == (ForgetState.FORGOTTEN, 1)


def reads_of_log(act: Callable[[], Any]) -> tuple[Any, int]:
    """What ``act`` comes to, and how often it went through the tenant's events from the first one."""
    with CaptureQueriesContext(connection) as seen:
        done = act()
    beginning = re.compile("host_runevent.*'?0{8}-?0{4}-?0{4}-?0{4}-?0{12}'?")
    return done, sum(bool(beginning.search(each["sql"])) for each in seen)


def test_a_text_that_stands_in_many_rows_is_decoded_once_in_a_look() -> None:
    acme = building.scope()
    run = building.open_run(acme)
    texts = [f"{number} came from {MARTA}" for number in range(20)] + [f"{number} is unrelated" for number in range(20)]
    for node in range(30):
        step = Step(tenant_id=acme.tenant_id, run_id=run.id, node_id=f"n{node}", state=StepState.DONE)
        step.outputs, step.started_at = {"entries": texts}, timezone.now()
        step.insert(by=Step.writer)
    steps = next(each for each in erasure.registered() if each.store == "node outputs")
    subject = erasure.Identifiers((MARTA,))
    found, decoded = decodings(lambda: steps.find(acme.tenant_id, subject))
    assert (len(found.erase), found.suspected) == (30, ())
    assert len(texts) <= decoded < 2 * len(texts)

    def erase() -> int:
        return steps.erase(acme.tenant_id, subject, found.erase, ticked=False, now=timezone.now())

    assert decodings(erase) == (30, 0)
    kept = Step.objects.of(acme.tenant_id).filter(run_id=run.id).values_list("outputs", flat=True)
    assert all(each == {"entries": ["[FORGOTTEN]"] * 20 + texts[20:]} for each in kept)


def decodings(act: Callable[[], Any]) -> tuple[Any, int]:
    """What ``act`` comes to, and how many texts were decoded for it."""
    frames: dict[int, FrameType] = {}  # a generator is called once for each of its values

    def note(frame: FrameType, event: str, _what: Any) -> None:
        if event == "call" and frame.f_code is encodings.readings.__code__:
            frames[id(frame)] = frame

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        return act(), len(frames)
    finally:
        sys.setprofile(before)


@pytest.mark.engines
def test_a_confirmation_sees_what_went_and_what_changed_since_the_preview() -> None:
    acme = building.scope()
    building.write_each(acme, MARTA, f"another of {MARTA}", f"a third of {MARTA}")
    found = preview(acme)
    gone, changed, _ = MemoryEntry.objects.order_by("position").values_list("id", flat=True)
    with transaction.atomic():
        ledger.erase.remove_entries(acme.tenant_id, (gone,), reason="deleted", now=timezone.now())
        behind = ledger.head.position(acme.tenant_id) + 1
        rows = MemoryEntry.objects.written_by("memory.ledger").filter(id=changed)
        rows.update(content="nobody", search_text="nobody", position=behind)
    with pytest.raises(Conflict) as refused:
        confirm(acme, found)
    assert refused.value.details["changed"]["memory entries"] == {"erase": -2, "suspected": 0}


def test_a_confirmation_sees_a_tag_that_was_changed_in_place_since_the_preview() -> None:
    acme = building.scope()
    building.write_each(acme, "says nothing of her")
    (entry_id,) = MemoryEntry.objects.values_list("id", flat=True)
    for tagged, difference in ((True, 1), (False, -1)):
        found = preview(acme)
        ledger.entries.tag_entry(acme, entry_id, MARTA, tagged=tagged, now=timezone.now())
        with pytest.raises(Conflict) as refused:
            confirm(acme, found)
        assert refused.value.details["changed"]["memory entries"] == {"erase": difference, "suspected": 0}


def test_the_ids_that_a_preview_has_found_are_kept_until_the_request_is_over() -> None:
    acme = building.scope()
    building.write_each(acme, MARTA)
    found = preview(acme)
    entry = MemoryEntry.objects.get()
    assert entry.id.bytes in bytes(ForgetRequest.objects.get().found)
    assert bytes(carry_out(confirm(acme, found)).found) == bytes(ForgetRequest.objects.get().found) == b""


def test_the_plan_that_is_kept_with_each_chunk_does_not_grow_with_the_subject() -> None:
    acme = building.scope()
    building.write_each(acme, MARTA)
    few = len(json.dumps(preview(acme).request.plan))
    building.write_each(acme, *[f"{number} {MARTA}" for number in range(200)])
    assert len(json.dumps(preview(acme).request.plan)) < few + 500


@pytest.mark.engines
def test_removing_an_entry_reads_no_tags_and_no_runs_of_others() -> None:
    acme = building.scope()
    building.write_each(acme, "unrelated", tags=["common"])
    rows = tuple(MemoryEntry.objects.values_list("id", flat=True))
    with CaptureQueriesContext(connection) as seen, transaction.atomic():
        ledger.erase.remove_entries(acme.tenant_id, rows, reason="forgotten", now=timezone.now())
    statements = [each["sql"] for each in seen if "memory_entrytag" in each["sql"] or "DISTINCT" in each["sql"]]
    assert not [each for each in statements if "DISTINCT" in each]
    deleting = next(each for each in statements if each.startswith("DELETE FROM memory_entrytag"))
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {deleting}")
            assert "memory_entrytag_entry (tenant_id=? AND id=?)" in str(cursor.fetchall())


@pytest.mark.engines
def test_removing_an_entry_reads_no_table_through() -> None:
    """Neither one that is linked to entries, nor the index of words and the vectors, which are found by other keys."""
    acme = building.scope()
    building.write_each(acme, "a pelican in the harbour", tags=["common"])
    VectorSpace(tenant_id=acme.tenant_id, id=acme.tenant_id, source="x", next_at=timezone.now()).insert(
        by=VectorSpace.writer
    )
    while ledger.index.catch_up(acme.tenant_id):
        pass
    entry = MemoryEntry.objects.get()
    plans: list[str] = []
    tables: set[str] = set()

    def explain(execute: Any, statement: str, parameters: Any, many: bool, context: Any) -> Any:
        if re.match("SELECT|UPDATE|DELETE", statement) and not statement.startswith("SELECT set_config"):
            tables.update(re.findall(r"(?:FROM|UPDATE) (memory_\w+)", statement))
            given = parameters[0] if many and parameters else parameters
            with (
                connection.connection.cursor() if sql.is_postgres() else closing(connection.connection.cursor()) as raw
            ):
                word, mark = ("EXPLAIN", "%s") if sql.is_postgres() else ("EXPLAIN QUERY PLAN", "?")
                if given or not many:
                    raw.execute(f"{word} {statement.replace('%s', mark)}", given or ())
                    plans.extend(f"{row} of {statement[:200]}" for row in raw.fetchall())
        return execute(statement, parameters, many, context)

    with transaction.atomic():
        if sql.is_postgres():
            connection.cursor().execute("SET LOCAL enable_seqscan = off")  # of a few rows it would read all
        with connection.execute_wrapper(explain):
            ledger.erase.remove_entries(acme.tenant_id, (entry.id,), reason="forgotten", now=timezone.now())
    assert {
        "memory_memoryentry", "memory_entrytag", "memory_entryaddress", "memory_lookalike", "memory_strength",
        "memory_retirement", "memory_searchblock", "memory_searchword", "memory_searchstem", "memory_vector",
    } <= tables  # fmt: skip
    assert not [plan for plan in plans if re.search(r"\bSCAN (?!json_each|CONSTANT)|Seq Scan on", plan)]


# --- what an auditor tries ------------------------------------------------------------------------------------------


def test_the_end_of_one_value_and_the_beginning_of_the_next_are_no_name() -> None:
    acme = building.scope()
    run = building.execute(acme, "conformance-noop", names=["Marta", "Kowalska"], n=None, yes=True)
    building.write_each(acme, "by Marta", subject="x", tags=["marta", "kowalska"])
    look = building.definition("look", building.node("recall", "vendor.console.recall", {"memoryRef": "notes"}))
    building.install("acme", look)
    building.execute(acme, "look")
    done = forget(acme, "Marta Kowalska")
    assert (done.state, done.undecided) == (ForgetState.FORGOTTEN, 0)
    assert Run.objects.of(acme.tenant_id).get(id=run.id).inputs["names"] == ["Marta", "Kowalska"]


NAMES = [
    "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627",  # Alireza, with the joiner that its spelling needs
    "\u674e\u660e",  # Li Ming
    "\u05d3\u05d5\u05d3 \u05db\u05d4\u05df",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "%%%",
    "___",
    "\\\\\\",
    "100%_",
    "z" * 256,
    "Jose\u0301 A\u0301lvarez",
    "a\u00b4b'c\"d",
]


@pytest.mark.engines
def test_names_of_whatever_letters_are_forgotten_and_nothing_else() -> None:
    acme, bystander = building.scope(), "nothing to see: 50% _ \\ \u674e"
    for names in [[name] for name in NAMES] if THOROUGH else [NAMES[:5], NAMES[5:]]:
        with building.undone():
            for name in names:
                building.write_each(acme, f"met {name} today", f"({name})")
            building.write_each(acme, bystander)
            run = building.execute(acme, "conformance-noop", who=names)
            done = forget(acme, *names)
            assert (done.state, done.undecided) == (ForgetState.FORGOTTEN, 0)
            left = MemoryEntry.objects.filter(memory_ref="notes")
            assert [row.content for row in left] == [bystander]
            assert Run.objects.of(acme.tenant_id).get(id=run.id).inputs == {"who": ["[FORGOTTEN]"] * len(names)}


def test_a_ticked_row_that_is_gone_before_the_work_begins_hinders_nothing() -> None:
    acme = building.scope()
    building.write_each(acme, MARTA)
    found = preview(acme)
    chosen = {eraser.store: frozenset({ids.new_id()}) for eraser in erasure.registered()}
    confirmed = confirm(acme, found)
    for store, rows in chosen.items():
        for row in rows:
            Suspect(
                tenant_id=acme.tenant_id, request_id=confirmed.id, store=store, row_id=row, decision=Decision.TICKED
            ).insert(by=execution.WRITER)
    assert carry_out(confirmed).state == ForgetState.FORGOTTEN


def test_a_suspect_that_only_decoding_shows_is_undecided_on_the_receipt_until_it_is_decided() -> None:
    acme = building.scope()
    hidden = [
        base64.b64encode(f"to {said}, and more".encode()).decode()
        for said in (
            "marta.kowalska+news@example.com",
            "marta.kowalska [at] example.com",
            "mart\u00e1.kowalska@example.com",
        )
    ]
    building.remember("acme", MARTA, *hidden)
    run = building.execute(acme, "conformance-noop", customer=hidden[0])
    found = preview(acme)
    for decision in (Decision.UNDECIDED, Decision.SPARED, Decision.TICKED):
        with building.undone():
            execution.decide_rest(acme, found.request.id, decision, now=timezone.now())
            done = carry_out(confirm(acme, found))
            stores = done.receipt["stores"].items()
            undecided = {store: counts["undecided"] for store, counts in stores if counts["undecided"]}
            left = {"memory entries": 3, "run inputs and variables": 2} if decision == Decision.UNDECIDED else {}
            assert (done.state, undecided, done.undecided) == (ForgetState.FORGOTTEN, left, sum(left.values()))
            stays = Run.objects.of(acme.tenant_id).get(id=run.id).inputs["customer"] == hidden[0]
            assert stays is (decision != Decision.TICKED)


def test_a_later_forget_without_the_alias_leaves_the_first_one_undecided() -> None:
    acme, alias = building.scope(), PHONE
    building.write_each(acme, MARTA, f"{alias}s friend")
    first = forget(acme, MARTA, alias)
    assert first.undecided > 0
    forget(acme)
    assert forget_plans.find(acme, first.id).undecided == first.undecided
    again = preview(acme, MARTA, alias)
    execution.decide_rest(acme, again.request.id, Decision.SPARED, now=timezone.now())
    carry_out(confirm(acme, again))
    assert forget_plans.find(acme, first.id).undecided == 0


def test_two_forgets_of_overlapping_subjects_are_both_carried_out() -> None:
    acme = building.scope()
    building.write_each(acme, f"{MARTA} and bob@x.org", f"jo{MARTA} bob@x.org", "bob@x.org.uk")
    first, second = preview(acme), preview(acme, "bob@x.org")
    execution.decide_rest(acme, first.request.id, Decision.TICKED, now=timezone.now())
    execution.decide_rest(acme, second.request.id, Decision.TICKED, now=timezone.now())
    one, two = confirm(acme, first), confirm(acme, second)
    assert [carry_out(two).state, carry_out(one).state] == [ForgetState.FORGOTTEN] * 2
    assert MemoryEntry.objects.count() == 0


# --- what a confirmation compares -----------------------------------------------------------------------------------


def outputs(number: int, text: str) -> Run:
    """A run of so many nodes that each say ``text``."""
    node = {"text": text}
    nodes = [building.node(f"n{at}", "vendor.console.compose", node) for at in range(number)]
    name = f"saying-{ids.new_id().hex}"
    building.install("acme", building.definition(name, *nodes))
    return building.execute(building.scope(), name)


def change_output(run: Run, node_id: str, text: str) -> None:
    rows = Step.objects.written_by(steps.WRITER).filter(tenant_id=run.tenant_id, run_id=run.id, node_id=node_id)
    assert rows.update(outputs={"text": text}) == 1


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """The rows of node outputs that were searched for the subject, in stretches of four."""
    monkeypatch.setattr(declared, "STRETCH", 4)
    rows, find = list[UUID](), declared.Declared._found

    def noted(self: Any, given: Any, subject: Any) -> Any:
        read = list(given)
        rows.extend(row for row, _ in read if self.store == "node outputs")
        return find(self, read, subject)

    monkeypatch.setattr(declared.Declared, "_found", noted)
    return rows


def test_a_confirmation_searches_only_the_values_that_were_written_since_the_preview(searched: list[UUID]) -> None:
    acme, run = building.scope(), outputs(10, "hello")
    change_output(run, "n9", f"call {MARTA}")
    found = preview(acme)
    assert len(searched) == 10
    searched.clear()
    change_output(run, "n5", "another word")
    later = outputs(3, "hello again")
    request = confirm(acme, found)
    assert request.state == ForgetState.CONFIRMED
    names = dict(Step.objects.of(acme.tenant_id).values_list("id", "node_id"))
    assert sorted(names[row] for row in searched) == ["n0", "n1", "n2", "n4", "n5", "n6", "n7"]
    assert {*searched} >= {*Step.objects.of(acme.tenant_id).filter(run_id=later.id).values_list("id", flat=True)}
    assert all("looked" not in entry for entry in request.plan.values())


@pytest.mark.usefixtures("searched")
def test_a_confirmation_is_refused_when_a_value_names_the_subject_since_or_does_not_any_more() -> None:
    acme, run = building.scope(), outputs(10, "hello")
    change_output(run, "n6", f"call {MARTA}")
    found = preview(acme)
    changes: dict[str, Callable[[], object]] = {
        "the first": lambda: change_output(run, "n0", f"and {MARTA}"),
        "the last": lambda: change_output(run, "n9", f"and {MARTA}"),
        "suspected now": lambda: change_output(run, "n6", f"ana{MARTA} is suspected"),
        "gone": lambda: change_output(run, "n6", "call me"),
        "new": lambda: outputs(1, f"write to {MARTA}"),
    }
    for what, change in changes.items():
        with building.undone():
            change()
            with pytest.raises(Conflict) as refused:
                confirm(acme, found)
            assert "node outputs" in refused.value.details["changed"], what
