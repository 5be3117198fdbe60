"""``/v1/host/console/approval-policies``: what holds for each kind, and a change by two people."""

from typing import Any

import pytest
from django.test import Client

from proposals import policies
from tests import building, proposing

pytestmark = pytest.mark.django_db
BASE = "/v1/host/console/approval-policies"
PROMPT = f"{BASE}/prompt-template"


def ask(client: Client, method: str, url: str, body: Any = None, **key: Any) -> Any:
    return client.generic(method, url, "" if body is None else body, content_type="application/json", **key)


def put(client: Client, owner: dict[str, Any], **body: Any) -> Any:
    return client.put(PROMPT, body, content_type="application/json", **owner)


@pytest.fixture
def ada() -> dict[str, Any]:
    return building.headers()


@pytest.fixture
def oda() -> dict[str, Any]:
    return building.headers()


def test_every_kind_has_a_policy_before_anybody_has_changed_one(client: Client) -> None:
    told = client.get(BASE, **building.headers(role="viewer")).json()["policies"]
    assert [each["kind"] for each in told] == ["agent-pack", "workflow-chain-pack", "prompt-template", "automation"]
    assert told[0] == {
        "kind": "agent-pack",
        "policy": {
            "number": 0,
            "words": "one approval by reviewers, operators or owners; expires after 14 days; owners may override",
            "quorum": 1,
            "eligibleRoles": ["reviewer", "operator", "owner"],
            "overrideRoles": ["owner"],
            "overrideBypassesQuorum": False,
            "expiresSec": 1_209_600,
            "uninstallOnArchive": False,
        },
        "waiting": None,
    }


def test_a_change_by_one_of_two_waits_and_the_other_confirms_it(
    client: Client, ada: dict[str, Any], oda: dict[str, Any]
) -> None:
    asked = put(client, ada, quorum=2, overrideRoles=[], expiresSec=3600, basedOn=0, reason="two pairs of eyes")
    assert asked.status_code == 202
    change = asked.json()
    assert (change["state"], change["basedOn"], change["wanted"]["quorum"]) == ("waiting", 0, 2)
    assert client.get(PROMPT, **oda).json()["waiting"] == change
    own = ask(client, "POST", f"{BASE}/changes/{change['id']}/confirm", **ada)
    assert (own.status_code, own.json()["details"]["rule"]) == (403, "separation-of-duties")
    confirmed = ask(client, "POST", f"{BASE}/changes/{change['id']}/confirm", **oda)
    assert (confirmed.status_code, confirmed.json()["state"]) == (200, "confirmed")
    told = client.get(PROMPT, **ada).json()
    assert (told["policy"]["number"], told["policy"]["expiresSec"], told["waiting"]) == (1, 3600, None)
    (version,) = told["history"]
    assert (version["askedBy"], version["confirmedBy"]) == (change["askedBy"], confirmed.json()["decidedBy"])
    assert (version["reason"], told["total"]) == ("two pairs of eyes", 1)
    late = ask(client, "POST", f"{BASE}/changes/{change['id']}/refuse", **oda)
    assert (late.status_code, late.json()["details"]["state"]) == (409, "confirmed")


def test_who_asked_takes_it_back_by_refusing_it(client: Client, ada: dict[str, Any], oda: dict[str, Any]) -> None:
    change = put(client, ada, quorum=2).json()
    refused = ask(client, "POST", f"{BASE}/changes/{change['id']}/refuse", **ada)
    assert (refused.status_code, refused.json()["state"]) == (200, "refused")
    assert client.get(PROMPT, **oda).json()["policy"]["number"] == 0


def test_alone_the_change_is_in_force_at_once(client: Client, ada: dict[str, Any]) -> None:
    made = put(client, ada, uninstallOnArchive=True)
    assert (made.status_code, made.json()["policy"]["number"]) == (200, 1)
    assert made.json()["history"][0]["confirmedBy"] is None
    assert policies.policy_of_kind(building.tenant().id, "prompt-template").uninstall_on_archive


def test_a_change_of_what_is_not_current_and_one_beside_another_are_conflicts(
    client: Client, ada: dict[str, Any], oda: dict[str, Any]
) -> None:
    proposing.policy(quorum=3)
    stale = put(client, ada, quorum=2, basedOn=0)
    assert (stale.status_code, stale.json()["details"]["number"]) == (409, 1)
    change = put(client, ada, quorum=2, basedOn=1).json()
    second = put(client, oda, quorum=4)
    assert (second.status_code, second.json()["details"]["changeId"]) == (409, change["id"])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"quorum": 0}, "quorum"),
        ({"quorum": "2"}, "quorum"),
        ({"quorum": 2.5}, "quorum"),
        ({"quorum": 10**15}, "quorum"),
        ({"eligibleRoles": []}, "eligibleRoles"),
        ({"eligibleRoles": "owner"}, "eligibleRoles"),
        ({"eligibleRoles": [["owner"]]}, "eligibleRoles"),
        ({"eligibleRoles": ["agent"]}, "eligibleRoles"),
        ({"overrideRoles": ["operator"]}, "overrideRoles"),
        ({"overrideBypassesQuorum": 1}, "overrideBypassesQuorum"),
        ({"expiresSec": 59}, "expiresSec"),
        ({"expires_s": 60}, "expires_s"),
        ({"basedOn": -1, "quorum": 2}, "basedOn"),
        ({"reason": "x" * 501, "quorum": 2}, "reason"),
        ({}, "quorum"),
    ],
)
def test_what_is_wrong_is_named_as_the_wire_calls_it_and_nothing_is_changed(
    client: Client, ada: dict[str, Any], body: dict[str, Any], field: str
) -> None:
    answer = put(client, ada, **body)
    assert answer.status_code in {400, 422}
    assert field in str(answer.json()["details"])
    assert client.get(PROMPT, **ada).json()["policy"]["number"] == 0


@pytest.mark.parametrize("role", ["viewer", "author", "agent", "reviewer", "operator"])
def test_nobody_but_an_owner_changes_one(client: Client, role: str, ada: dict[str, Any], oda: dict[str, Any]) -> None:
    change, somebody = put(client, ada, quorum=2).json(), building.headers(role=role)
    answers = [put(client, somebody, quorum=3)]
    answers += [
        ask(client, "POST", f"{BASE}/changes/{change['id']}/{verb}", **somebody) for verb in ("confirm", "refuse")
    ]
    for answer in answers:
        assert (answer.status_code, answer.json()["details"]["requiredScope"]) == (403, "policies:manage")
    assert client.get(PROMPT, **somebody).json()["waiting"] == change


def test_a_kind_and_a_change_that_are_none_are_not_found_and_a_key_bound_to_agents_manages_none(
    client: Client, ada: dict[str, Any], oda: dict[str, Any]
) -> None:
    change = put(client, ada, quorum=2).json()
    gil = building.headers("globex")
    for method, url, key in (
        ("GET", f"{BASE}/rule", ada),
        ("PUT", f"{BASE}/rule", ada),
        ("POST", f"{BASE}/changes/chg_0/confirm", ada),
        ("POST", f"{BASE}/changes/{change['id']}/confirm", gil),
        ("POST", f"{BASE}/changes/{change['id']}/refuse", gil),
    ):
        assert ask(client, method, url, b'{"quorum": 2}' if method == "PUT" else None, **key).status_code == 404, url
    bound = building.headers(agents=("acme.writer",))
    answer = ask(client, "POST", f"{BASE}/changes/{change['id']}/confirm", **bound)
    assert (answer.status_code, answer.json()["details"]["rule"]) == (403, "agents-never-vote")
