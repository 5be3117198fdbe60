"""What may be asked of a distillation: its budget, its sources, and whether the index is written (RFC 0062 B).

``includeArchives`` distils the ref's archives again; ``includeExpiring`` also what expires before the archive does.
"""

from dataclasses import dataclass
from typing import Any

from memory.drafts import MAX_CONTENT_BYTES, MAX_LABEL, MAX_TAGS, UNSTORABLE, UNSTORABLE_IN_LABEL
from memory.host.errors import Invalid

MAX_TOKEN_BUDGET = 100_000
MAX_SOURCES = 5_000
FLAGS = {"indexEmitted": True, "includeArchives": False, "includeExpiring": False}
KNOWN = ("tokenBudget", "sources", *FLAGS)

Problems = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Given:
    """A source that was handed in with the pass."""

    content: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of one distillation; without ``given`` sources, the ref's own entries are distilled."""

    budget: int
    index: bool
    archives: bool
    expiring: bool
    given: tuple[Given, ...] | None

    @classmethod
    def of(cls, options: dict[str, Any]) -> "Asked":
        whole = checked(options)
        sources = whole.get("sources")
        given = tuple(Given(each["content"], tuple(each["tags"])) for each in sources) if sources else None
        index, archives, expiring = (whole[name] for name in FLAGS)
        return cls(whole["tokenBudget"], index, archives, expiring, given)


def checked(options: dict[str, Any]) -> dict[str, Any]:
    """The options with what they leave open, the budget at most ``MAX_TOKEN_BUDGET``; refused with all wrong fields."""
    problems: Problems = [(name, "is not an option of a distillation") for name in options if name not in KNOWN]
    budget = options.get("tokenBudget", MAX_TOKEN_BUDGET)
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
        problems.append(("tokenBudget", "must be a whole number of at least 1"))
    problems += [(name, "must be true or false") for name in FLAGS if not isinstance(options.get(name, True), bool)]
    problems += _sources_problems(options["sources"]) if "sources" in options else []
    if problems:
        errors = [{"field": field, "message": message} for field, message in problems]
        raise Invalid("The distillation cannot be asked for like that.", errors=errors)
    flags = {name: options.get(name, default) for name, default in FLAGS.items()}
    sources = {"sources": [_source(each) for each in options["sources"]]} if "sources" in options else {}
    return {"tokenBudget": min(budget, MAX_TOKEN_BUDGET), **flags, **sources}


def _source(given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        return {"content": given, "tags": []}
    return {"content": given["content"], "tags": list(dict.fromkeys(given.get("tags", [])))}


def _sources_problems(sources: Any) -> Problems:
    if not isinstance(sources, list) or not 0 < len(sources) <= MAX_SOURCES:
        return [("sources", f"must be a list of 1 to {MAX_SOURCES:,} sources")]
    return [problem for number, each in enumerate(sources) for problem in _source_problems(f"sources[{number}]", each)]


def _source_problems(field: str, source: Any) -> Problems:
    if isinstance(source, str):
        return _content_problems(field, source)
    if not isinstance(source, dict):
        return [(field, "must be a text, or an object with its content")]
    return _content_problems(f"{field}.content", source.get("content")) + _tags_problems(
        f"{field}.tags", source.get("tags", [])
    )


def _content_problems(field: str, content: Any) -> Problems:
    if not isinstance(content, str) or not content or UNSTORABLE.search(content):
        return [(field, "must be a text without NUL or half a surrogate pair, and not empty")]
    if len(content.encode()) > MAX_CONTENT_BYTES:
        return [(field, f"is longer than {MAX_CONTENT_BYTES} bytes")]
    return []


def _tags_problems(field: str, tags: Any) -> Problems:
    if not isinstance(tags, list) or len(tags) > MAX_TAGS:
        return [(field, f"must be a list of at most {MAX_TAGS} tags")]
    if all(isinstance(tag, str) and len(tag) <= MAX_LABEL and not UNSTORABLE_IN_LABEL.search(tag) for tag in tags):
        return []
    return [(field, f"must be texts of at most {MAX_LABEL} characters without control characters")]
