"""Rewords a finding with the tenant's model endpoint, if configured and requested; the endpoint decides nothing.

It may only reword the title, the rationale, and the purely descriptive texts of the artifact. An answer that changes
anything else (a name, a tool, a node, a variable), or whose title or rationale could quote a person, is discarded and
counted; the rules' draft is used instead.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from memory import memory_policy, redaction
from memory.host.json_types import JSONObject
from memory.memory_policy import Policy
from memory.text import untrusted
from memory.text.encodings import normalized
from proposals import drafts
from proposals.learning.findings import Figures, attempt, attempt_without_transaction
from proposals.learning.miners.traces import Finding
from proposals.models import Kind

WORD = re.compile(r"@?[^\W_](?:[\w.@/\u2044-]*\w)?|@")
OPENS, CLOSES = '"`\u201c\u201e\u00ab\u2039\u300c\u2018', '"`\u201c\u201d\u00bb\u203a\u300d\u2019'
QUOTED = re.compile(rf"[{OPENS}](.+?)(?:[{CLOSES}]|$)|(?<!\w)'(\S.*?)(?:'(?!\w)|$)", re.DOTALL)
ENDS = re.compile(r"[^.!?]*[.!?].*\s", re.DOTALL)
WITHOUT_CASE = "Lo"  # letters of a script that has no capitals, so that any of its words could be a name
MAX_TOKENS = 4000
PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
# The members of an artifact that only readers or a model read, and that grant no rights.
WORDS: dict[str, frozenset[str]] = {
    Kind.PROMPT_TEMPLATE: frozenset({"text", "description"}),
    Kind.AGENT_PACK: frozenset({"systemPrompt", "persona", "description"}),
    Kind.WORKFLOW_CHAIN_PACK: frozenset({"description", "label"}),
    Kind.AUTOMATION: frozenset({"description", "label"}),
}
# Members whose texts all affect behaviour.
ACTS = frozenset({"config", "inputs", "modelHints", "memoryShape"})
NOT_CONFIGURED, NOT_ASKED = "no_endpoint", "not_asked"
MALFORMED, OVERREACHING, QUOTING = "malformed", "changes_more_than_words", "may_quote_people"
ASKED = (
    "A rule found that the following change would make sense. Say it better, and change nothing of what it does. "
    "Answer with one JSON object and nothing else, with any of the members title (one short line), rationale (plain "
    "sentences) and artifact (the whole artifact, in which only texts written for readers may differ). "
    f"{untrusted.BETWEEN_LINES}"
    "\n---\n{finding}\n---"
)


# Detects whether a reworded finding adds information: a number, an address, a name or a quotation. Titles and
# rationales never hold a person's text, no matter which model wrote them.


@dataclass(frozen=True, slots=True)
class Word:
    """A word, its offset in the text, and whether it begins a sentence."""

    text: str
    at: int
    begins: bool


def tells_more(said: str, own: str) -> bool:
    """Whether ``said`` has a number, an ``@``, a quoted or a capitalised word that ``own`` has not.

    The capital of a sentence's first word does not count.
    """
    known = {word.text.casefold() for word in _words(_plain(own))}
    text = _plain(said)
    quoted = [span for match in QUOTED.finditer(text) for span in (match.span(1), match.span(2))]
    return any(
        _is_telling(word) or any(first <= word.at < end for first, end in quoted)
        for word in _words(text)
        if word.text.casefold() not in known
    )


def _plain(text: str) -> str:
    """The text in NFKC form, without invisible format characters."""
    wide = normalized("NFKC", text)
    return "".join(letter for letter in wide if unicodedata.category(letter) != "Cf")


def _words(text: str) -> Iterator[Word]:
    end = 0
    for match in WORD.finditer(text):
        gap = text[end : match.start()]
        yield Word(match[0], match.start(), end == 0 or "\n" in gap or ENDS.match(gap) is not None)
        end = match.end()


def _is_telling(word: Word) -> bool:
    text = word.text
    if "@" in text or any(letter.isnumeric() or unicodedata.category(letter) == WITHOUT_CASE for letter in text):
        return True
    return any(letter.isupper() or letter.istitle() for letter in (text[1:] if word.begins else text))


def is_configured(policy: Policy) -> bool:
    """Whether the policy names an endpoint, a model there, and the secret that opens it."""
    return bool(policy.endpoint_url and policy.endpoint_model and policy.endpoint_secret)


@dataclass(slots=True)
class Voice:
    """The tenant's endpoint during one pass, if ``wanted``; after a failure it is not called again.

    ``model`` is the label of the model that worded the last finding; "" when the rules' words were used.
    """

    tenant_id: UUID
    figures: Figures
    wanted: bool = False
    reachable: bool = True
    model: str = ""

    def worded(self, finding: Finding) -> Finding:
        """The finding in the endpoint's words if they pass every check, else unchanged; the figures count both."""
        self.model = ""
        if not self.wanted:
            return finding
        policy = memory_policy.policy_of(self.tenant_id)
        said, why_not = self._request_wording(policy, finding)
        answer, why_not = _read(said) if said is not None else (None, why_not)
        taken, why_not = _accept_answer(self.tenant_id, finding, answer) if answer is not None else (None, why_not)
        if taken is None:
            self.figures.leave_unworded(why_not)
            return finding
        self.figures.worded += 1
        self.model = f"endpoint:{policy.endpoint_model}"[: drafts.MAX_LABEL]
        return taken

    def _request_wording(self, policy: Policy, finding: Finding) -> tuple[str | None, str]:
        if not self.reachable:
            return None, NOT_ASKED
        if not is_configured(policy):
            self.reachable = False
            return None, NOT_CONFIGURED
        from memory import model_endpoint  # with the HTTP client, which takes a tenth of a second to import

        prompt = ASKED.format(finding=_finding_document(self.tenant_id, finding))
        said, code = attempt_without_transaction(
            partial(model_endpoint.distil, policy, self.tenant_id, prompt, max_tokens=MAX_TOKENS)
        )
        self.reachable = said is not None
        return said, code


