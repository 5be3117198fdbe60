"""The page of the API: the very document that ``/v1/openapi.json`` serves, put into words. Pure.

Nothing here knows an operation by name; what the document does not say, the page does not show.
"""

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]
METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or a member of a body: its name, where it stands, what it holds, and whether it must be given."""

    name: str
    place: str
    kind: str
    required: bool
    words: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One status, what it means, and the schema of its body, which may be a link to one below."""

    status: str
    words: str
    kind: str
    schema: str

    @property
    def is_refusal(self) -> bool:
        return self.status[0] in "45"


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one address."""

    name: str
    method: str
    path: str
    scopes: list[str]
    is_public: bool
    words: str
    parameters: list[Field]
    body: list[Field]
    body_is_open: bool
    answers: list[Answer]
    refusals: list[Answer]


@dataclass(frozen=True, slots=True)
class Group:
    """The operations under one tag."""

    tag: str
    operations: list[Operation]


@dataclass(frozen=True, slots=True)
class Named:
    """A schema with a name, as JSON."""

    name: str
    text: str


def groups(document: Document) -> list[Group]:
    """Every operation, by tag; tags and operations in the order of the document."""
    found: dict[str, list[Operation]] = defaultdict(list)
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                each = item[method]
                found[each.get("tags", ["other"])[0]].append(_operation(document, path, method, each))
    return [Group(tag, operations) for tag, operations in sorted(found.items())]


def schemas(document: Document) -> list[Named]:
    """The named schemas, in the order of their names."""
    known = document["components"]["schemas"]
    return [Named(name, json.dumps(known[name], indent=2, ensure_ascii=False)) for name in sorted(known)]


def _operation(document: Document, path: str, method: str, each: Document) -> Operation:
    given = each.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    body = _resolved(document, given) if given else {}
    answers = [_answer(document, status, each["responses"][status]) for status in sorted(each["responses"])]
    return Operation(
        name=each["operationId"],
        method=method.upper(),
        path=path,
        scopes=each.get("x-required-scope", "").split(),
        is_public=each.get("security") == [],
        words=each.get("description", ""),
        parameters=[_parameter(_resolved(document, parameter)) for parameter in each.get("parameters", [])],
        body=_members(body),
        body_is_open=bool(given) and not body.get("properties"),
        answers=[answer for answer in answers if not answer.is_refusal],
        refusals=[answer for answer in answers if answer.is_refusal],
    )


def _resolved(document: Document, schema: Document) -> Document:
    """What a reference points to; anything else is itself."""
    found: Any = document
    for step in schema.get("$ref", "").split("/")[1:]:
        found = found[step]
    return schema if found is document else found


def _parameter(given: Document) -> Field:
    schema = given.get("schema", {})
    return Field(given["name"], given["in"], kind(schema), given.get("required", False), given.get("description", ""))


def _members(body: Document) -> list[Field]:
    needed = body.get("required", [])
    given = {name: schema for name, schema in body.get("properties", {}).items() if schema is not False}
    return [
        Field(name, "body", kind(schema), name in needed, schema.get("description", ""))
        for name, schema in given.items()
    ]


def _answer(document: Document, status: str, given: Document) -> Answer:
    answer = _resolved(document, given)
    schema = next((media["schema"] for media in answer.get("content", {}).values()), None)
    words = answer.get("description") or ("" if schema is None else "The answer.")
    if schema is None:
        return Answer(status, words, "no body", "")
    return Answer(status, words, kind(schema), schema.get("$ref", "").rpartition("/")[2])


def kind(schema: Document) -> str:
    """What a schema lets pass, in few words."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return " or ".join(dict.fromkeys(kind(each) for each in schema[choice]))
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(str(each) for each in schema["enum"])
    return _plain(schema)


def _plain(schema: Document) -> str:
    named = schema.get("type", "anything")
    if isinstance(named, list):
        return " or ".join(named)
    if named == "array":
        return f"list of {kind(schema.get('items', {}))}"
    limits = _between(schema, "minimum", "maximum") or _between(schema, "minLength", "maxLength", " characters")
    return " ".join(part for part in (named, limits, schema.get("format", "")) if part)


def _between(schema: Document, least: str, most: str, unit: str = "") -> str:
    low, high = schema.get(least), schema.get(most)
    if high is None:
        return "" if low in (None, 0, 1) else f"from {low}{unit}"
    return f"up to {high}{unit}" if low in (None, 0) else f"{low} to {high}{unit}"
