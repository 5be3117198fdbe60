"""``manage.py proposal``: the review from a shell, with exactly an operator's own rights."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from memory.host import audit, ids, registry
from memory.host.models import Operator
from proposals import comments
from proposals.models import Vote
from tests import building, proposing

pytestmark = pytest.mark.django_db


def manage(action: str, *words: str, role: str = "owner", tenant: str = "acme") -> Any:
    """What the command prints, as the operator of that role."""
    email = f"{role}@{tenant}.example"
    if not Operator.objects.filter(email=email).exists():
        building.operator(tenant, role, email)
    said = StringIO()
    call_command("proposal", action, *words, "--tenant", tenant, "--as", email, stdout=said)
    return json.loads(said.getvalue())


def wire(made: Any) -> str:
    return ids.wire("prop", made.id)


def named(told: dict[str, Any]) -> tuple[str, ...]:
    return "--revision", str(told["revision"]), "--sha256", told["sha256"]


def test_it_lists_and_shows_with_the_bytes_and_what_the_operator_may_do() -> None:
    made = proposing.propose()
    proposing.applied(text=proposing.artifact(templateId="other"))
    listed = manage("list", "--state", "draft", role="viewer")
    assert (listed["total"], [each["proposalId"] for each in listed["proposals"]]) == (1, [wire(made)])
    told = manage("show", wire(made), role="viewer")
    assert (told["text"], told["sha256"]) == (proposing.artifact(), listed["proposals"][0]["sha256"])
    assert told["actions"]["decide"]["refusal"]["requiredScope"] == "approvals:respond"


def test_the_whole_way_from_asking_to_the_grant_names_the_bytes() -> None:
    made = proposing.propose()
    told = manage("ask", wire(made), "--revision", "1", role="reviewer")
    assert told["gate"]["state"] == "open"
    with pytest.raises(CommandError, match="sha256"):
        manage("approve", wire(made), "--revision", "1", role="reviewer")
    with pytest.raises(CommandError, match="not for the bytes you decided on"):
        manage("approve", wire(made), "--revision", "1", "--sha256", "0" * 64, role="reviewer")
    assert manage("approve", wire(made), *named(told), role="reviewer")["gate"]["state"] == "granted"
    vote = Vote.objects.of(made.tenant_id).get()
    assert vote.principal == ids.wire("usr", Operator.objects.get(email="reviewer@acme.example").id)


def test_every_other_step_leaves_what_it_says() -> None:
    made = proposing.propose()
    told = manage("ask", wire(made))
    assert manage("request-changes", wire(made), *named(told), "--reason", "shorter")["gate"] is None
    manage("ask", wire(made))
    assert manage("veto", wire(made), *named(told), "--reason", "no")["state"] == "draft"
    manage("ask", wire(made))
    assert manage("withdraw", wire(made))["pendingApprovalId"] is None
    manage("ask", wire(made))
    assert manage("override", wire(made), *named(told), "--reason", "incident 42")["gate"]["votes"][0]["override"]
    assert manage("revise", wire(made), "--title", "New", "--void-gate")["revision"] == 2
    assert manage("comment", wire(made), "--text", "fine")["comments"] == 1
    assert comments.comments_of(made)[0].text == "fine"
    assert manage("reject", wire(made), "--reason", "old")["closingReason"] == "old"
    assert manage("archive", wire(made))["state"] == "archived"


def test_a_revision_keeps_the_bytes_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, hard = proposing.propose(), '{ "templateId":"hard", "version":"1.0.0",\n"kind":"user","text":"\\u20ac" }'
    file = tmp_path / "new.json"
    file.write_text(hard + "\n")
    assert manage("revise", wire(made), "--artifact", str(file), "--revision", "1")["sha256"] == registry.digest(hard)
    monkeypatch.setattr("sys.stdin", StringIO(proposing.artifact()))
    assert manage("revise", wire(made), "--artifact", "-")["sha256"] == registry.digest(proposing.artifact())
    with pytest.raises(CommandError, match="cannot be read"):
        manage("revise", wire(made), "--artifact", "/nowhere.json")


def test_a_rollback_from_the_shell_is_a_proposal() -> None:
    proposing.applied(text=proposing.artifact(version="1.0.0"))
    proposing.applied(text=proposing.artifact(version="2.0.0"))
    told = manage("rollback", "prompt:triage.summary@1.0.0", role="author")
    assert (told["state"], told["purpose"]) == ("draft", "rollback")


@pytest.mark.parametrize("role", ["viewer", "author", "agent", "auditor"])
def test_who_may_not_is_refused_in_words_and_it_is_on_record_once(role: str) -> None:
    made = proposing.propose()
    gate = proposing.opened(made)
    words = ("--revision", "1", "--sha256", gate.sha256)
    with pytest.raises(CommandError, match="needs the permission approvals:respond"):
        manage("approve", wire(made), *words, role=role)
    denied = [row for row in audit.newest(made.tenant_id) if row.action == "authorization.denied"]
    assert [row.details["requiredScope"] for row in denied] == ["approvals:respond"]
    assert not Vote.objects.of(made.tenant_id).exists()


def test_reading_is_denied_on_record_too() -> None:
    made = proposing.propose()
    with pytest.raises(CommandError, match="proposals:read"):
        manage("show", wire(made), role="auditor")
    [row] = [row for row in audit.newest(made.tenant_id) if row.action == "authorization.denied"]
    assert row.details["action"] == "manage.py proposal show"


def test_a_foreign_a_missing_and_a_malformed_id_and_nobody_are_refused() -> None:
    made = proposing.propose()
    for unknown in (wire(made), "prop_" + "0" * 32, "x"):
        with pytest.raises(CommandError, match="no proposal by that id"):
            manage("archive", unknown, tenant="globex")
    assert proposing.fresh(made).state == "draft"
    for words in (("--as", "nobody@acme.example", "--tenant", "acme"), ("--as", "x", "--tenant", "nowhere")):
        with pytest.raises(CommandError, match="There is no"):
            call_command("proposal", "show", wire(made), *words)
    building.operator("globex", "owner", "gil@globex.example")
    with pytest.raises(CommandError, match="no operator"):
        call_command("proposal", "show", wire(made), "--tenant", "acme", "--as", "gil@globex.example")


def test_an_operator_who_was_shut_out_does_nothing_from_the_shell_either() -> None:
    made = proposing.propose()
    person = building.operator(role="owner", email="owner@acme.example")
    building.deactivate(person)
    with pytest.raises(CommandError, match="credential"):
        manage("archive", wire(made))
    assert proposing.fresh(made).state == "draft"
