"""Legal hold: a subject on hold is not forgotten, by any door, until an owner ends the hold with a reason."""

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory.forget import execution, holds, plans
from memory.forget.erasers import entries
from memory.forget.execution import Preview
from memory.forget.journal import Erasure
from memory.host import audit, ids
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound, SubjectOnHold
from memory.host.tenancy import TenantScope
from memory.models import ForgetHold, ForgetState, Pass
from openwop_console import backups
from tests import building
from tests.memory.test_forgetting import carry_out
from tests.memory.test_forgetting import confirm as confirm_marta
from tests.memory.test_forgetting import preview as preview_marta

pytestmark = pytest.mark.django_db
MARTA = "marta.kowalska@example.com"
HOLDS = "/v1/host/console/forget/holds"
REASON = "Case 4 C 12/26 before the district court"


def hold(owner: TenantScope, *names: str, reason: str = REASON) -> ForgetHold:
    return holds.place(owner, list(names) or [MARTA], reason=reason, now=timezone.now())


def end(owner: TenantScope, held: ForgetHold, reason: str = "The case is closed") -> ForgetHold:
    return holds.end(owner, held.id, reason=reason, now=timezone.now())


def send(method: str, path: str, body: Any = None, **caller: Any) -> Any:
    return Client().generic(method, path, "" if body is None else json.dumps(body), "application/json", **caller)


@pytest.mark.engines
def test_a_forget_of_a_subject_on_hold_is_refused_with_the_reason_and_nothing_is_removed() -> None:
    acme = building.scope()
    building.write_each(acme, f"write to {MARTA}")
    held, found = hold(acme), preview_marta(acme)
    with pytest.raises(SubjectOnHold) as refused:
        confirm_marta(acme, found)
    assert (refused.value.details["reason"], refused.value.details["setBy"]) == (REASON, acme.principal.id)
    assert refused.value.details["holdId"] == ids.wire("hld", held.id)
    assert building.contents(acme) == [f"write to {MARTA}"]
    end(acme, held)
    assert carry_out(confirm_marta(acme, preview_marta(acme))).state == ForgetState.FORGOTTEN


def test_a_hold_covers_a_longer_and_a_shorter_name_whose_forget_removes_the_same_text() -> None:
    acme, full, short, similar = building.scope(), "Marta Kowalska", "Kowalska", "Marta Kowal"
    building.write_each(acme, "Marta Kowalska wrote")
    found = {name: preview_marta(acme, name) for name in (full, short, similar)}
    for on_hold, name in ((full, short), (short, full)):
        with building.undone():
            hold(acme, on_hold)
            with pytest.raises(SubjectOnHold):
                confirm_marta(acme, found[name], typed=name)
            assert confirm_marta(acme, found[similar], typed=similar).state == ForgetState.CONFIRMED


def test_a_hold_covers_every_spelling_that_a_forget_folds_into_one() -> None:
    acme = building.scope()
    found = preview_marta(acme, MARTA, "M. Kowalska")
    for name in (MARTA.upper(), f"  {MARTA} ", "\uff4darta.kowalska@example.com"):
        with building.undone():
            hold(acme, "case-17", name)
            with pytest.raises(SubjectOnHold):
                confirm_marta(acme, found)


@pytest.mark.engines
def test_another_subject_and_another_tenant_are_not_on_hold() -> None:
    acme, globex = building.scope(), building.scope("globex")
    held = hold(globex)
    hold(acme, "joana@example.com")
    assert confirm_marta(acme, preview_marta(acme)).state == ForgetState.CONFIRMED
    for attempt in (lambda: holds.find(acme, held.id), lambda: end(acme, held)):
        with pytest.raises(NotFound):
            attempt()
    assert [each.terms for each in holds.newest(acme).rows] == [["joana@example.com"]]


def test_a_forget_with_residue_is_not_run_again_while_its_subject_is_on_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    building.write_each(acme, f"write to {MARTA}")
    asked = confirm_marta(acme, preview_marta(acme))
    with monkeypatch.context() as broken:
        broken.setattr(entries.LedgerEntries, "erase", lambda *args, **options: 0)
        assert carry_out(asked).state == ForgetState.RESIDUE
    hold(acme)
    with pytest.raises(SubjectOnHold):
        execution.retry(acme, asked.id, now=timezone.now())


