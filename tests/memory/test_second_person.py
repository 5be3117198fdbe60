"""A second person: where the policy says so, a forget is carried out after two people who may forget confirmed it."""

import base64
import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory import memory_policy
from memory.forget import execution, holds, plans, receipts
from memory.forget.execution import LIFETIME_FOR_SECOND
from memory.forget.journal import Erasure
from memory.host import audit, ids, tenancy
from memory.host.errors import Conflict, Invalid, NotFound, SecondPersonNeeded, SubjectOnHold
from memory.host.tenancy import TenantScope
from memory.models import ForgetRequest, ForgetState
from openwop_console import backups, needs_you
from tests import building
from tests.fixtures_queue import Drain
from tests.memory.test_forgetting import preview as preview_marta

pytestmark = pytest.mark.django_db
MARTA = "marta.kowalska@example.com"
FORGET = "/v1/host/console/forget"
REASON = "ticket 17"


def ask_for_two(owner: TenantScope, on: bool = True) -> None:
    memory_policy.change(owner, {"forget_second_person": on}, now=timezone.now())


@pytest.fixture
def people() -> tuple[Any, Any]:
    """Ada and Rosa, who own Acme, where two people confirm a forget."""
    made = building.operator(), building.operator(email="rosa.owner@acme.example")
    ask_for_two(building.scope(owner=made[0]))
    return made


def confirm(owner: TenantScope, request: ForgetRequest, reason: str = REASON, **more: Any) -> ForgetRequest:
    given = {"typed": MARTA, "reason": reason, "now": timezone.now(), **more}
    return execution.confirm(owner, request.id, **given)


def execute(request: ForgetRequest) -> ForgetRequest | None:
    return execution.execute(request.tenant_id, request.id, holder="test/1", now=timezone.now(), clock=timezone.now)


def previewed(owner: TenantScope) -> ForgetRequest:
    building.write_each(building.scope(), f"write to {MARTA}")
    return preview_marta(owner).request


@pytest.mark.engines
def test_nothing_is_removed_before_a_second_person_has_confirmed(people: tuple[Any, Any]) -> None:
    ada, rosa = (building.scope(owner=each) for each in people)
    request, now = confirm(ada, previewed(ada)), timezone.now()
    assert (request.state, request.first_confirmed_by) == (ForgetState.AWAITING, ada.principal.person)
    assert execute(request) is None
    assert building.contents(ada) == [f"write to {MARTA}"]
    assert [each.id for each in plans.awaiting_second(rosa, now=now)] == [request.id]
    assert not plans.awaiting_second(ada, now=now).exists()
    assert (needs_you.nav_counts(rosa, now=now)["forget"], needs_you.nav_counts(ada, now=now)["forget"]) == ("1", "")
    made_by_ada = building.scope(actor=ada.principal.id)
    for same in (ada, building.scope(owner=people[0]), made_by_ada):
        with pytest.raises(SecondPersonNeeded):
            confirm(same, request)
    assert ForgetRequest.objects.of(ada.tenant_id).get(id=request.id).state == ForgetState.AWAITING
    second = confirm(rosa, request, "seen, ticket 17")
    assert (second.state, second.reason) == (ForgetState.CONFIRMED, REASON)
    done = execute(second)
    assert done is not None
    assert done.state == ForgetState.FORGOTTEN
    assert building.contents(ada) == []


def test_a_change_after_the_first_confirmation_blocks_the_second(people: tuple[Any, Any]) -> None:
    ada, rosa = (building.scope(owner=each) for each in people)
    request = confirm(ada, previewed(ada))
    with building.undone():
        building.write_each(building.scope(), f"call {MARTA}")
        with pytest.raises(Conflict) as refused:
            confirm(rosa, request)
        assert refused.value.details["changed"]
    with building.undone():
        holds.place(ada, [MARTA], reason="a court case", now=timezone.now())
        with pytest.raises(SubjectOnHold):
            confirm(rosa, request)
    ask_for_two(ada, on=False)
    with pytest.raises(SecondPersonNeeded):
        confirm(ada, request)
    assert confirm(ada, previewed(ada)).state == ForgetState.CONFIRMED, "the policy is off for the next"


def test_the_second_person_decides_about_no_suspects_and_sees_what_the_first_decided(people: tuple[Any, Any]) -> None:
    ada, rosa = (building.scope(owner=each) for each in people)
    building.write_each(building.scope(), f"ana{MARTA} is another person")
    found = preview_marta(ada)
    suspects = [row.hex for holding in found.holdings for row in holding.suspected]
    request = confirm(ada, found.request, ticked=suspects)
    with pytest.raises(Invalid):
        confirm(rosa, request, spared=suspects[:1])
    with pytest.raises(Conflict):
        execution.decide_rest(rosa, request.id, "spared", now=timezone.now())
    execute(confirm(rosa, request))
    assert building.contents(ada) == []


@pytest.mark.engines
def test_a_request_that_no_second_person_confirmed_in_a_week_is_over(people: tuple[Any, Any]) -> None:
    ada, rosa = (building.scope(owner=each) for each in people)
    request, later = confirm(ada, previewed(ada)), timezone.now() + LIFETIME_FOR_SECOND + timedelta(hours=2)
    for at in (request.lapses_at, later):
        with pytest.raises(Conflict) as refused:
            confirm(rosa, request, now=at)
        assert refused.value.details["state"] == ForgetState.LAPSED
    assert execution.lapse_previews(now=later) == 1
    row = ForgetRequest.objects.of(ada.tenant_id).get(id=request.id)
    assert (row.state, bytes(row.sealed_terms)) == (ForgetState.LAPSED, b"")


