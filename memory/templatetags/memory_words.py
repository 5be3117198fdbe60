"""What the pages of memory say in a word: wire ids, and whether something is about to expire."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from uuid import UUID

from django import template
from django.urls import reverse

from memory.host import cron, ids, registry
from memory.host.tenancy import Principal

register = template.Library()
SOON = timedelta(hours=24)
PAGES = {
    "arc": "archive",
    "cmt": "commitment",
    "fgt": "forget-request",
    "hld": "forget-hold",
    "mem": "memory-entry",
    "pass": "pass",
    "prop": "proposal",
    "run": "run",
    "whk": "webhook",
}
# The permission that each of these pages needs.
READERS = {
    "arc": "memory:read",
    "artifact": "artifacts:read",
    "cmt": "memory:read",
    "fgt": "memory:forget",
    "hld": "memory:forget",
    "mem": "memory:read",
    "pass": "memory:read",
    "prop": "proposals:read",
    "run": "runs:read",
    "whk": "webhooks:manage",
}


@register.filter
def wire(value: UUID, prefix: str) -> str:
    """The id as it leaves the host: ``mem_<32 hex>``."""
    return ids.wire(prefix, value)


def is_soon(moment: datetime | None, now: datetime) -> bool:
    """Whether ``moment`` comes within a day."""
    return moment is not None and moment - now < SOON


@register.filter
def cron_in_words(expression: str) -> str:
    """A cron expression as people would say it."""
    return cron.in_words(expression)


@register.filter
def last_part(name: str) -> str:
    """A dotted name by its last part, where names differ: ``…researcher`` of ``private.acme.researcher``."""
    last = name.rpartition(".")[2]
    return f"…{last}" if last and last != name else name


@register.filter
def away(kind: str) -> str:
    """What a pass did with an entry that it took away, in a word."""
    return kind if kind == "superseded" else f"{kind} away"


@register.filter
def name_for(names: Mapping[str, str], principal: str) -> str:
    """What the principal is called, or nothing when that is unknown."""
    return names.get(principal, "")


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of an audit record as people read it: a text, or ``parts`` of which ``empty`` more say nothing.

    ``stored`` is the text as the record has it.
    """

    label: str
    text: str = ""
    stored: str = ""
    parts: Sequence[tuple[str, str]] = ()
    empty: int = 0


@register.filter
def fact_rows(names: Mapping[str, str], facts: Mapping[str, object]) -> list[Fact]:
    """The facts of an audit record, with principals called by their names. They are in the order of their own names:
    PostgreSQL does not keep that of a record."""
    return [_fact(names, _spaced(name), value) for name, value in sorted(facts.items())]


def _fact(names: Mapping[str, str], label: str, value: object) -> Fact:
    if not isinstance(value, dict) or not any(isinstance(each, dict) for each in value.values()):
        return Fact(label, _plain(names, value), value if isinstance(value, str) else "")
    parts = [(name, text) for name, each in sorted(value.items()) if (text := _plain(names, each))]
    return Fact(label, "" if parts else "none", parts=parts, empty=len(value) - len(parts))


@register.filter
def gist(names: Mapping[str, str], facts: Mapping[str, object]) -> str:
    """What stands for a record while its details are folded: its reason, its decision, its tool, how much was stored,
    or the first fact that says something and is neither an id nor a digest."""
    for name in ("reason", "decision", "tool"):
        if text := facts.get(name):
            return _plain(names, text)
    for name, value in sorted(facts.items(), key=lambda fact: (fact[0] != "stored", fact[0])):
        if isinstance(value, str | int) and value and not _NAMING.search(name):
            return f"{_spaced(name)} {_plain(names, value)}"
    return ""


# Names of facts that hold an id, a reference or a digest.
_NAMING = re.compile("(Id|Ref|Key|Sha256)$|^sha256")


def _spaced(name: str) -> str:
    """A name in camelCase as words: ``leftAfter`` becomes "left after"."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: f" {found[1].lower()}", name).replace("_", " ")


def _plain(names: Mapping[str, str], value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{_spaced(name)} {_plain(names, each)}" for name, each in sorted(value.items()) if each)
    if isinstance(value, list):
        return ", ".join(_plain(names, each) for each in value)
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return names.get(value, value) if isinstance(value, str) else str(value)


@register.filter
def pass_noun(kind: str) -> str:
    """What a pass of this kind is called: ``consolidate`` is a consolidation."""
    nouns = {"consolidate": "Consolidation", "distill": "Distillation", "compact": "Compaction"}
    return nouns.get(kind, kind.capitalize())


@register.filter
def named_run(names: Mapping[UUID, str], run_id: UUID) -> str:
    """What the run is called, or nothing when it is one like any other."""
    return names.get(run_id, "")


@register.filter
def agents_of(acting: Mapping[UUID, list[str]], run_id: UUID) -> list[str]:
    """The agents that acted in the run."""
    return acting.get(run_id, [])


@register.filter
def moment_of(moments: Mapping[UUID, datetime], row_id: UUID) -> datetime | None:
    """The moment shown for the row, if any."""
    return moments.get(row_id)


@register.filter
def page_for(wire_id: str, principal: Principal) -> str:
    """``page_of`` when the principal may read that page, else nothing."""
    needed = READERS.get("artifact" if registry.is_ref(wire_id) else wire_id.partition("_")[0], "")
    return page_of(wire_id) if needed in principal.scopes else ""


@register.filter
def page_of(wire_id: str) -> str:
    """The address of what the wire id, or the ref of an artifact, names, or nothing when it has no page."""
    if registry.is_ref(wire_id):
        return reverse("artifact", args=[wire_id])
    prefix = wire_id.partition("_")[0]
    if prefix not in PAGES or not ids.parse(prefix, wire_id):
        return ""
    before, after = _around_id(PAGES[prefix])
    return f"{before}{wire_id}{after}"


@lru_cache
def _around_id(page: str) -> tuple[str, str]:
    """The parts of a page's address before and after the id: reversing the URL for every row takes long."""
    before, _, after = reverse(page, args=["~"]).partition("~")
    return before, after
