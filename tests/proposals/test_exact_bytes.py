"""The bytes that somebody sent are the bytes that are approved and installed, however hard they are to keep.

Everything goes through the real doors: the body of a POST, a vote at the run's interrupt, a worker's steps, and the
installed artifact as the API gives it.
"""

import hashlib
import json
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from memory.host import registry
from memory.host.models import Run
from openwop_console.settings import DATA_UPLOAD_MAX_MEMORY_SIZE
from proposals import artifacts
from proposals.api.serializers import MAX_BODY
from proposals.models import Kind, Proposal
from tests import building
from tests.budgets import tries
from tests.building import undone

pytestmark = pytest.mark.django_db
EXTENSION, PROPOSALS = "/v1/host/console/proposals", "/v1/host/sample/proposals"
ARTIFACTS = "/v1/host/console/artifacts"
LONGEST_TEXT = 65_536
CALLER = Client()


class Door:
    """One credential at the API."""

    def __init__(self, role: str) -> None:
        self.headers = building.headers(role=role)

    def __call__(self, method: str, path: str, body: str = "", *, expects: int = 200) -> Any:
        sent = {"data": body, "content_type": "application/json"} if body or method == "post" else {}
        answer = getattr(CALLER, method)(path, **sent, **self.headers)
        assert answer.status_code == expects, answer.content[:2000]
        return answer.json()


class Desk:
    """Somebody who proposes, and somebody who decides."""

    def __init__(self) -> None:
        building.install("acme", building.definition("ticks", building.node("n", "core.noop")))
        self.author, self.reviewer = Door("agent"), Door("reviewer")

    def proposes(self, kind: str, text: str) -> str:
        """The id of the proposal that a body with exactly this artifact has made."""
        made = self.author("post", EXTENSION, f'{{"kind":"{kind}","artifact":{text}\n}}', expects=201)
        return str(made["id"])

    def installs(self, kind: str, text: str) -> dict[str, Any]:
        """What is installed after the whole way: the gate, the vote of a second person, and a worker's steps."""
        proposal = self.proposes(kind, text)
        asked = self.reviewer("post", f"{PROPOSALS}/{proposal}/apply", expects=202)
        run = Run.objects.get(id=building.id_of("run", asked["runId"]))
        building.advance(run)
        vote = json.dumps({"resumeValue": {"decision": "granted"}})
        self.reviewer("post", f"/v1/runs/{asked['runId']}/interrupts/gate", vote)
        assert building.advance(run).status == "completed"
        applied = self.reviewer("get", f"{PROPOSALS}/{proposal}")
        ref = applied["activation"]["installedArtifactRef"]
        installed: dict[str, Any] = self.reviewer("get", f"{ARTIFACTS}/{ref}")
        return installed


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def template(text: str = '"x"', more: str = "") -> str:
    """A prompt template with exactly this JSON as its text."""
    return f'{{"templateId":"hard","version":"1.0.0","kind":"user","text":{text}{more}}}'


def variable(default: str) -> str:
    """A prompt template that has exactly this JSON as the default of a variable."""
    one = f'{{"name":"x","type":"object","required":false,"defaultValue":{default}}}'
    return template(more=f',"variables":[{one}]')


def pack(prompt: str = '"x"', more: str = "") -> str:
    agent = f'{{"agentId":"private.acme.hard","persona":"P","modelClass":"general","systemPrompt":{prompt}{more}}}'
    return (
        '{"name":"private.acme.hard","version":"1.0.0","engines":{"openwop":">=1"},'
        f'"runtime":{{"language":"remote","entry":"x"}},"agents":[{agent}]}}'
    )


def chain(config: str = "{}", words: str = '"x"') -> str:
    """A pack of one chain with exactly this JSON as the config of its node, and as its description."""
    node = f'{{"id":"n","typeId":"core.noop","config":{config}}}'
    about = f'"chainId":"hard","version":"1.0.0","label":"x","description":{words}'
    one = f'{{{about},"parameters":{{}},"dag":{{"nodes":[{node}]}}}}'
    return (
        '{"kind":"workflow-chain","version":"1.0.0","name":"private.acme.hard",'
        f'"chains":[{one}],"engines":{{"openwop":">=1"}}}}'
    )


def automation(inputs: str = "{}", words: str = '"x"') -> str:
    """An automation with exactly this JSON as its inputs, and as its description."""
    return f'{{"inputs":{inputs},"cron":"0 3 * * *","description":{words},"automationId":"hard","workflowId":"ticks"}}'


