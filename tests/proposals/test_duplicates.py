"""``duplicateOf``: a draft that restates what is installed, or is proposed already, says so; nothing else does."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory.host import event_log, ids
from proposals import duplicates, fingerprints, lifecycle
from proposals.drafts import Change
from proposals.models import Proposal
from tests import building, proposing

pytestmark = pytest.mark.django_db

LONG = (
    "You sort what customers write to the desk. Read {{ticket}} and say in two sentences what they want, which order "
    "it is about, and how urgent it is. Never promise a refund, and never name another customer. When the text is not "
    "in English, answer in the language of the customer and add one line in English for the operator on call."
)


def proposed(**changes: Any) -> Proposal:
    return proposing.propose(text=proposing.artifact(**changes))


def test_the_same_under_another_name_is_a_duplicate_of_what_is_installed() -> None:
    proposing.applied()
    again = proposed(templateId="desk.summary", version="3.0.0", description="Mine", tags=["desk"])
    assert again.duplicate_of == "prompt:triage.summary@1.1.0"


def test_the_same_again_in_the_inbox_is_a_duplicate_of_the_proposal() -> None:
    first = proposed()
    assert proposed(templateId="other").duplicate_of == ids.wire("prop", first.id)
    assert first.duplicate_of is None


def test_nearly_the_same_prose_under_another_name_is_a_duplicate() -> None:
    proposing.applied(text=proposing.artifact(text=LONG))
    nearly = LONG.replace("on call", "on duty")
    assert proposed(templateId="desk", text=nearly).duplicate_of == "prompt:triage.summary@1.1.0"
    other = "Write a friendly answer to {{ticket}} that says when the order will arrive, and nothing else at all."
    assert proposed(templateId="desk", text=other).duplicate_of is None


def test_the_same_prose_wired_otherwise_is_none() -> None:
    proposing.applied(text=proposing.artifact(text=LONG))
    as_user = proposed(templateId="desk", text=LONG, kind="user")
    assert as_user.duplicate_of is None


def test_another_version_that_does_something_else_is_a_revision_and_one_that_does_the_same_restates() -> None:
    proposing.applied(text=proposing.artifact(text=LONG))
    changed = proposed(version="1.2.0", text=LONG.replace("two sentences", "one sentence"))
    assert changed.duplicate_of is None
    assert proposed(version="1.3.0", text=LONG).duplicate_of == "prompt:triage.summary@1.1.0"


def test_a_revision_is_looked_at_anew_and_never_restates_itself() -> None:
    proposing.applied()
    made = proposed(templateId="desk", text="Something else about {{ticket}}.")
    assert made.duplicate_of is None
    ben = building.scope(role="author")
    same = Change(artifact=proposing.artifact(templateId="desk"))
    assert lifecycle.revise(ben, made.id, same, now=timezone.now()).duplicate_of == "prompt:triage.summary@1.1.0"
    away = Change(artifact=proposing.artifact(templateId="desk", text="Say {{ticket}} backwards."))
    assert lifecycle.revise(ben, made.id, away, now=timezone.now()).duplicate_of is None


def test_what_was_rejected_and_what_another_tenant_has_is_not_there() -> None:
    gone = proposed()
    lifecycle.reject(building.scope(role="owner"), gone.id, now=timezone.now())
    globex = building.scope("globex", role="agent")
    proposing.propose(globex, text=proposing.artifact(templateId="theirs"))
    assert proposed(templateId="other").duplicate_of is None


def test_the_event_names_the_duplicate_and_no_word_of_it() -> None:
    first = proposed()
    again = proposed(templateId="other")
    told = [
        event for event in event_log.list_events_about(again.tenant_id, again.id) if event.type == "proposal.created"
    ]
    assert [event.payload["duplicateOf"] for event in told] == [ids.wire("prop", first.id)]


def test_a_duplicate_can_be_applied_all_the_same() -> None:
    proposing.applied()
    again = proposing.applied(text=proposing.artifact(templateId="desk"))
    assert (again.state, again.duplicate_of) == ("applied", "prompt:triage.summary@1.1.0")


def test_order_white_space_and_what_is_empty_make_no_difference() -> None:
    one = fingerprints.structure_of('{"a": 1, "b": "x  y", "variables": []}')
    assert one == fingerprints.structure_of('{"b": "x y",\n "a": 1}')
    assert one != fingerprints.structure_of('{"b": "x z", "a": 1}')
    assert fingerprints.structure_of("no json") == ""


@pytest.mark.parametrize("number", [1, 40])
def test_looking_for_duplicates_costs_the_same_number_of_queries(
    number: int, django_assert_max_num_queries: Any
) -> None:
    for at in range(number):
        proposed(templateId=f"t{at}", text=f"Text {at} about {{{{ticket}}}}")
    author = building.scope(role="agent")
    with django_assert_max_num_queries(45):
        proposing.propose(author, text=proposing.artifact(templateId="last", text="Entirely other words"))


def chains(**config: Any) -> str:
    """A pack of one chain, whose second node has ``config``."""
    write, keep = proposing.CHAIN["dag"]["nodes"]
    nodes = [write, {**keep, "config": {**keep["config"], **config}}]
    return proposing.chain_pack({"dag": {**proposing.CHAIN["dag"], "nodes": nodes}})


def renamed(pack: str, members: str, **labels: Any) -> str:
    """The pack under another name, its first member with other labels."""
    document = json.loads(pack)
    document[members][0] |= labels
    return json.dumps(document | {"name": "private.acme.other", "version": "7.0.0", "description": "Ours."})


DIFFERENT = {
    "for whom an automation runs": (
        "automation",
        proposing.automation(inputs={"name": "Marta"}),
        proposing.automation(inputs={"name": "Bob"}),
    ),
    "what an automation calls its input": (
        "automation",
        proposing.automation(inputs={"item": {"label": "a", "version": "1"}}),
        proposing.automation(inputs={"item": {"label": "b", "version": "2"}}),
    ),
    "how a chain tags what it keeps": (
        "workflow-chain-pack",
        chains(tags=["billing"]),
        renamed(chains(tags=["legal"]), "chains", chainId="private.acme.another", label="Other"),
    ),
    "what a parameter is about": (
        "workflow-chain-pack",
        proposing.chain_pack(),
        proposing.chain_pack({"parameters": {**proposing.CHAIN["parameters"], "description": "For lawyers."}}),
    ),
    "what an agent remembers": (
        "agent-pack",
        proposing.agent_pack({"memoryShape": {"longTerm": True}}),
        renamed(proposing.agent_pack({"memoryShape": {"longTerm": False}}), "agents", agentId="private.acme.b"),
    ),
}


@pytest.mark.parametrize(("kind", "one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_is_called_alike_inside_is_a_setting_and_no_label(kind: str, one: str, other: str) -> None:
    assert fingerprints.structure_of(one) != fingerprints.structure_of(other)
    proposing.propose(kind=kind, text=one)
    assert proposing.propose(kind=kind, text=other).duplicate_of is None


SAME = {
    "an automation": (
        "automation",
        proposing.automation(automationId="mondays", description="Weekly."),
        proposing.automation(automationId="weekly", version="2.0.0"),
    ),
    "a chain": (
        "workflow-chain-pack",
        chains(tags=["billing"]),
        renamed(chains(tags=["billing"]), "chains", chainId="private.acme.b", label="Other", description="Mine."),
    ),
    "an agent": (
        "agent-pack",
        proposing.agent_pack(),
        renamed(proposing.agent_pack(), "agents", agentId="private.acme.b", persona="Porter", label="P"),
    ),
}


@pytest.mark.parametrize(("kind", "one", "other"), SAME.values(), ids=SAME)
def test_labels_of_an_artifact_and_of_its_members_make_no_difference(kind: str, one: str, other: str) -> None:
    first = proposing.propose(kind=kind, text=one)
    assert proposing.propose(kind=kind, text=other).duplicate_of == ids.wire("prop", first.id)


def test_a_text_that_was_looked_at_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "_known", duplicates._Known(100))
    for at in range(5):
        proposed(templateId=f"t{at}", text=f"Text {at} about {{{{ticket}}}}, and {'so on ' * at * 9}")
    looked: dict[str, Any] = {"tenant_id": building.tenant().id, "kind": "prompt-template"}
    text = proposing.artifact(templateId="last", text="Entirely other words, of which there are not so few, as it is.")
    duplicates.find(**looked, text=text)
    with CaptureQueriesContext(connection) as queries:
        assert duplicates.find(**looked, text=text) is None
    assert len(queries) == 2
    assert not [each for each in queries if '"text"' in each["sql"]]


def test_what_is_known_of_texts_is_bounded_and_forgotten_ones_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    known = duplicates._Known(2)
    monkeypatch.setattr(duplicates, "_known", known)
    first = proposing.applied(text=proposing.artifact(text=LONG))
    for at in range(4):
        proposed(templateId=f"t{at}", text=f"Text {at}.", variables=[])
    assert len(known._facts) == 2
    nearly = LONG.replace("on call", "on duty")
    assert proposed(templateId="desk", text=nearly).duplicate_of == first.installed_ref


def test_of_long_texts_the_newest_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "MOST_READ", 300)
    proposed(templateId="old", text=LONG)
    newer = proposed(templateId="new", text=" ".join(reversed(LONG.split())))
    assert proposed(templateId="desk", text=LONG.replace("on call", "on duty")).duplicate_of is None
    nearly = " ".join(reversed(LONG.replace("on call", "on duty").split()))
    lifecycle.reject(
        building.scope(role="reviewer"), Proposal.objects.of(newer.tenant_id).latest("id").id, now=timezone.now()
    )
    assert proposed(templateId="desk", text=nearly).duplicate_of == ids.wire("prop", newer.id)
