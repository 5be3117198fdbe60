"""A key is the voice of the person it belongs to: at votes, overrides, confirmations and questions of a run."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory.host import api_keys, ids, interrupts, tenancy
from memory.host.models import Operator
from proposals import review
from proposals.models import Gate, GateState, Proposal
from tests import building, proposing
from tests.proposals.test_races import at_once, refusals

pytestmark = pytest.mark.django_db
CONSOLE = "/v1/host/console"
ONE_VOICE = "one-voice-a-person"


class Person:
    """An operator of Acme with keys of their own."""

    def __init__(self, email: str, role: str = "owner") -> None:
        self.row: Operator = building.operator(role=role, email=email)
        self.id = ids.wire("usr", self.row.id)
        self.browser = Client()
        self.browser.force_login(self.row)

    def key(self, role: str = "owner", **options: Any) -> dict[str, Any]:
        return building.headers(role=role, owner=self.row, **options)


@pytest.fixture
def rosa() -> Person:
    return Person("rosa@acme.example")


def post(key: dict[str, Any], path: str, body: Any = None) -> Any:
    return Client().post(f"{CONSOLE}/{path}", body or {}, content_type="application/json", **key)


def proposed(by: dict[str, Any]) -> Proposal:
    made = post(by, "proposals", {"kind": "prompt-template", "artifact": proposing.TEMPLATE, "title": "A title"})
    assert made.status_code == 201, made.content
    found: Proposal = Proposal.objects.get(id=building.id_of("prop", made.json()["id"]))
    return found


def vote(key: dict[str, Any], made: Proposal, gate: Gate, decision: str = "granted", **more: Any) -> Any:
    body = {"revision": gate.revision, "sha256": gate.sha256, "decision": decision, **more}
    return post(key, f"proposals/{ids.wire('prop', made.id)}/decisions", body)


def vote_in_browser(person: Person, made: Proposal, gate: Gate) -> Any:
    body = {"revision": gate.revision, "sha256": gate.sha256, "decision": "granted"}
    return person.browser.post(f"/proposals/{ids.wire('prop', made.id)}/decide", body)


def ballots(made: Proposal) -> list[str]:
    return [vote.person for vote in review.detail(building.scope(), made.id).ballots[0].votes]


@pytest.mark.engines
def test_a_key_never_votes_for_its_own_person_s_proposal_nor_the_person_for_the_key_s(rosa: Person) -> None:
    by_key, other_key = rosa.key(), rosa.key(name="second")
    made = proposed(by_key)
    gate = proposing.opened(made)
    refused = vote(other_key, made, gate)
    assert (refused.status_code, refused.json()["details"]["rule"]) == (403, "separation-of-duties")
    answer = vote_in_browser(rosa, made, gate)
    assert answer.status_code == 403
    assert ballots(made) == []
    page = rosa.browser.get(f"/proposals/{ids.wire('prop', made.id)}").content.decode()
    assert "you authored revision 1" in page
    assert vote(building.headers(role="reviewer"), made, gate).status_code == 200


def test_two_keys_and_the_login_of_one_person_are_one_voice(rosa: Person) -> None:
    proposing.policy(quorum=2)
    made = proposing.propose()
    gate = proposing.opened(made)
    first, second = rosa.key(name="ci-bot"), rosa.key(name="laptop")
    assert vote(first, made, gate).status_code == 200
    assert vote(first, made, gate).status_code == 200, "the same vote again changes nothing"
    refused = vote(second, made, gate)
    assert (refused.status_code, refused.json()["details"]["rule"]) == (409, ONE_VOICE)
    assert "rosa@acme.example by key ci-bot has voted" in refused.json()["message"]
    assert vote_in_browser(rosa, made, gate).status_code == 409
    assert vote(second, made, gate, override=True, reason="twice the same").status_code == 409
    assert ballots(made) == [rosa.id]
    page = rosa.browser.get(f"/proposals/{ids.wire('prop', made.id)}").content.decode()
    assert "rosa@acme.example by key ci-bot" in page
    assert "you have approved revision 1 already by key ci-bot" in page
    assert vote(building.headers(), made, gate).status_code == 200


def test_the_vote_of_a_revoked_key_still_counts_as_its_person_s(rosa: Person) -> None:
    proposing.policy(quorum=2)
    made = proposing.propose()
    gate, now = proposing.opened(made), timezone.now()
    acme = building.tenant()
    key = api_keys.create_api_key(acme, role="reviewer", owner=rosa.row, name="ci-bot", now=now)
    assert vote({"HTTP_X_API_KEY": key.text}, made, gate).status_code == 200
    api_keys.revoke_api_key(acme.id, key.key_id, now=now)
    assert vote_in_browser(rosa, made, gate).status_code == 409
    assert ballots(made) == [rosa.id]


def test_a_key_never_overrides_for_its_own_person_s_proposal(rosa: Person) -> None:
    made = proposed(rosa.key())
    gate = proposing.opened(made)
    refused = vote(rosa.key(), made, gate, override=True, reason="incident 42")
    assert (refused.status_code, refused.json()["details"]["rule"]) == (403, "separation-of-duties")
    assert Gate.objects.get(id=gate.id).state == GateState.OPEN


def test_a_change_of_a_policy_is_confirmed_by_another_person_and_not_by_another_key(rosa: Person) -> None:
    ada = Person("ada@acme.example")
    asked = Client().put(
        f"{CONSOLE}/approval-policies/prompt-template", {"quorum": 2}, content_type="application/json", **rosa.key()
    )
    assert asked.status_code == 202, asked.content
    confirm = f"approval-policies/changes/{asked.json()['id']}/confirm"
    refused = post(rosa.key(name="second"), confirm)
    assert (refused.status_code, refused.json()["details"]["rule"]) == (403, "separation-of-duties")
    assert rosa.browser.post(f"/settings/approval/changes/{asked.json()['id']}/confirm").status_code == 403
    assert post(ada.key(), confirm).status_code == 200


def test_a_second_key_of_the_only_owner_is_nobody_who_could_confirm(rosa: Person) -> None:
    rosa.key()
    asked = Client().put(
        f"{CONSOLE}/approval-policies/prompt-template", {"quorum": 2}, content_type="application/json", **rosa.key()
    )
    assert asked.status_code == 200, "it holds at once, and says that it was made alone"


def test_a_key_made_for_another_is_no_second_voice_of_who_made_it(rosa: Person) -> None:
    ben = Person("ben@acme.example", role="reviewer")
    acme, now = building.tenant(), timezone.now()
    for_ben = api_keys.create_api_key(acme, role="owner", owner=ben.row, actor=rosa.id, now=now)
    second = api_keys.create_api_key(acme, role="owner", name="r2", actor=rosa.id, now=now)
    third = api_keys.create_api_key(acme, role="owner", name="r3", actor=ids.wire("key", second.key_id), now=now)
    made = proposed(rosa.key())
    gate = proposing.opened(made)
    for key in (for_ben, second, third):
        refused = vote({"HTTP_X_API_KEY": key.text}, made, gate)
        assert (refused.status_code, refused.json()["details"]["rule"]) == (403, "separation-of-duties")


@pytest.mark.engines
def test_a_key_made_for_another_gives_itself_no_clean_voice_by_making_or_rotating_keys(rosa: Person) -> None:
    ben = Person("ben@acme.example")
    made = post(rosa.key(), "keys", {"role": "owner", "person": "ben@acme.example"}).json()
    known_to_rosa = {"HTTP_X_API_KEY": made["key"]}
    bens_own = api_keys.create_api_key(building.tenant(), role="owner", owner=ben.row, now=timezone.now())
    rotations = [(f"keys/{key}:rotate", None) for key in (made["id"], ids.wire("key", bens_own.key_id))]
    for path, body in [("keys", {"role": "owner"}), *rotations]:
        refused = post(known_to_rosa, path, body)
        assert (refused.status_code, refused.json()["details"]["rule"]) == (403, "made-by-another")
    revoked = Client().delete(f"{CONSOLE}/keys/{made['id']}", **known_to_rosa)
    assert revoked.status_code == 204, "giving back is never refused"


def test_who_rotates_the_key_of_another_is_no_second_voice_by_it(rosa: Person) -> None:
    ben = Person("ben@acme.example", role="reviewer")
    acme, now = building.tenant(), timezone.now()
    key = api_keys.create_api_key(acme, role="reviewer", owner=ben.row, now=now)
    rotated = api_keys.rotate_api_key(acme.id, key.key_id, actor=rosa.id, now=now)
    made = proposed(rosa.key())
    refused = vote({"HTTP_X_API_KEY": rotated.text}, made, proposing.opened(made))
    assert (refused.status_code, refused.json()["details"]["rule"]) == (403, "separation-of-duties")


def test_a_question_that_needs_two_people_counts_a_person_once(rosa: Person) -> None:
    node = building.node("gate", "core.approvalGate", {"requiredApprovals": 2})
    building.install("acme", building.definition("asks-two", node))
    run = building.execute(building.scope(), "asks-two")
    assert run.status == "waiting-approval"
    address = f"/v1/runs/{ids.wire('run', run.id)}/interrupts/gate"
    yes = {"resumeValue": {"action": "accept"}}
    first = Client().post(address, yes, content_type="application/json", **rosa.key(name="ci-bot"))
    assert first.status_code == 200, first.content
    second = Client().post(address, yes, content_type="application/json", **rosa.key())
    assert (second.status_code, second.json()["details"]["rule"]) == (409, ONE_VOICE)
    assert "rosa@acme.example by key ci-bot has answered" in second.json()["message"]
    assert building.advance(run).status == "waiting-approval"
    assert Client().post(address, yes, content_type="application/json", **building.headers()).status_code == 200
    assert building.advance(run).status == "completed"


def test_a_question_for_named_people_takes_the_answer_of_their_keys_alone(rosa: Person) -> None:
    node = building.node("gate", "core.approvalGate", {"approversList": [rosa.id]})
    building.install("acme", building.definition("asks-rosa", node))
    run = building.execute(building.scope(), "asks-rosa")
    acme, now = building.tenant(), timezone.now()
    ada = Person("ada@acme.example")
    forged = api_keys.create_api_key(acme, role="owner", owner=rosa.row, actor=ada.id, now=now)
    address = f"/v1/runs/{ids.wire('run', run.id)}/interrupts/gate"
    yes = {"resumeValue": {"action": "accept"}}
    for key in (ada.key(), {"HTTP_X_API_KEY": forged.text}):
        assert listed(key) == 0, "it is listed for those alone who may answer it"
        assert Client().post(address, yes, content_type="application/json", **key).status_code == 403
    own = rosa.key()
    assert listed(own) == 1
    assert Client().post(address, yes, content_type="application/json", **own).status_code == 200
    assert building.advance(run).status == "completed"


def listed(key: dict[str, Any]) -> int:
    """How many questions wait for whoever has the key."""
    (header,) = key.values()
    asked = tenancy.key_principal(header.removeprefix("Bearer "), now=timezone.now())
    return interrupts.awaiting(tenancy.tenant_scope(asked), now=timezone.now()).count()


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_a_key_and_its_person_who_vote_at_once_are_one_voice() -> None:
    rosa = Person("rosa@acme.example")
    proposing.policy(quorum=2)
    made = proposing.propose()
    gate = proposing.opened(made)
    keys = [rosa.key(name=f"key {number}") for number in range(4)]

    def by_key(key: dict[str, Any]) -> Callable[[], Any]:
        return lambda: vote(key, made, gate).status_code

    outcomes = at_once(*map(by_key, keys), lambda: vote_in_browser(rosa, made, gate).status_code)
    assert refusals(outcomes) == []
    won, *lost = sorted(outcomes)
    assert (won in (200, 302), lost) == (True, [409] * 4)
    assert ballots(made) == [rosa.id]
    assert Gate.objects.get(id=gate.id).state == GateState.OPEN
