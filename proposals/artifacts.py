"""What an artifact may be: its size, its form, and a schema for each kind that this host really installs.

An artifact is kept as the text that was received, byte for byte, unless a secret had to be taken out of it (SR-1); what
is refused is named by its path and never echoed.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import rfc8785
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from memory.host import bodies, registry
from memory.host.errors import Invalid, TooLarge, Unprocessable
from memory.host.registry import Artifact
from memory.matching import texts_in
from memory.redaction import Redactor
from proposals.models import Kind

SCHEMAS = Path(__file__).parent / "schemas"
MAX_BYTES = 128 * 1024
MAX_DEPTH = 32
MAX_VERSION = 64
MAX_PROBLEMS = 50

Problem = dict[str, str]


@dataclass(frozen=True, slots=True)
class Sealed:
    """An artifact as it is stored: the text, the digest of its bytes, and the digest of its JCS form."""

    text: str
    sha256: str
    canonical_sha256: str


class Unreadable(ValueError):
    """The text is not an artifact; the message says why, without a word of the text."""


def installable_kinds() -> list[str]:
    """The kinds this host installs; only these may be advertised."""
    return sorted(_INSTALLED_AS)


def seal(kind: str, text: str, redactor: Redactor) -> Sealed:
    """``text`` as it may be stored: redacted, and valid for its kind. Refuses with every problem's path."""
    require_installable(kind)
    document = read(text)
    redacted = redactor.redact_json(document)
    if redacted != document:
        text = json.dumps(redacted, ensure_ascii=False, separators=(",", ":"))
    if redactor.redact(text).count:
        raise Unprocessable(
            "The artifact holds a secret outside of its strings.", errors=[_at("", "holds a secret")], kind=kind
        )
    require_valid(kind, redacted)
    return Sealed(text, registry.digest(text), registry.digest(rfc8785.dumps(redacted).decode()))


def require_installable(kind: str) -> None:
    """Refuse a kind that nobody knows, and one that this host does not install yet."""
    if kind not in Kind.values:
        message = f"must be one of {', '.join(Kind.values)}"
        raise Invalid("There is no such kind.", errors=[{"field": "kind", "message": message}])
    if kind not in _INSTALLED_AS:
        message = "This host does not install this kind yet."
        raise Unprocessable(
            message, errors=[{"field": "kind", "message": "is not installed by this host yet"}], kind=kind
        )


def read(text: str) -> dict[str, Any]:
    """The JSON object in ``text``; refuses what is none, what is too large, and what parsers would read differently."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise TooLarge(f"An artifact has at most {MAX_BYTES} bytes.", maxBytes=MAX_BYTES)
    try:
        return _object_in(text)
    except Unreadable as problem:
        raise Invalid("The artifact cannot be read.", errors=[_at("", str(problem))]) from None


def _object_in(text: str) -> dict[str, Any]:
    if bodies.depth_of(text) > MAX_DEPTH:
        raise Unreadable(f"is nested more than {MAX_DEPTH} levels deep")
    document = _parsed(text)
    if not isinstance(document, dict):
        raise Unreadable("must be a JSON object")
    if any("\x00" in part or any("\ud800" <= letter <= "\udfff" for letter in part) for part in texts_in(document)):
        raise Unreadable("holds a NUL or half a surrogate pair")
    try:
        rfc8785.dumps(document)
    except rfc8785.CanonicalizationError:
        raise Unreadable("holds a number that not every reader of JSON reads alike") from None
    return document


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_once_each, parse_constant=_no_constant)
    except Unreadable:
        raise
    except json.JSONDecodeError as problem:
        raise Unreadable(f"is not JSON: line {problem.lineno}, column {problem.colno}") from None
    except ValueError:
        raise Unreadable("holds a number that is too long") from None


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Unreadable("has an object that names a member twice")
    return members


def _no_constant(name: str) -> Any:
    raise Unreadable("holds NaN or an infinity, which JSON does not have")


def require_valid(kind: str, document: dict[str, Any]) -> None:
    """Refuse a document that is not what its kind asks for (422), with the path of every problem."""
    found = sorted(_validator(kind).iter_errors(document), key=lambda problem: problem.json_path)
    errors = [_at(problem.json_path, _message(problem)) for problem in found[:MAX_PROBLEMS]]
    errors = errors or _limits_of_this_host(document)
    if errors:
        raise Unprocessable(f"The artifact is not a valid {kind}.", errors=errors, kind=kind)


def artifact_of(kind: str, text: str) -> Artifact:
    """What the registry installs for ``text``, checked once more; the text goes there as it is."""
    require_installable(kind)
    document = read(text)
    require_valid(kind, document)
    return _INSTALLED_AS[kind](document, text)


def name_in(kind: str, text: str) -> str:
    """The name that ``text`` would be installed under; empty when it has none."""
    name = json.loads(text).get(_NAMED_BY.get(kind, ""), "")
    return name if isinstance(name, str) else ""


def _prompt_template(document: dict[str, Any], text: str) -> Artifact:
    return Artifact(Kind.PROMPT_TEMPLATE, document["templateId"], document["version"], text)


# The kinds that are really installed: each with its schema in ``schemas/`` and what the registry gets.
_INSTALLED_AS: dict[str, Callable[[dict[str, Any], str], Artifact]] = {Kind.PROMPT_TEMPLATE.value: _prompt_template}

_NAMED_BY: dict[str, str] = {Kind.PROMPT_TEMPLATE.value: "templateId"}


@cache
def _validator(kind: str) -> Draft202012Validator:
    schema = json.loads((SCHEMAS / f"{kind}.schema.json").read_text())
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


def _limits_of_this_host(document: dict[str, Any]) -> list[Problem]:
    too_long = len(document["version"]) > MAX_VERSION
    return [_at("$.version", f"is longer than {MAX_VERSION} characters")] if too_long else []


def _at(path: str, message: str) -> Problem:
    """A problem at a path of the artifact; the path is in the message too, for forms that show messages alone."""
    inside = path.removeprefix("$").removeprefix(".")
    return {"field": f"artifact.{inside}" if inside else "artifact", "message": f"{inside} {message}".strip()}


def _message(problem: ValidationError) -> str:
    """What the schema wanted, in words; of the value nothing is said."""
    wanted = problem.validator_value
    if problem.validator == "required":
        return f"lacks {', '.join(name for name in wanted if name not in problem.instance)}"
    sentences = {
        "additionalProperties": "has a member that is not known here",
        "type": f"must be of type {wanted}",
        "enum": f"must be one of {', '.join(map(str, wanted))}" if problem.validator == "enum" else "",
        "pattern": "has a form that is not allowed",
        "maxLength": f"is longer than {wanted} characters",
        "minLength": "is empty",
        "maxItems": f"has more than {wanted} items",
        "format": f"is not a {wanted}",
    }
    return sentences.get(str(problem.validator), f"does not satisfy {problem.validator}")