MIXED = "e\u0301 \U0001f600 \u202eevil\u202c \u200f\u05d0 \ufeff \u2028 \u00a0 \ue000 \U0010ffff %s {{x}} </script>"
HARD_VALUES = '{"z":[1.0,1e2,-0,-0.0,1E-7], "":null, "a":[ ],\t"b":{ },"\\u0041":"\\/\\u00e9"}'
HARD: dict[str, tuple[str, str]] = {
    "members in no order": (
        Kind.PROMPT_TEMPLATE,
        '{"text":"x","version":"1.0.0","kind":"user","tags":["b","a"],"templateId":"hard","meta":{"author":"z"}}',
    ),
    "white space of every kind": (
        Kind.PROMPT_TEMPLATE,
        '{ \t"templateId" :\r\n"hard" ,\n\n "version":"1.0.0","kind":\t"user"\r, "text": "  x\\t\\n " , "tags":[ ] }',
    ),
    "forms of numbers": (
        Kind.PROMPT_TEMPLATE,
        variable("[1.0, 1e2, 1E+2, -0, -0.0, 0.10, 1e-7, 100000000000000000000.5, 9007199254740991, 1.50E-1]"),
    ),
    "a whole number written as a fraction": (
        Kind.PROMPT_TEMPLATE,
        template(more=',"modelHints":{"temperature":1.0,"maxTokens":1.0e3}'),
    ),
    "letters of every plane": (Kind.PROMPT_TEMPLATE, template(json.dumps(MIXED, ensure_ascii=False))),
    "the same letters as escapes": (Kind.PROMPT_TEMPLATE, template(json.dumps(MIXED))),
    "escapes that need not be": (
        Kind.PROMPT_TEMPLATE,
        template('"\\u0041\\/\\u002f \\u00E9\\u00e9 \\ud83d\\uDE00 \\b\\f \\u001f"'),
    ),
    "a name that is escaped": (Kind.PROMPT_TEMPLATE, template().replace('"text"', '"t\\u0065xt"')),
    "nulls and empty containers": (
        Kind.PROMPT_TEMPLATE,
        variable('{"":null,"a":[],"b":{},"c":[[],{},null,""],"A":0}'),
    ),
    "depth": (Kind.PROMPT_TEMPLATE, variable("[" * 28 + "]" * 28)),
    "64 KB of text": (Kind.PROMPT_TEMPLATE, template(json.dumps("\n\u20ac\\ x" * 9_362, ensure_ascii=False))),
    "a chain with forms of numbers, nulls and empty containers": (Kind.WORKFLOW_CHAIN_PACK, chain(HARD_VALUES)),
    "a chain with letters of every plane": (Kind.WORKFLOW_CHAIN_PACK, chain(words=json.dumps(MIXED))),
    "a chain with 64 KB of text": (
        Kind.WORKFLOW_CHAIN_PACK,
        chain('{"text":' + json.dumps("\u20ac\\ \n" * 16_384, ensure_ascii=False) + "}"),
    ),
    "an automation with forms of numbers, nulls and empty containers": (Kind.AUTOMATION, automation(HARD_VALUES)),
    "an automation with letters of every plane": (Kind.AUTOMATION, automation(words=json.dumps(MIXED))),
    "an automation with 64 KB of text": (
        Kind.AUTOMATION,
        automation('{"a":' + json.dumps("\u20ac\\ \n" * 16_384) + "}"),
    ),
    "a pack in no order, with numbers": (
        Kind.AGENT_PACK,
        pack(more=',"confidence":{"defaultThreshold":1.0},"memoryShape":{},"handoff":{ },"toolAllowlist":[ ]'),
    ),
    "a pack with letters of every plane": (Kind.AGENT_PACK, pack(json.dumps(MIXED, ensure_ascii=False))),
    "a pack with 64 KB of text": (Kind.AGENT_PACK, pack(json.dumps("\u20ac\\ \n" * 16_384))),
}


def test_what_was_sent_is_what_is_installed_byte_for_byte() -> None:
    desk = Desk()
    for name, (kind, text) in HARD.items():
        with undone():
            installed = desk.installs(kind, text)
        assert (installed["text"] == text, installed["sha256"]) == (True, digest(text)), name


def test_every_kind_that_is_installed_here_has_hard_artifacts() -> None:
    assert {kind for kind, _ in HARD.values()} == set(registry.kinds()) == set(Kind.values)


def test_the_digest_a_reviewer_reads_is_that_of_what_was_sent_and_stays_that_of_the_installed() -> None:
    text, desk = template(json.dumps(MIXED)), Desk()
    proposal = desk.proposes(Kind.PROMPT_TEMPLATE, text)
    asked = desk.reviewer("post", f"{PROPOSALS}/{proposal}/apply", expects=202)
    told = desk.reviewer("get", f"{EXTENSION}/{proposal}/revisions")
    assert told["revisions"][0]["text"] == text
    assert told["revisions"][0]["sha256"] == told["gates"][0]["sha256"] == digest(text)
    assert Run.objects.get(id=building.id_of("run", asked["runId"])).inputs["sha256"] == digest(text)


