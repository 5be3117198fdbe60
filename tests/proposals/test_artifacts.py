"""What an artifact may be: without secrets, of its kind, and read alike by every parser."""

import json
from typing import Any

import pytest
from django.utils import timezone

from memory.host import registry, vault
from memory.host.errors import Invalid, Refusal, TooLarge, Unprocessable
from proposals import artifacts, review, revisions
from proposals.models import Kind, Proposal
from tests import building, proposing

pytestmark = pytest.mark.django_db


def test_secrets_of_the_tenant_are_taken_out_of_everything_that_is_stored() -> None:
    secret = "hunter2-hunter2"
    vault.store_secret(building.tenant().id, "crm-key", secret, now=timezone.now())
    made = proposing.propose(
        text=proposing.artifact(text=f"Use {secret} now"), title=f"t {secret}", rationale=f"r {secret}"
    )
    stored = revisions.current(made)
    marked = "[REDACTED:crm-key]"
    assert (made.title, made.rationale) == (f"t {marked}", f"r {marked}")
    assert json.loads(stored.text)["text"] == f"Use {marked} now"
    assert stored.sha256 == registry.digest(stored.text)
    gate = proposing.opened(made)
    proposing.decide(made, gate, decision="rejected", reason=f"leaks {secret}")
    assert review.detail(building.scope(), made.id).ballots[0].votes[0].reason == f"leaks {marked}"


def test_a_secret_that_is_a_number_is_refused_because_it_cannot_be_replaced() -> None:
    vault.store_secret(building.tenant().id, "pin", "1234567890", now=timezone.now())
    hidden = [{"name": "x", "type": "number", "required": False, "defaultValue": 1234567890}]
    with pytest.raises(Unprocessable) as refused:
        proposing.propose(text=proposing.artifact(variables=hidden))
    assert "1234567890" not in str(refused.value.details)


BAD_TEMPLATES: dict[str, tuple[dict[str, Any], str]] = {
    "version": ({"version": "one"}, "artifact.version"),
    "a version with a line break": ({"version": "1.0.0\n"}, "artifact.version"),
    "digits of another script": ({"version": "\u0661.0.0"}, "artifact.version"),
    "a version longer than the registry keeps": ({"version": "1.0.0-" + "a" * 60}, "artifact.version"),
    "kind": ({"kind": "poem"}, "artifact.kind"),
    "text": ({"text": 5}, "artifact.text"),
    "an unknown member": ({"surprise": "canary"}, "artifact"),
    "a variable": ({"variables": ["week"]}, "artifact.variables[0]"),
    "a variable's name": ({"variables": [{"name": "no-dash", "type": "string", "required": True}]},
                          "artifact.variables[0].name"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_TEMPLATES)
def test_an_artifact_that_is_not_of_its_kind_is_refused_by_path_and_without_its_words(name: str) -> None:
    change, path = BAD_TEMPLATES[name]
    with pytest.raises(Unprocessable) as refused:
        proposing.propose(text=proposing.artifact(**change))
    assert refused.value.details["kind"] == "prompt-template"
    assert path in [error["field"] for error in refused.value.details["errors"]]
    assert "canary" not in str(refused.value.details)
    assert Proposal.objects.of(building.tenant().id).count() == 0


def test_each_member_that_is_missing_is_one_problem_of_its_own() -> None:
    with pytest.raises(Unprocessable) as refused:
        proposing.propose(text='{"templateId": 3}')
    told = [(error["field"], error["message"]) for error in refused.value.details["errors"]]
    assert told == [
        ("artifact.kind", "kind is required"),
        ("artifact.templateId", "templateId must be of type string"),
        ("artifact.text", "text is required"),
        ("artifact.version", "version is required"),
    ]


UNREADABLE = {
    "no JSON": "{",
    "no object": "[]",
    "a member twice": '{"templateId":"a","templateId":"b"}',
    "NaN": '{"a":NaN}',
    "an infinite number": '{"a":1e999}',
    "a number that readers round": '{"a":9007199254740993}',
    "a number of 5,000 digits": '{"a":' + "1" * 5000 + "}",
    "half a surrogate pair": '{"a":"\\ud800"}',
    "a NUL": '{"a":"\\u0000"}',
    "depth": '{"a":' * 500 + "1" + "}" * 500,
    "depth without end": "[" * 100_000,
    "strings without end": '"\\"' * 40_000,
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_parsers_would_read_differently_or_not_at_all_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        proposing.propose(text=UNREADABLE[name])
    assert [error["field"] for error in refused.value.details["errors"]] == ["artifact"]


def test_an_artifact_has_a_bound() -> None:
    with pytest.raises(TooLarge):
        proposing.propose(text=proposing.artifact(description="x" * artifacts.MAX_BYTES))


def test_a_kind_that_nobody_installs_is_refused_and_one_that_does_not_exist_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "installer_of", lambda kind: None)
    for kind in Kind.values:
        with pytest.raises(Unprocessable) as refused:
            proposing.propose(kind=kind)
        assert refused.value.details["kind"] == kind
    with pytest.raises(Invalid) as unknown:
        proposing.propose(kind="rule")
    assert not isinstance(unknown.value, Unprocessable)


@pytest.mark.parametrize("field", ["title", "rationale"])
def test_words_that_cannot_be_stored_are_refused_by_field(field: str) -> None:
    for value in ("x" * 5000, "a\x00b", "\ud800"):
        with pytest.raises(Refusal) as refused:
            proposing.propose(None, None, **{field: value})
        assert [error["field"] for error in refused.value.details["errors"]] == [field]