def test_either_person_withdraws_what_awaits_a_second_one_and_no_other_request_is_withdrawn(
    people: tuple[Any, Any],
) -> None:
    ada, rosa = (building.scope(owner=each) for each in people)
    request = previewed(ada)
    with pytest.raises(Conflict):
        execution.withdraw(ada, request.id, now=timezone.now())
    assert execution.withdraw(rosa, confirm(ada, request).id, now=timezone.now()).state == ForgetState.LAPSED
    assert building.contents(ada) == [f"write to {MARTA}"]
    with pytest.raises(NotFound):
        execution.withdraw(building.scope("globex"), request.id, now=timezone.now())


def test_both_confirmations_and_a_withdrawal_are_on_record(people: tuple[Any, Any]) -> None:
    ada, rosa = (building.scope(owner=each) for each in people)
    request = confirm(ada, previewed(ada))
    confirm(rosa, request, "seen with the data protection officer")
    other = confirm(ada, previewed(ada))
    execution.withdraw(ada, other.id, now=timezone.now())
    records = {each.action: each for each in audit.newest(ada.tenant_id, limit=8)}
    assert records["forget.first-confirmed"].actor == ada.principal.id
    assert records["forget.confirmed"].actor == rosa.principal.id
    assert records["forget.confirmed"].reason == "seen with the data protection officer"
    assert records["forget.withdrawn"].target == ids.wire("fgt", other.id)


@pytest.mark.engines
def test_a_receipt_names_both_people_and_is_verified_with_them(people: tuple[Any, Any], client: Client) -> None:
    ada = building.scope(owner=people[0])
    key = building.key(owner=people[1])
    by_key: dict[str, Any] = {"HTTP_X_API_KEY": key}
    rosa = tenancy.tenant_scope(tenancy.key_principal(key, now=timezone.now()))
    request = confirm(ada, previewed(ada))
    done = execute(confirm(rosa, request, "seen"))
    assert done is not None
    assert done.receipt is not None
    seqs = {each.action: each.seq for each in audit.newest(ada.tenant_id, limit=8)}
    first, second = done.receipt["confirmations"]
    persons = [ids.wire("usr", each.id) for each in people]
    assert [first["person"], second["person"]] == persons
    assert [first["principal"], second["principal"]] == [ada.principal.id, rosa.principal.id]
    assert [first["auditSeq"], second["auditSeq"]] == [seqs["forget.first-confirmed"], seqs["forget.confirmed"]]
    assert first["at"] < second["at"] == done.receipt["confirmedAt"]
    assert receipts.is_genuine(done)
    forget_id = ids.wire("fgt", done.id)
    answer = client.get(f"{FORGET}/{forget_id}", **by_key).json()
    assert answer["confirmations"] == [first, second]
    signed = json.loads(base64.b64decode(answer["signedBytes"]))
    assert signed["confirmations"] == [first, second]
    client.force_login(people[0])
    page = client.get(f"/forget/{forget_id}").content.decode()
    assert all(f'<code class="faint">{person}</code>' in page for person in persons)
    assert people[1].email in page


def test_a_forget_of_one_person_names_that_one_and_a_receipt_of_before_names_none(client: Client) -> None:
    owner = building.operator()
    ada = building.scope(owner=owner)
    done = execute(confirm(ada, previewed(ada)))
    assert done is not None
    assert done.receipt is not None
    assert [each["person"] for each in done.receipt["confirmations"]] == [ada.principal.person]
    del done.receipt["confirmations"]
    done.signature = receipts.signature_of(done.receipt)
    done.save(by=execution.WRITER)
    assert receipts.is_genuine(done)
    client.force_login(owner)
    page = client.get(f"/forget/{ids.wire('fgt', done.id)}").content.decode()
    assert "genuine" in page
    assert "Confirmed by" not in page


def test_two_people_are_asked_for_where_there_are_two_owners() -> None:
    ada = building.scope(owner=building.operator())
    building.operator(role="operator")
    with pytest.raises(Invalid) as refused:
        ask_for_two(ada)
    assert refused.value.details["errors"][0]["field"] == "forget_second_person"


def test_a_restore_repeats_alone_what_two_people_had_confirmed(people: tuple[Any, Any]) -> None:
    ada = building.scope(owner=people[0])
    building.write_each(building.scope(), f"write to {MARTA}")
    assert backups._forget_again(
        Erasure(ada.tenant_id.hex, ids.new_id().hex, (MARTA,), (), timezone.now().isoformat()), timezone.now
    )
    assert building.contents(ada) == []


def test_over_the_extension_the_first_confirmation_says_that_it_awaits_a_second_person(
    people: tuple[Any, Any], drain: Drain
) -> None:
    ada, rosa = (building.headers(owner=each) for each in people)
    building.write_each(building.scope(), f"write to {MARTA}")

    def send(path: str, body: Any, caller: Any) -> Any:
        return Client().post(f"{FORGET}{path}", json.dumps(body), "application/json", **caller)

    preview = send("/previews", {"subject": MARTA}, ada).json()["previewId"]
    drain()
    body = {"previewId": preview, "subject": MARTA, "reason": REASON}
    first = send("", body, ada)
    assert (first.status_code, first.json()["state"]) == (202, "awaiting")
    assert first.json()["firstConfirmedBy"] == ids.wire("usr", people[0].id)
    shown = Client().get(f"{FORGET}/previews/{preview}", **rosa).json()
    assert (shown["state"], shown["stores"]["memory entries"]["erase"]) == ("awaiting", 1)
    refused = send("", body, ada)
    assert (refused.status_code, refused.json()["error"]) == (409, "second_person_needed")
    assert send("", body, rosa).json()["state"] == "confirmed"
    drain()
    assert Client().get(f"{FORGET}/{preview}", **rosa).json()["state"] == "forgotten"
    assert send(f"/{preview}:withdraw", {}, rosa).status_code == 409
