"""The cells and badges of a list of entries. Functions, because an included template costs ten times as much."""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote
from uuid import UUID

from django import template
from django.utils.safestring import SafeString

from memory.host import ids
from memory.provenance import is_run_summary
from memory.templatetags.memory_words import away, is_soon, last_part, page_of
from memory.views.ledger import TABLE
from openwop_console.templatetags.console import (
    address_of,
    badge,
    icon_of,
    joined,
    markup,
    middle,
    shortened,
    show_bidi,
    time,
    whole_id,
)

if TYPE_CHECKING:
    from memory.models.address import EntryAddress
    from memory.models.entry import MemoryEntry

register = template.Library()
HOST = '<span class="badge" title="The host itself wrote this; no node, by design">{}host</span>'
NO_AGENT = SafeString('<span class="faint">no agent</span>')
SEALED = SafeString('<span class="muted">A sealed value</span>')
BLANK = SafeString('<span class="muted">Only spaces</span>')
TAG = '<a class="tag" href="{}?tag={}">{}</a>'
STATED = (
    '<span class="stated" title="{0}, stated by the agent: it ran elsewhere, and this host has not seen it">{1}</span>'
    '<span class="sub">{0}, stated by the agent</span>'
)
OVER_OPENINTENT = (
    '<span class="stated" title="{}, over OpenIntent: the agent wrote this itself, not a node of this host">'
    '<code>{}{}</code></span><span class="sub">over OpenIntent{}</span>'
)
UNATTRIBUTED = '<span class="badge badge-absent" title="The write named no node">{}unattributed</span>'
PLACE = (
    '<a class="badge" href="{}?namespace={}" title="Namespace and key: {} / {}">{}'
    '<span class="visually-hidden">Namespace and key: </span><bdi>{}</bdi>&nbsp;/&nbsp;<bdi>{}</bdi></a>'
    '<span class="badge" title="Its version over OpenIntent">v{}</span>'
)


ROW = """
              <tr data-item{gone}>{check}
                <td class="lead" hx-disable><div class="stack tight">
                  <a class="row-link clamp" href="{url}" title="{whole}" data-open dir="auto">{text}</a>
                  <span class="badges">{badges}{tags}</span>
                </div></td>{cells}
              </tr>"""
AGENT = '<td data-label="Agent and ref" title="{} · {}">{}<span class="sub mono">{}</span></td>'
WRITER = '<td data-label="Written by">{}<span class="sub">{}</span></td>'
CREATED, EXPIRES = (f'<td class="fit" data-label="{label}">{{}}</td>' for label in ("Created", "Expires"))
CHECK = (
    '<td class="check"><label><input type="checkbox" name="id" value="{}" data-check data-key="x" '
    'aria-label="Select {}"></label></td>'
)
TAGS_SHOWN, SHORT = 4, 32
# Of a text in a row, and before the first word that a search has found in it.
SHOWN, BEFORE = 280, 24


@register.simple_tag
def entry_heads(columns: Iterable[str] = tuple(TABLE)) -> SafeString:
    """Render the heads of the table of entries: the content, then these columns."""
    heads = (TABLE[each] for each in columns if each != "tags")
    return joined(markup('<th scope="col">{}</th>', head) for head in ("Content", *heads))


@register.simple_tag
def entry_rows(
    entries: "Iterable[MemoryEntry]",
    now: datetime,
    selectable: bool = False,
    columns: Iterable[str] = tuple(TABLE),
    sought: str = "",
) -> SafeString:
    """Render the rows of the ledger's table, with a checkbox when they are ``selectable``; the text of each from the
    first of the words that are ``sought`` in it."""
    table = _Table(now, selectable, frozenset(columns), _pattern(sought))
    return joined(map(table.row, entries))


