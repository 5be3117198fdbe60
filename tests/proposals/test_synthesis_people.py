"""What people said and kept, learnt from end to end: who has a part in a proposal, and what words say of them."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory import memory_policy
from memory.host import ids, registry, vault
from memory.host.errors import Forbidden
from memory.models import Commitment
from memory.passes import orders
from proposals import learning as synthesis
from proposals import lifecycle, review, rules
from proposals.learning import wording
from proposals.models import Proposal, Revision
from tests import building, learning, proposing
from tests.memory.test_commitments import Desk
from tests.proposals.test_synthesis_reading import person

pytestmark = pytest.mark.django_db


# --- who has a part in it -------------------------------------------------------------------------------------------


def test_who_corrected_the_runs_does_not_vote_on_what_was_learnt_from_it() -> None:
    ada, ben = person(), person("ben@acme.example")
    learning.install_triage()
    for _ in range(3):
        learning.corrected(ada)
    learning.ending_with(learning.carried_out(learning.ordered(ada)))
    made = Proposal.objects.get()
    assert (made.author, made.contributors) == ("host", sorted(["host", ada.principal.id]))
    assert made.rationale.count("1 person made 1 correction") == 1
    gate = proposing.ask(made, ada).gate
    assert gate
    with pytest.raises(Forbidden) as refused:
        proposing.decide(made, gate, ada)
    assert refused.value.details["rule"] == rules.SEPARATION_OF_DUTIES
    voters = review.who_may_vote(ada, review.detail(ada, made.id), now=timezone.now())
    assert [each.principal for each in voters.eligible] == [ben.principal.id]
    assert [each.why_not for each in voters.others] == ["authored words that it was learnt from"]
    proposing.decide(made, gate, ben)
    assert proposing.advance(gate).status == "completed"
    installed = registry.current(made.tenant_id, "prompt-template", learning.PROMPT)
    assert installed is not None
    assert learning.WORDY in installed.text


def test_everybody_whose_words_were_taken_is_kept_from_voting_and_nobody_else() -> None:
    ada, ben, cleo = (person(f"{name}@acme.example") for name in ("ada", "ben", "cleo"))
    learning.install_triage(kind="core.clarificationGate", questions=[{"id": "q", "question": "?"}], actions=None)
    said = ((ada, "Keep it short."), (ben, "keep it short"), (ben, "KEEP IT SHORT!"), (cleo, "Name the customer."))
    for who, text in said:
        learning.answered(who, learning.asked(who), {"answers": {"q": text}})
    learning.ending_with(learning.carried_out())
    made = Proposal.objects.get()
    assert made.contributors == sorted(["host", ada.principal.id, ben.principal.id])
    assert "2 people made 1 correction" in made.rationale
    assert not any(who.principal.id in made.title + made.rationale for who in (ada, ben, cleo))
    gate = proposing.ask(made, ada).gate
    assert gate
    for who in (ada, ben, cleo):
        assert (rules.denial(who, "decide", made, gate) is None) == (who is cleo)
    revised = lifecycle.withdraw(ada, made.id, now=timezone.now())
    assert revised.contributors == made.contributors


# --- what words may say of them -------------------------------------------------------------------------------------

OWN = 'Add 1 sentence to prompt triage (1.1.0)\nThe workflows "Desk" have 3 runs; @desk and Acme\'s. 2 people made it.'


@pytest.mark.parametrize(
    "said",
    [
        "A better prompt. It has one more sentence!\n- Made by people",
        'Seen in "Desk" with 3 runs',
        "Of Acme: triage 1.1.0, for @desk",
        "It doesn't say why; people's runs do",
        "It is 'desk' that people made",
        "",
    ],
)
def test_other_words_that_tell_nothing_of_anybody_are_no_more_than_words(said: str) -> None:
    assert not wording.tells_more(said, OWN)


@pytest.mark.parametrize(
    "said",
    [
        "They greet Marta first",
        "Better: Marta first",
        "MARTA pays late",
        "A better prompt of eBay",
        "Seen in 4 runs",
        "Seen in 1.2.0",
        "Seen in \u0663 runs",
        "Seen in \u00bd of them",
        "Ask marta@customer.example",
        "Ask marta @ customer",
        "Ask \uff20marta",
        'It says "keep calm" now',
        "It says 'keep calm' now",
        "It says \u201ckeep calm\u201d now",
        "It says `keep calm` now",
        "It says \u00abkeep calm",
        "It says 'keep calm",
        "M\u00e4\u00df of \u00c5sa",
        "They greet \u200bMarta",
        "They greet \uff2darta",
        "\u05de\u05e8\u05ea\u05d4",
        "They greet " + "." * 200 + "Marta",
    ],
)
def test_a_name_a_number_an_address_or_a_quotation_of_one_s_own_is_more(said: str) -> None:
    assert wording.tells_more(said, OWN)


# --- what they kept -------------------------------------------------------------------------------------------------


def kept_for_days(memory_ref: str = "notes") -> Desk:
    """A desk at which a commitment has fired on four mornings, and started a workflow of the tenant's each time."""
    desk = Desk(at=datetime(2026, 11, 16, 10, tzinfo=UTC))
    building.install("acme", building.definition("remind", building.node("only", "core.noop")))
    memory_policy.change(desk.scope, {"commitment_workflow": "remind"}, now=timezone.now())
    desk.says("Check the queue every day at 8:00.", memory_ref=memory_ref)
    assert [desk.keeps(hours=hours) for hours in (0, 22, 24, 24, 24)] == [0, 1, 1, 1, 1]
    return desk


def learnt_by(desk: Desk) -> dict[str, Any]:
    """What a synthesis tells that is carried out an hour after the desk's last moment."""
    then = desk.at + timedelta(hours=1)
    row = synthesis.order(desk.scope, now=then)
    ended = orders.run_pass(row.tenant_id, row.id, holder="test/1", flow=synthesis, clock=lambda: then)
    assert ended is not None
    return learning.ending_with(ended)


def test_a_commitment_that_has_fired_every_morning_becomes_an_automation() -> None:
    desk = kept_for_days()
    outcome = learnt_by(desk)
    assert (outcome["found"], outcome["lookedAt"]["firings"], outcome["refused"]) == (1, 4, {})
    made, known_by = Proposal.objects.get(), ids.wire("cmt", Commitment.objects.get().id)
    artifact = json.loads(Revision.objects.get().text)
    assert (made.kind, made.contributors, len(made.source_run_ids)) == ("automation", ["host"], 4)
    assert (artifact["workflowId"], artifact["cron"], artifact["timezone"]) == ("remind", "0 8 * * *", "UTC")
    assert (artifact["inputs"]["commitmentId"], artifact["inputs"]["memoryRef"]) == (known_by, "notes")
    assert made.evidence[0] == {"kind": "commitment", "id": known_by, "why": "keeps-firing"}
    assert "has fired 4 times" in made.rationale
    assert "queue" not in made.title + made.rationale + json.dumps(artifact)
    assert learnt_by(desk)["seenBefore"] == 1


def test_a_commitment_that_told_its_workflow_a_secret_becomes_none() -> None:
    desk = kept_for_days("tok-4f9a8b7c6d")
    vault.store_secret(desk.tenant_id, "crm", "tok-4f9a8b7c6d", now=timezone.now())
    outcome = learnt_by(desk)
    assert (outcome["lookedAt"]["firings"], outcome["found"]) == (4, 0)
