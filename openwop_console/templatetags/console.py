"""Filters and tags of the console's templates: words for times and numbers, visible marks, and the geometry of charts.

Nothing here queries, and nothing declares text safe: what a filter returns is escaped like any other text. The clock is
read only when a page passes no ``now`` of its own.
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from django import template
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.text import slugify

from openwop_console import glossary, health
from openwop_console.templatetags import drawings

register = template.Library()

MINUTE, HOUR, DAY = 60, 3_600, 86_400
UNITS = (
    (730 * DAY, 365 * DAY, "y"),
    (60 * DAY, 30 * DAY, "mo"),
    (2 * DAY, DAY, "d"),
    (HOUR, HOUR, "h"),
    (0, MINUTE, "min"),
)

NAMED_CONTROLS = {
    0x00AD: "SHY", 0x061C: "ALM", 0x200B: "ZWSP", 0x200C: "ZWNJ", 0x200D: "ZWJ", 0x200E: "LRM", 0x200F: "RLM",
    0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO", 0x202E: "RLO", 0x2066: "LRI", 0x2067: "RLI",
    0x2068: "FSI", 0x2069: "PDI", 0xFEFF: "BOM",
}  # fmt: skip

BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Forms submit the content of these, and scripts read it, so it is left unchanged.
SENT_BACK = r"<textarea\b[^>]*>.*?</textarea>|<script\b[^>]*>.*?</script>|\svalue=\"[^\"]*\""
BIDI_OR_SENT_BACK = re.compile(f"({SENT_BACK})|[{BIDI}]", re.DOTALL)
SPECIAL = re.compile(r"[&<>\"']")
ANY_BIDI = re.compile(f"[{BIDI}]")

# Variation selectors, without those of emoji; their only practical use is to hide a text.
VARIATIONS = re.compile("[\ufe00-\ufe0d\U000e0100-\U000e01ef]")
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})

WORDS = {
    "good": {
        "circle-check": "satisfied completed applied installed current active fired healthy done erased present live "
        "delivered imported checked",
        "shield-check": "verified granted approved",
    },
    "info": {
        "loader": "running cancelling started checking importing registering draining",
        "merge": "merged",
        "archive-restore": "archived-from",
        "pencil": "revised",
        "calendar-clock": "armed",
        "repeat": "rebuild",
        "circle-dot": "open written",
    },
    "warn": {
        "triangle-alert": "degraded stale suspected unhealthy",
        "shield-alert": "untrusted confidential restricted",
        "hourglass": "expiring waiting waiting-approval waiting-input waiting-external",
        "pencil": "changes-requested",
        "history": "overtaken",
        "clock": "due",
        "layers": "shared",
        "archive": "withdraw withdrawn",
    },
    "bad": {
        "circle-x": "failed rejected refused dead",
        "triangle-alert": "overdue",
        "shield-x": "residue broken revoked",
        "shield-alert": "overridden",
        "eraser": "erase",
    },
    "neutral": {
        "circle-slash": "retired superseded void deregistered",
        "eye-off": "redacted unobservable",
        "ban": "cancelled",
        "archive": "archived",
        "pencil": "draft",
        "clock": "pending",
        "hourglass": "expired ephemeral dormant",
        "circle-pause": "paused suspended snoozed",
        "eraser": "forgotten",
        "circle-dashed": "possible unknown unverified unattributed",
        "lock": "stays protected pinned",
        "key-round": "sealed",
        "zap": "working",
        "history": "episodic",
        "brain": "semantic",
    },
}
# States that read as words beside the code that the API has for them; any other reads as it is.
LABELS = {
    "granted": "approved",
    "changes-requested": "changes requested",
    "waiting-approval": "waiting for approval",
    "waiting-input": "waiting for input",
    "waiting-external": "waiting for an event",
    "archived-from": "archived from",
}
COPY = '<button class="copy needs-script" type="button" data-copy="{}" aria-label="Copy {}" title="Copy">{}</button>'
BUTTON = '<button type="button" data-set="{}" data-value="{}" aria-pressed="{}">{}</button>'
FACET_OPTION = (
    '<li><label><input id="facet-{}-{}" type="{}" name="{}" value="{}"{}><span title="{}">{}</span>{}{}</label></li>'
)
LOOKS = {word: (tone, icon) for tone, icons in WORDS.items() for icon, words in icons.items() for word in words.split()}


def markup(form: str, *values: object, **named: object) -> SafeString:
    """Fill in ``form``, escaping each value that is not safe already: ``format_html`` at a third of its cost, for every
    row of a list."""
    if named:
        return SafeString(form.format(**{name: _escaped(each) for name, each in named.items()}))
    return SafeString(form.format(*map(_escaped, values)))


def _escaped(value: object) -> str:
    if isinstance(value, SafeString):
        return value
    text = str(value)
    return html.escape(text) if SPECIAL.search(text) else text


def joined(parts: Iterable[SafeString]) -> SafeString:
    return SafeString("".join(parts))


@register.simple_tag(name="icon")
@lru_cache(maxsize=512)
def icon_of(name: str, label: str = "") -> SafeString:
    """Render one icon of the sprite, hidden from assistive technology unless it has a ``label``."""
    said = markup('role="img" aria-label="{}"', label) if label else markup('aria-hidden="{}"', "true")
    return markup('<svg class="icon" {}><use href="{}#{}"/></svg>', said, static("icons.svg"), name)


# Badges, times and ids are in every row of every list, so they are functions: an included template costs ten times as
# much.


@register.simple_tag
def badge(word: object, label: object = "", title: object = "", tone: str = "", icon: str = "") -> SafeString:
    """Render a state in one word, with the icon and tone that the word has everywhere (``WORDS``).

    ``label`` says the same state with more ("degraded (2)"); without it the words are those of ``state_words``.
    ``title`` is a sentence on hover; it must not be the only place for what it says. ``tone`` (neutral, info, good,
    warn, bad) and ``icon`` are for a word outside the table.
    """
    usual, drawn = LOOKS.get(str(word), ("neutral", ""))
    hover = markup(' title="{}"', title) if title else ""
    mark = icon_of(icon or drawn) if icon or drawn else ""
    return markup('<span class="badge badge-{}"{}>{}{}</span>', tone or usual, hover, mark, label or state_words(word))


@register.filter
def state_words(word: object) -> str:
    """Return how every page calls the state that the API calls ``word``."""
    return LABELS.get(str(word), str(word))


@register.simple_tag
def time(
    at: datetime | None,
    now: datetime | None = None,
    show: str = "both",
    ahead: bool = False,
    absent: str = "never",
) -> SafeString:
    """Render an instant. The script turns the UTC text into local time on request, and keeps "3 h ago" current.

    ``show`` is ``both`` ("3 h ago, 2025-11-20 14:20 UTC"), ``relative`` (the absolute in the title, for tables) or
    ``absolute`` (the relative in the title). ``ahead`` is for a moment to come ("in 3 h"); ``absent`` is the word when
    there is no instant.
    """
    if not at:
        return markup('<span class="faint">{}</span>', absent)
    away = (until if ahead else ago)(at, now or None)
    title, inner = away, f'<span class="time-ago">{away}</span>'
    if show == "relative":
        title = stamp(at, "seconds")
    elif show == "absolute":
        inner = f'<span class="time-at" data-seconds>{stamp(at, "seconds")}</span>'
    else:
        inner += f'<span class="time-beside">, <span class="time-at">{stamp(at)}</span></span>'
    return SafeString(f'<time class="time" datetime="{iso(at)}" title="{title}">{inner}</time>')


@register.simple_tag(name="id")
def whole_id(id: object, url: str = "", width: int = 15, copy: str = "yes") -> SafeString:  # noqa: A002
    """Render an id, ref or digest in the monospace face, shortened in the middle; the text keeps the whole id.

    ``url`` is the permalink of what it names. A digest reads well at a ``width`` of 19, a ref at 28. ``copy`` is ``no``
    where no copy button is wanted.
    """
    cut = pieces(id, width)
    hidden = (
        markup('<span class="id-middle" aria-hidden="true">{}</span>{}', cut.middle, cut.tail) if cut.middle else ""
    )
    code = markup("<code>{}{}</code>", cut.head, hidden)
    shown = markup('<a href="{}">{}</a>', url, code) if url else code
    button = "" if copy == "no" else markup(COPY, id, middle(id), icon_of("copy"))
    return markup('<span class="id" title="{}">{}{}</span>', id, shown, button)


@lru_cache
def address_of(name: str) -> str:
    """Return the address of a page without arguments; cached, because the lookup costs more than rendering its link."""
    return reverse(name)


@register.simple_tag
def nav_link(name: str, label: str, icon: str, current: str = "", count: object = "", sub: bool = False) -> SafeString:
    """Render one link of the navigation, with the number of waiting items. ``sub`` marks a link under the one above
    it."""
    return markup(
        '<li{}><a href="{}"{}>{}{}{}</a></li>',
        SafeString(' class="sub"') if sub else "",
        address_of(name),
        SafeString(' aria-current="true"') if name == current else "",
        icon_of(icon),
        label,
        markup(' <span class="count">{}</span>', count) if count else "",
    )


@register.simple_tag
def term(word: str, label: str = "") -> SafeString:
    """Render a word of the glossary as a link to its place there, with its meaning as the tooltip.

    ``label`` is what the page says in place of the word.
    """
    where = f"{address_of('glossary')}#term-{slugify(word)}"
    return markup('<a class="term" href="{}" title="{}">{}</a>', where, glossary.meanings()[word], label or word)


@register.simple_tag
def worker_missing() -> bool:
    """Return whether work that waits has no worker to do it."""
    return not health.is_worker_alive()


@register.simple_tag
def switch(name: str, label: str, current: str, choices: str) -> SafeString:
    """Render a preference of this browser: ``name`` is theme, density, clock or shortcuts, ``choices`` are
    "value:Word,value:Word".

    The script stores it in the cookie of that name; without scripts it is hidden and the server's default applies.
    """
    offered = [choice.partition(":") for choice in choices.split(",")]
    buttons = (markup(BUTTON, name, value, "true" if value == current else "false", word) for value, _, word in offered)
    return markup('<div class="switch needs-script" role="group" aria-label="{}">{}</div>', label, joined(buttons))


@register.simple_tag
def facet_options(name: str, kind: str, options: Iterable[object]) -> SafeString:
    """Render the choices of a facet: each with ``value``, ``label``, ``selected``, and optionally ``count``
    (``is_bound``: or more) and ``plain``, an explanation of the label."""
    return joined(_facet_option(name, kind, each, place) for place, each in enumerate(options, 1))


def _facet_option(name: str, kind: str, option: Any, place: int) -> SafeString:
    plain, count = getattr(option, "plain", ""), getattr(option, "count", None)
    bound = "+" if count and getattr(option, "is_bound", False) else ""
    return markup(
        FACET_OPTION,
        name,
        place,
        kind,
        name,
        option.value,
        SafeString(" checked") if option.selected else "",
        getattr(option, "title", "") or option.label,
        option.label,
        markup("<small>{}</small>", plain) if plain else "",
        "" if count is None else markup("<output>{}{}</output>", thousands(count), bound),
    )


@register.simple_tag
def menu_options(options: Iterable[Any]) -> SafeString:
    """Render the choices of a long menu: their ``value``, ``label``, ``selected`` and ``count`` (``is_bound``: or
    more)."""
    usual, chosen = '<option value="{}">{}{}</option>', '<option value="{}" selected>{}{}</option>'
    return joined(markup(chosen if each.selected else usual, each.value, each.label, _behind(each)) for each in options)


SUGGESTED = 30


@register.simple_tag
def menu_suggestions(options: Iterable[Any]) -> SafeString:
    """Render the first of them as suggestions of a field, each with its ``count``, that which is chosen left out."""
    offered = [each for each in options if each.value and not each.selected][:SUGGESTED]
    return joined(
        markup('<option value="{}">{}</option>', each.value, _behind(each).strip(" ()") or each.value)
        for each in offered
    )


def _behind(option: Any) -> str:
    return "" if option.count is None else f" ({thousands(option.count)}{'+' if option.is_bound else ''})"


@register.filter
def thousands(number: int | None) -> str:
    """Format as ``12,304``; None is *unknown*, never 0."""
    return "unknown" if number is None else f"{number:,}"


@register.filter
def at_most(number: int, most: int = 10_000) -> str:
    """Format as ``10,000+`` a number that was counted no further."""
    return f"{most:,}+" if number > most else thousands(number)


@register.filter
def counted(number: int, noun: str) -> str:
    """Return the plural ``noun``, made singular when ``number`` is 1: ``entries`` becomes ``entry``."""
    return " ".join(map(_singular, noun.split())).replace(" and ", " or ") if number == 1 else noun


def _singular(word: str) -> str:
    endings = (("ies", "y"), ("sses", "ss"), ("s", ""))
    return next((word.removesuffix(end) + one for end, one in endings if word.endswith(end)), word)


@register.filter
def number(value: object) -> str:
    """Format an integer with thousands separators; anything else is ""."""
    return f"{value:,}" if isinstance(value, int) else ""


@register.filter
def at_line(by_line: Mapping[int, object], line: int) -> object:
    """Return the value at the line, or None."""
    return by_line.get(line)


@register.filter
def percent(share: float) -> str:
    """Format as ``73 %``; a share just above 0 or below 1 is never rounded to 0 % or 100 %."""
    whole = share * 100
    return "< 1 %" if 0 < whole < 1 else "> 99 %" if 99 < whole < 100 else f"{whole:.0f} %"


@register.filter
def elapsed(length: timedelta | float | None) -> str:
    """Format a duration in its two largest units: ``850 ms``, ``34 s``, ``2 min 14 s``, ``1 h 5 min``."""
    if length is None:
        return "unknown"
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    minutes, rest = divmod(round(seconds), MINUTE)
    units = ((minutes // 60, "h"), (minutes % 60, "min")) if minutes >= MINUTE else ((minutes, "min"), (rest, "s"))
    return " ".join(f"{number:,} {unit}" for number, unit in units if number)


def iso(moment: datetime | None) -> str:
    """Return the machine-readable instant in UTC, for ``<time datetime>``."""
    return "" if moment is None else f"{moment.astimezone(UTC).isoformat(timespec='milliseconds')[:-6]}Z"


@register.filter
def stamp(moment: datetime | None, precision: str = "minutes") -> str:
    """Return the instant as ``2025-11-20 14:20 UTC``; ``precision`` may be ``seconds``."""
    if moment is None:
        return "never"
    return f"{moment.astimezone(UTC).isoformat(' ', precision)[:-6]} UTC"


def ago(moment: datetime | None, now: datetime | None = None) -> str:
    """Format as ``3 h ago``; within a minute, or slightly in the future by a skewed clock, as ``just now``."""
    if moment is None:
        return "never"
    ahead = (moment - (now or timezone.now())).total_seconds()
    return "just now" if abs(ahead) < MINUTE else relative(ahead)


@register.filter
def until(moment: datetime | None, now: datetime | None = None) -> str:
    """Format as ``in 3 h``; a past moment as ``3 h ago``."""
    if moment is None:
        return "never"
    ahead = (moment - (now or timezone.now())).total_seconds()
    return "in less than 1 min" if 0 <= ahead < MINUTE else "just now" if -MINUTE < ahead < 0 else relative(ahead)


def relative(ahead: float) -> str:
    """Format a distance in seconds as one unit, rounded from days on; negative is the past. console.js does the
    same."""
    size, unit = next((size, unit) for threshold, size, unit in UNITS if abs(ahead) >= threshold)
    count = round(abs(ahead) / size) if size >= DAY else int(abs(ahead) // size)
    return f"in {count:,} {unit}" if ahead > 0 else f"{count:,} {unit} ago"


@dataclass(frozen=True)
class Pieces:
    """A text cut in three; the middle part is not shown."""

    head: str
    middle: str
    tail: str


@register.filter
def pieces(text: object, width: int = 15) -> Pieces:
    """Cut an id in three parts that join to the whole id, so that a selection copies all of it."""
    whole = str(text)
    if len(whole) <= width + 1:
        return Pieces(whole, "", "")
    tail = (width - 1) * 3 // 7
    head = width - 1 - tail
    return Pieces(whole[:head], whole[head:-tail], whole[-tail:])


@register.filter
def middle(text: object, width: int = 15) -> str:
    """Shorten an id in the middle to ``width`` characters: ``run_019a…d4e5f6``."""
    cut = pieces(text, width)
    return f"{cut.head}…{cut.tail}" if cut.middle else cut.head


@register.filter
def shortened(text: object, width: int) -> str:
    """Shorten the text to at most ``width`` characters, the last of them an ellipsis if it was cut."""
    whole = str(text)
    return whole if len(whole) <= width else f"{whole[: width - 1]}…"


def with_visible_bidi(page: str) -> str:
    """Replace each bidirectional control of the page with a visible mark, in text, option labels and attributes.

    Values that a form submits keep their characters.
    """
    if not ANY_BIDI.search(page):
        return page
    return BIDI_OR_SENT_BACK.sub(lambda found: found[1] or show_bidi(found[0]), page)


@register.filter
def show_bidi(text: object) -> str:
    """Replace each control, bidirectional and invisible character with a visible mark: ``⟦RLO U+202E⟧``."""
    whole = str(text)
    # Printable text has no controls or separators, and of the other characters only variations can hide a text.
    if whole.isprintable() and (whole.isascii() or not VARIATIONS.search(whole)):
        return whole
    return "".join(visible(whole, place) for place in range(len(whole)))


def visible(text: str, place: int) -> str:
    """Return the character at ``place``, or its mark when it is invisible."""
    character = text[place]
    if character in "\n\t" or (character == "\r" and text[place + 1 : place + 2] == "\n"):
        return character
    if not (VARIATIONS.match(character) or unicodedata.category(character) in UNSEEN) or joins(text, place):
        return character
    name = NAMED_CONTROLS.get(ord(character), "")
    return f"⟦{name}{' ' if name else ''}U+{ord(character):04X}⟧"


def joins(text: str, place: int) -> bool:
    """Return whether a zero-width joiner is legitimate here: between two characters of a script or emoji that uses
    one."""
    around = text[max(place - 1, 0) : place] + text[place + 1 : place + 2]
    return text[place] in "\u200c\u200d" and len(around) == 2 and all(ord(character) > 0x2FF for character in around)


@dataclass(frozen=True)
class Step:
    """One step of a flow, as the step indicator shows it."""

    number: int
    name: str
    state: str


@register.filter
def steps(names: str, current: str) -> list[Step]:
    """Return the comma-separated ``names`` as steps: done before ``current``, to do after it."""
    listed = [name.strip() for name in names.split(",")]
    here = listed.index(current)
    states = ["done"] * here + ["current"] + ["todo"] * (len(listed) - here - 1)
    return [Step(number, name, state) for number, (name, state) in enumerate(zip(listed, states, strict=True), start=1)]


register.filter(drawings.bars)
register.filter(drawings.strip)
register.simple_tag(drawings.lineage)