class _Table:
    """The rows of one page. Marks that many entries share, such as a tag, an agent or a run, are rendered once."""

    def __init__(
        self, now: datetime, selectable: bool, columns: frozenset[str], sought: re.Pattern[str] | None
    ) -> None:
        self._now, self._selectable, self._columns, self._sought = now, selectable, columns, sought
        self._tag, self._agent, self._run = cache(_tag), cache(_agent_cell), cache(_run)
        self._badge, self._namespace = cache(badge), cache(_namespace)

    def row(self, entry: "MemoryEntry") -> SafeString:
        wire_id = ids.wire("mem", entry.id)
        whole = SafeString("") if entry.sealed else markup("{}", show_bidi(shortened(entry.in_one_line, SHOWN)))
        said = _excerpt(entry.in_one_line, self._sought) if self._sought else whole
        return markup(
            ROW,
            gone=SafeString(' class="gone"') if entry.retired_at else "",
            check=markup(CHECK, wire_id, _entry_name(entry)) if self._selectable else "",
            url=page_of(wire_id),
            whole=whole,
            text=SEALED if entry.sealed else BLANK if entry.content.isspace() else said,
            badges=_badges(entry, self._now, self._badge, self._namespace),
            tags=self._tags(entry) if "tags" in self._columns else "",
            cells=joined(self._cells(entry)),
        )

    def _tags(self, entry: "MemoryEntry") -> SafeString:
        named = [tag for tag in entry.tags if tag != entry.derived]  # its badge says the same word
        rest = len(named) - TAGS_SHOWN
        tags = [self._tag(tag) for tag in named[:TAGS_SHOWN]]
        return joined([*tags, *([markup('<span class="tag">+{}</span>', rest)] if rest > 0 else [])])

    def _cells(self, entry: "MemoryEntry") -> Iterator[SafeString]:
        if "agent" in self._columns:
            yield self._agent(entry.agent_id, entry.memory_ref)
        if "writer" in self._columns:
            yield markup(WRITER, writer(entry), self._run(entry.run_id))
        if "created" in self._columns:
            yield markup(CREATED, time(entry.created_at, self._now, show="relative"))
        if "expires" in self._columns:
            yield markup(EXPIRES, time(entry.expires_at, self._now, show="relative", ahead=True))


def _pattern(sought: str) -> re.Pattern[str] | None:
    """What begins with one of the words of a search, or nothing without a word."""
    words = sorted(set(re.findall(r"\w{2,}", sought)), key=len, reverse=True)
    return re.compile(rf"\b((?:{'|'.join(words)})\w*)", re.IGNORECASE) if words else None


def _excerpt(content: str, sought: re.Pattern[str]) -> SafeString:
    """The text from shortly before the first word that was found, with each marked; from its start without one."""
    found = sought.search(content)
    if not found:
        return markup("{}", show_bidi(shortened(content, SHOWN)))
    place = found.start()
    start = content.find(" ", place - BEFORE, place) + 1 or place - BEFORE if place > 2 * BEFORE else 0
    shown = shortened(content[start:], SHOWN)
    parts = [
        markup("<mark>{}</mark>" if odd % 2 else "{}", show_bidi(part)) for odd, part in enumerate(sought.split(shown))
    ]
    return joined([SafeString("…"), *parts] if start else parts)


def _tag(tag: str) -> SafeString:
    return markup(TAG, address_of("memory"), quote(tag, safe=""), show_bidi(shortened(tag, 40)))


def _agent_cell(agent_id: str, memory_ref: str) -> SafeString:
    agent, ref = show_bidi(agent_id), show_bidi(memory_ref)
    said = markup('<code class="small">{}</code>', show_bidi(middle(last_part(agent_id), 18))) if agent_id else NO_AGENT
    return markup(AGENT, agent or "no agent", ref, said, show_bidi(middle(memory_ref, 28)))


def _run(run_id: UUID) -> SafeString:
    run = ids.wire("run", run_id)
    return whole_id(run, url=page_of(run), width=13, copy="no")


def _entry_name(entry: "MemoryEntry") -> object:
    if entry.sealed or entry.content.isspace():
        return "a sealed value" if entry.sealed else "an entry of only spaces"
    return show_bidi(shortened(entry.in_one_line, 80))


@register.simple_tag
def entry_badges(entry: "MemoryEntry", now: datetime) -> SafeString:
    """Render the badges of an entry; one of OpenIntent shows its tier and version too."""
    return _badges(entry, now, badge, _namespace)