def test_a_revision_is_kept_as_it_was_sent_too() -> None:
    first, second = template(), template(json.dumps(MIXED), ' , "tags" : [ ]')
    desk = Desk()
    proposal = desk.proposes(Kind.PROMPT_TEMPLATE, first)
    Door("author")("patch", f"{PROPOSALS}/{proposal}", f'{{"note":"n", "artifact" :\n {second} }}')
    told = desk.reviewer("get", f"{EXTENSION}/{proposal}/revisions")
    assert [each["text"] for each in told["revisions"]] == [second, first]


# --- the longest --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("escaped", [False, True], ids=["raw", "escaped"])
def test_the_longest_text_that_the_schema_allows_fits_however_it_is_written(escaped: bool) -> None:
    """Of letters that take four bytes, or twelve as an escape: those of all others take less."""
    text = template(json.dumps("\U0001f600" * LONGEST_TEXT, ensure_ascii=escaped))
    installed = Desk().installs(Kind.PROMPT_TEMPLATE, text)
    assert (installed["text"] == text, installed["sha256"]) == (True, digest(text))


def test_one_letter_more_is_refused_by_its_path_and_not_for_its_size() -> None:
    text = template(json.dumps("\U0001f600" * (LONGEST_TEXT + 1)))
    refused = Door("agent")("post", EXTENSION, f'{{"kind":"prompt-template","artifact":{text}}}', expects=422)
    assert [error["field"] for error in refused["details"]["errors"]] == ["artifact.text"]


def test_an_artifact_that_is_nested_too_deep_is_refused_as_such() -> None:
    deep = '{"a":' * 40 + "1" + "}" * 40
    refused = Door("agent")("post", EXTENSION, f'{{"kind":"prompt-template","artifact":{deep}}}', expects=400)
    assert refused["details"]["errors"] == [{"field": "artifact", "message": "is nested more than 32 levels deep"}]


def test_the_largest_artifact_has_room_in_a_body_and_a_larger_one_is_413() -> None:
    assert artifacts.MAX_BYTES < MAX_BODY <= DATA_UPLOAD_MAX_MEMORY_SIZE
    shell = template()
    for size, status in ((artifacts.MAX_BYTES, 201), (artifacts.MAX_BYTES + 1, 413)):
        text = shell[:-1] + " " * (size - len(shell)) + "}"
        Door("agent")("post", EXTENSION, f'{{"kind":"prompt-template","artifact":{text}}}', expects=status)


# --- whatever somebody sends ------------------------------------------------------------------------------------------

SPACE = st.text(" \t\r\n", max_size=2)
LETTERS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
NUMBERS = st.one_of(
    st.integers(-(2**53) + 1, 2**53 - 1).map(str),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.from_regex(
        r"-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,2})?", fullmatch=True, alphabet="0123456789.eE+-"
    ),
)


def written(text: str, ways: list[int]) -> str:
    """A JSON string for ``text``; each letter is raw or an escape, as ``ways`` say."""
    parts = []
    for at, letter in enumerate(text):
        raw = json.dumps(letter, ensure_ascii=False)[1:-1]
        units = letter.encode("utf-16-be")
        escape = "".join(f"\\u{units[each : each + 2].hex()}" for each in range(0, len(units), 2))
        way = ways[at % len(ways)] if ways else 0
        parts.append((raw, escape, escape.upper().replace("\\U", "\\u"))[way])
    return f'"{"".join(parts)}"'


STRINGS = st.builds(written, LETTERS, st.lists(st.integers(0, 2), max_size=5))


def arrays(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda found, gap: f"[{gap}{f'{gap},'.join(found)}{gap}]", st.lists(items, max_size=4), SPACE)


def objects(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    members = st.lists(st.tuples(STRINGS, items), max_size=4, unique_by=lambda member: json.loads(member[0]))
    return st.builds(
        lambda found, gap: f"{{{gap}{f',{gap}'.join(f'{k}{gap}:{v}' for k, v in found)}{gap}}}", members, SPACE
    )


VALUES = st.recursive(
    st.one_of(st.sampled_from(["null", "true", "false", "[]", "{}", '""']), NUMBERS, STRINGS),
    lambda items: arrays(items) | objects(items),
    max_leaves=8,
)


@tries(40, suppress_health_check=list(HealthCheck))
@given(author=STRINGS, default=VALUES, gap=SPACE)
def test_any_json_in_any_form_is_installed_as_it_was_written(author: str, default: str, gap: str) -> None:
    one = f'{{"name":"x","type":"object","required":false,"defaultValue":{gap}{default}}}'
    text = template(more=f',{gap}"meta"{gap}:{{"author":{gap}{author}}},"variables":[{one}]{gap}')
    with undone():
        installed = Desk().installs(Kind.PROMPT_TEMPLATE, text)
        assert (installed["text"], installed["sha256"]) == (text, digest(text))
        assert Proposal.objects.get().state == "applied"
