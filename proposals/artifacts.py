"""Validates artifacts: size, JSON form, and a schema for each kind that this host installs.

An artifact is stored as received, byte for byte, unless a secret had to be redacted (SR-1). A refusal names the path of
each problem and never echoes a value.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from uuid import UUID

import rfc8785
from jsonschema import Draft202012Validator

from memory.host import http, registry
from memory.host.errors import Invalid, TooLarge, Unprocessable
from memory.host.json_schemas import errors_in, missing_at, place_of, requirement, validator_of
from memory.host.json_types import JSONObject
from memory.host.registry import Artifact, Installer
from memory.text.matching import texts_in
from memory.text.redactor import Redactor
from memory.text.storable import UNSTORABLE
from proposals.models import Kind

SCHEMAS = Path(__file__).parent / "schemas"
# The longest text that a schema allows, 65,536 characters, is 768 KiB when each is written as two escapes.
MAX_BYTES = 1024 * 1024
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
    """The text is not an artifact; the message says why without quoting it."""


def installable_kinds() -> list[str]:
    """The kinds this host installs; only these may be advertised."""
    return registry.kinds()


def seal(tenant_id: UUID, kind: str, text: str, redactor: Redactor) -> Sealed:
    """Redact and validate ``text`` for storage; the refusal has the path of every problem."""
    require_installable(kind)
    document = read(text)
    redacted = redactor.redact_json(document)
    if redacted != document:
        text = json.dumps(redacted, ensure_ascii=False, separators=(",", ":"))
    if redactor.redact(text).count:
        raise Unprocessable(
            "The artifact holds a secret outside of its strings.", errors=[_at("", "holds a secret")], kind=kind
        )
    require_valid(tenant_id, kind, redacted)
    return Sealed(text, registry.digest(text), registry.digest(rfc8785.dumps(redacted).decode()))


def require_installable(kind: str) -> Installer:
    """The installer of this kind; refuses an unknown kind, and one that this host does not install."""
    if kind not in Kind.values:
        message = f"must be one of {', '.join(Kind.values)}"
        raise Invalid("There is no such kind.", errors=[{"field": "kind", "message": message}])
    installer = registry.installer_of(kind)
    if installer is None:
        message = "This host does not install this kind."
        raise Unprocessable(message, errors=[{"field": "kind", "message": "is not installed by this host"}], kind=kind)
    return installer


def read(text: str) -> JSONObject:
    """The JSON object in ``text``; refuses anything else, too large a text, and JSON that parsers read differently."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise TooLarge(f"An artifact has at most {MAX_BYTES} bytes.", maxBytes=MAX_BYTES)
    try:
        return _object_in(text)
    except Unreadable as problem:
        raise Invalid("The artifact cannot be read.", errors=[_at("", str(problem))]) from None


def _object_in(text: str) -> JSONObject:
    if http.depth_of(text) > MAX_DEPTH:
        raise Unreadable(f"is nested more than {MAX_DEPTH} levels deep")
    document = _parsed(text)
    if not isinstance(document, dict):
        raise Unreadable("must be a JSON object")
    if any(UNSTORABLE.search(part) for part in texts_in(document)):
        raise Unreadable("holds a NUL or half a surrogate pair")
    try:
        rfc8785.dumps(document)
    except rfc8785.CanonicalizationError:
        raise Unreadable("holds a number that not every reader of JSON reads alike") from None
    return document


def _parsed(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_once_each, parse_constant=_no_constant)
    except Unreadable:
        raise
    except json.JSONDecodeError as problem:
        raise Unreadable(f"is invalid JSON at line {problem.lineno}, column {problem.colno}") from None
    except ValueError:
        raise Unreadable("holds a number that is too long") from None


def _once_each(pairs: list[tuple[str, object]]) -> JSONObject:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Unreadable("has an object that names a member twice")
    return members


def _no_constant(name: str) -> object:
    raise Unreadable("holds NaN or an infinity, which JSON does not have")


def require_valid(tenant_id: UUID, kind: str, document: JSONObject) -> None:
    """Refuse (422), with the path of every problem, a document that violates the schema of its kind, or that this host
    could not install in this tenant."""
    errors = [_at(path, message) for path, message in _against_schema(kind, document)]
    if not errors:
        beyond = require_installable(kind).problems(tenant_id, document)
        errors = [_at(path, message) for path, message in [*_limits_of_this_host(kind, document), *beyond]]
    if errors:
        raise Unprocessable(f"The artifact is not a valid {kind}.", errors=errors[:MAX_PROBLEMS], kind=kind)


def _against_schema(kind: str, document: JSONObject) -> list[tuple[str, str]]:
    """The schema's problems as (path, message) pairs, one per path and keyword; a missing member has a path too."""
    found: dict[tuple[str, str], str] = {}
    for problem in errors_in(_validator(kind), document):
        paths = missing_at(problem) if problem.validator == "required" else [place_of(problem)]
        found |= {(path, str(problem.validator)): requirement(problem) for path in paths}
    return [(path, message) for (path, _), message in sorted(found.items())]


def require_timely(kind: str, text: str, *, now: datetime) -> None:
    """Refuse (422) a valid artifact whose time is past at ``now``, or too far in the future."""
    found = require_installable(kind).untimely(read(text), now)
    errors = [_at(path, message) for path, message in found]
    if errors:
        raise Unprocessable(f"The {kind} comes at the wrong time.", errors=errors, kind=kind)


def artifact_of(tenant_id: UUID, kind: str, text: str) -> Artifact:
    """Check ``text`` once more and wrap it unchanged for the registry."""
    installer = require_installable(kind)
    document = read(text)
    require_valid(tenant_id, kind, document)
    name, version = installer.named(document)
    return Artifact(kind, name, version, text)


def name_in(kind: str, text: str) -> str:
    """The name that ``text`` would be installed under; empty when it has none, or cannot be installed any more."""
    return _name_and_version(kind, text)[0]


def version_in(kind: str, text: str) -> str:
    """The version that ``text`` would be installed as; "" when it has none."""
    return _name_and_version(kind, text)[1]


def _name_and_version(kind: str, text: str) -> tuple[str, str]:
    installer = registry.installer_of(kind)
    try:
        document = json.loads(text)
        return installer.named(document) if installer else ("", "")
    except (ValueError, LookupError, TypeError):
        return "", ""


@cache
def _validator(kind: str) -> Draft202012Validator:
    schema = json.loads((SCHEMAS / f"{kind}.schema.json").read_text())
    return validator_of(schema, formats=True)


def _limits_of_this_host(kind: str, document: JSONObject) -> list[tuple[str, str]]:
    _, version = require_installable(kind).named(document)
    return [("$.version", f"is longer than {MAX_VERSION} characters")] if len(version) > MAX_VERSION else []


def _at(path: str, message: str) -> Problem:
    """A problem at a path of the artifact; the path is in the message too, for forms that show messages alone."""
    inside = path.removeprefix("$").removeprefix(".")
    return {"field": f"artifact.{inside}" if inside else "artifact", "message": f"{inside} {message}".strip()}