def _finding_document(tenant_id: UUID, finding: Finding) -> str:
    """The finding as JSON with the tenant's secrets redacted: all that is sent to the endpoint."""
    document = {
        "kind": finding.kind,
        "title": finding.title,
        "rationale": finding.rationale,
        "artifact": finding.artifact,
    }
    return redaction.for_derived(tenant_id)(json.dumps(document, ensure_ascii=False)).text


def _read(said: str) -> tuple[JSONObject | None, str]:
    """The JSON object in the answer, which other text may surround; None and a code when it is not valid."""
    try:
        found = json.loads(said[said.index("{") : said.rindex("}") + 1])
    except (ValueError, RecursionError):
        return None, MALFORMED
    known = isinstance(found, dict) and bool(found) and set(found) <= {"title", "rationale", "artifact"}
    texts = [found.get(name, "-") for name in ("title", "rationale")] if known else []
    worded = known and all(isinstance(text, str) and text.strip() for text in texts)
    return (found, "") if worded else (None, MALFORMED)


def _accept_answer(tenant_id: UUID, finding: Finding, answer: JSONObject) -> tuple[Finding | None, str]:
    """The finding with the endpoint's words; None and a code when that may not be proposed."""
    artifact = answer.get("artifact", finding.artifact)
    if not isinstance(artifact, dict) or not _says_the_same(finding.kind, finding.artifact, artifact):
        return None, OVERREACHING
    title, rationale = answer.get("title", finding.title), answer.get("rationale", finding.rationale)
    taken = replace(finding, title=title, rationale=rationale, artifact=artifact)
    _, code = attempt(partial(_check, tenant_id, taken))
    if not code and _may_quote(tenant_id, finding, taken):
        code = QUOTING
    return (None, code) if code else (taken, "")


def _may_quote(tenant_id: UUID, finding: Finding, taken: Finding) -> bool:
    """Whether the title or the rationale adds information to the rule's own, plain or as redacted for the endpoint."""
    own = f"{finding.title}\n{finding.rationale}"
    redacted = redaction.for_derived(tenant_id)(own).text
    return tells_more(f"{taken.title}\n{taken.rationale}", f"{own}\n{redacted}")


def _check(tenant_id: UUID, taken: Finding) -> None:
    drafts.seal(tenant_id, taken.kind, json.dumps(taken.artifact, ensure_ascii=False))
    drafts.texts(tenant_id, title=taken.title, rationale=taken.rationale)


def _says_the_same(kind: str, ours: JSONObject, theirs: JSONObject) -> bool:
    """Whether the two differ only in descriptive texts, without a new placeholder."""
    free = WORDS.get(kind, frozenset())
    gained = set(PLACEHOLDER.findall(json.dumps(theirs))) - set(PLACEHOLDER.findall(json.dumps(ours)))
    return not gained and _bare(ours, free) == _bare(theirs, free)


def _bare(value: object, free: frozenset[str]) -> object:
    """The value with each free text replaced by ``str``, and each other leaf paired with its type, for comparison."""
    if isinstance(value, dict):
        return {
            name: str if name in free and isinstance(each, str) else _bare(each, frozenset() if name in ACTS else free)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_bare(each, free) for each in value]
    return type(value), value