def _badges(
    entry: "MemoryEntry",
    now: datetime,
    badge: Callable[..., SafeString],
    namespace: Callable[[str], tuple[str, SafeString, SafeString]],
) -> SafeString:
    badges = [*(_address_badges(entry.address, badge, namespace) if entry.address else ())]
    if entry.retired_kind:
        hint = "A pass hid it from reads; can be restored for a while"
        badges.append(badge(entry.retired_kind, label=away(entry.retired_kind), title=hint))
    elif entry.retired_at:
        badges.append(badge("retired", title="Hidden from reads; can be restored"))
    if entry.derived:
        badges.append(badge(entry.derived, tone="info", icon="combine", title="A pass made this of other entries"))
    if entry.protected and not (entry.address and entry.address.pinned):
        badges.append(badge("protected", title="No pass removes it"))
    if entry.redactions:
        badges.append(badge("redacted", title="A secret was replaced when this was written"))
    if entry.secret_shapes:
        hint = "Something in it looks like a secret that the vault does not know"
        badges.append(badge("secret-shaped", tone="warn", icon="key-round", title=hint))
    if is_soon(entry.expires_at, now):
        badges.append(badge("expiring", label="expiring soon"))
    return joined(badges)


def _address_badges(
    at: "EntryAddress",
    badge: Callable[..., SafeString],
    namespace: Callable[[str], tuple[str, SafeString, SafeString]],
) -> Iterator[SafeString]:
    yield badge(at.tier, title="The tier of OpenIntent that it is in")
    (wanted, whole, short), key = namespace(at.namespace), show_bidi(at.key)
    cut = key if len(at.key) <= SHORT else show_bidi(shortened(at.key, SHORT))
    yield markup(PLACE, address_of("memory"), wanted, whole, key, icon_of("braces"), short, cut, at.version)
    if at.pinned:
        yield badge("pinned", title="Never evicted, and no pass removes it")
    if at.priority_word != "normal":
        yield badge(at.priority_word, label=f"{at.priority_word} priority", title="What is evicted first, and last")
    if at.sensitivity:
        yield badge(at.sensitivity, title="How sensitive its writer says it is")
    if at.is_sealed:
        yield badge("sealed", title="Its value is kept encrypted and is shown only to operators")


def _namespace(name: str) -> tuple[str, SafeString, SafeString]:
    """Return the namespace for an address, in full, and shortened for a row."""
    return quote(name, safe=""), markup("{}", show_bidi(name)), markup("{}", show_bidi(shortened(name, SHORT)))


@register.simple_tag
def writer(entry: "MemoryEntry") -> SafeString:
    """Render who wrote an entry, never blank. In a row of one line the mark alone tells an agent, and a node that an
    agent states, from a node that this host has executed."""
    if entry.origin:
        node = entry.origin.node or entry.agent_id
        system, name = show_bidi(shortened(entry.origin.system, 40)), show_bidi(shortened(node, 60))
        mark = icon_of("bot", "stated by the agent: ")
        return markup(
            STATED, system, markup("<code>{}{}</code>", mark, name) if node else SafeString("an agent elsewhere")
        )
    if entry.address:
        name = entry.address.created_by or entry.agent_id
        task = "" if entry.node_id == "openintent" else ", in a task"
        mark, short = icon_of("bot", "agent, over OpenIntent: "), show_bidi(middle(last_part(name), 24))
        return markup(OVER_OPENINTENT, show_bidi(name), mark, short, task)
    if entry.node_id:
        return markup("<code>{}</code>", show_bidi(entry.node_id))
    if entry.run.system or is_run_summary(entry.run, entry.tags):
        return markup(HOST, icon_of("server"))
    return markup(UNATTRIBUTED, icon_of("circle-question-mark"))


@register.simple_tag
def written_by(entry: "MemoryEntry") -> SafeString:
    """Say in a sentence who wrote an entry: "by node plan of langgraph, stated by the agent"; blank where no node
    did."""
    name = markup("<code>{}</code>", show_bidi(middle(entry.origin.node if entry.origin else entry.node_id, 32)))
    if entry.origin:
        node = markup("by node {}", name) if entry.origin.node else SafeString("by an agent elsewhere")
        system = show_bidi(shortened(entry.origin.system, 40))
        return markup("{} of {}, stated by the agent", node, system) if system else markup("{}, stated", node)
    if entry.address:
        return SafeString("over OpenIntent")
    return markup("by node {}", name) if entry.node_id else SafeString("")