@pytest.mark.parametrize("what", ["put on hold", "confirmed"])
def test_what_becomes_of_a_request_while_the_stores_are_searched_counts(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme = building.scope()
    building.write_each(acme, f"write to {MARTA}")
    found, search = preview_marta(acme), plans.plan_now

    def search_meanwhile(*given: Any) -> Any:
        monkeypatch.setattr(plans, "plan_now", search)
        planned = search(*given)
        if what == "confirmed":
            confirm_marta(acme, found)
        else:
            hold(acme)
        return planned

    monkeypatch.setattr(plans, "plan_now", search_meanwhile)
    with pytest.raises(Conflict, match="confirmed already" if what == "confirmed" else "hold"):
        confirm_marta(acme, found)
    assert Pass.objects.filter(kind=execution.KIND).count() == (what == "confirmed")


@pytest.mark.engines
def test_a_subject_that_is_being_forgotten_is_not_put_on_hold() -> None:
    acme = building.scope()
    confirm_marta(acme, preview_marta(acme))
    for name in (MARTA, f"Marta Kowalska {MARTA}"):
        with pytest.raises(Conflict, match="is in progress"):
            hold(acme, name)
    assert not ForgetHold.objects.of(acme.tenant_id).exists()


def test_a_hold_needs_a_name_that_a_forget_would_take_and_a_reason_to_begin_and_to_end_once() -> None:
    acme = building.scope()
    for names, reason in (([MARTA], " "), ([MARTA], "x" * 501), (["ab"], REASON), ([" "], REASON)):
        with pytest.raises(Invalid):
            hold(acme, *names, reason=reason)
    held = hold(acme)
    with pytest.raises(Invalid):
        end(acme, held, " ")
    end(acme, held)
    with pytest.raises(Conflict, match="already ended"):
        end(acme, held)
    ended, put = audit.newest(acme.tenant_id, limit=2)
    assert [(each.action, each.reason) for each in (put, ended)] == [
        ("forget.hold.set", REASON),
        ("forget.hold.ended", "The case is closed"),
    ]
    assert MARTA not in str([put.details, put.target, ended.details])


def test_only_who_may_forget_sees_sets_or_ends_a_hold() -> None:
    acme, operator = building.scope(), building.scope(role="operator")
    held = hold(acme)
    attempts = (lambda: hold(operator), lambda: end(operator, held), lambda: holds.newest(operator))
    for attempt in attempts:
        with pytest.raises(Forbidden):
            attempt()


@pytest.mark.engines
def test_a_forget_erases_what_ended_holds_say_of_the_subject_and_leaves_those_in_force() -> None:
    acme = building.scope()
    ended = end(acme, hold(acme, reason=f"{MARTA} is a witness"), f"{MARTA} was heard")
    other = hold(acme, "joana@example.com", reason=f"{MARTA} asked for it")
    done = carry_out(confirm_marta(acme, preview_marta(acme)))
    counts = done.receipt["stores"]["legal holds"]
    assert (counts["erased"], counts["leftAfter"], counts["stays"]) == (1, 0, 1)
    gone, kept = (holds.find(acme, each.id) for each in (ended, other))
    assert MARTA not in str([gone.terms, gone.reason, gone.end_reason])
    assert kept.reason == f"{MARTA} asked for it"


def test_the_extension_sets_lists_shows_and_ends_holds_and_refuses_the_confirmation_with_409() -> None:
    owner = building.headers()
    made = send("POST", HOLDS, {"subject": MARTA, "aliases": ["Marta K."], "reason": REASON}, **owner)
    assert (made.status_code, made.json()["names"]) == (201, [MARTA, "marta k."])
    place = f"{HOLDS}/{made.json()['holdId']}"
    assert send("GET", HOLDS, **owner).json()["holds"] == [made.json()] == [send("GET", place, **owner).json()]
    acme = building.scope()
    found: Preview = preview_marta(acme)
    asked = {"previewId": ids.wire("fgt", found.request.id), "subject": MARTA, "reason": "ticket 17"}
    shown = send("GET", f"/v1/host/console/forget/previews/{asked['previewId']}", **owner).json()
    assert (shown["state"], shown["holds"]) == ("ready", [made.json()])
    refused = send("POST", "/v1/host/console/forget", asked, **owner)
    assert (refused.status_code, refused.json()["error"]) == (409, "subject_on_hold")
    assert refused.json()["details"]["reason"] == REASON
    assert send("POST", f"{place}:end", {}, **owner).status_code == 400
    ended = send("POST", f"{place}:end", {"reason": "closed"}, **owner)
    assert (ended.status_code, ended.json()["endReason"]) == (200, "closed")
    asked["previewId"] = ids.wire("fgt", preview_marta(acme).request.id)  # the ended hold is to go as well
    assert send("POST", "/v1/host/console/forget", asked, **owner).status_code == 202


def test_a_restore_forgets_again_what_was_on_hold_when_the_copy_was_made() -> None:
    acme = building.scope()
    building.write_each(acme, f"write to {MARTA}")
    held = hold(acme)
    again = Erasure(acme.tenant_id.hex, held.id.hex, (MARTA,), (), timezone.now().isoformat())
    assert backups._forget_again(again, timezone.now)
    assert building.contents(acme) == []
    assert holds.find(acme, held.id).ended_by == "host"
