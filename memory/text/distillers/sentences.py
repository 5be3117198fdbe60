"""A text as what an archive may keep of it: its sentences, and each block of code as a whole.

Headings, tags and badges that stand alone, and half a block of code are none of it. What a JSON document says stands in
its texts; one without any is kept as it is.
"""

import re
from collections.abc import Iterator

from memory.text import json_texts

# A run of stops is looked at once, from its beginning: no text takes more than a moment.
ENDS = re.compile(r"(?<![.!?…])[.!?…]++[\"'\u201d\u2019»)\]]*+(?=\s)|[。\uff01\uff1f｡]+[」』\u201d\u2019\uff09]*|\n\s*")
MARK = re.compile(r"\[REDACTED:[^\]]*\]")
BULLET = re.compile(r"(?:[-*+•‣\u2013>]|#{1,6}|\(?\d{1,3}[.)]|\(?[a-z]\))\s+(?:\[[ xX]\]\s+)?")
LETTER = re.compile(r"[^\W_]")
LAST_WORD = re.compile(r"\S+\Z")
WRAPPED = 40

# Never the end of a sentence; the second never before a digit.
# ruff: noqa: SIM905 -- a list of words is read as words, without quotes
TITLES = frozenset(
    "mr mrs ms mx dr prof st sr rev gen sen rep hon e.g i.e cf vs viz approx ca bzw z.b d.h u.a nr tel fig figs sec "
    "ch vol pp ed eds al messrs mme mlle".split()
)
BEFORE_DIGITS = frozenset("no nos art jan feb mar apr jun jul aug sep sept oct nov dec p".split())

# Markdown: a fence, lines in from the margin behind a blank one, headings, and a comment or tags that fill their lines.
FENCES = ("```", "~~~")
MARKS = (*FENCES, "\n    ", "\n\t", "\n#", "<", "\n===", "\n---")
BLOCK = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})(?P<info>[^\n`]*)(?:\n|\Z)"
    r"|(?:\A|(?<=\n\n))(?P<indented>(?:(?: {4}|\t)(?![ \t]*(?:```|~~~))[^\n]*+(?:\n|\Z)|[ \t]*\n)++)"
    r"|^(?P<heading>(?:#{1,6}[ \t]++[^\n]*(?:\n|\Z))++)"
    r"|(?:\A|(?<=\n\n))(?P<underlined>[^\s#>*|`-][^\n]{0,79})\n(?P<line>={3,}|-{3,})[ \t]*(?:\n|\Z)"
    r"|^[ \t]*<!--.*?(?:-->|\Z)"
    r"|^[ \t]*(?:</?[A-Za-z][\w-]*(?:\s[^<>]*+)?/?>[ \t]*+)++$",
    re.MULTILINE | re.DOTALL,
)
BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")
FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})(?P<info>[^\n`]*)$", re.MULTILINE)
MARKUP = "<![.:`~"
SAID, CODE, HEADING = "said", "code", "heading"
LINE_OF_CODE = re.compile(
    r"[{};,(\[\\]\s*$|\w\([^)]*\)\s*:?\s*$|^\s*(?:[$%>]|>>>|#\w|//|@\w|[}\])]|<[/\w])|[=!<>+-]=|[-=]>|::|\w = \S|&&"
    r"|^\s*(?:import|from|def|class|return|if|elif|else|for|while|try|except|with|pass|raise|print|sudo|pip|git|npm)\b"
    r"[^.]*[:)\w]?$"
)
TAGS_ALONE = re.compile(
    r"</?[A-Za-z][\w-]*(?:\s[^<>]*+)?/?>|!\[[^\]]{0,500}\](?:\([^)]{0,500}\)|\[[^\]]{0,500}\])?"
    r"|\]\([^)]{0,500}\)|\]\[[^\]]{0,500}\]"
    r"|\A\[[^\]]*\]:\s*<?\w+:\S+\s*\Z|\A\.\. (?:\|[^|]*\| )?image::\s*\S+|\A:(?:target|alt|width|height|align):.*"
)


def split(text: str) -> list[str]:
    """What may be kept of ``text``, in its order. Without a letter or digit it is left out."""
    if text[:1] in ("{", "["):
        said = json_texts.paragraphs(text)
        if said is not None:
            return [sentence for each in said for sentence in split(each)]
        if json_texts.is_document(text):
            return [text] if LETTER.search(text) else []
    if "\n" in text and (text[:1] in "# \t" or any(mark in text for mark in MARKS)):
        return _split_marked(text)
    return _sentences(text)


def is_block(kept: str) -> bool:
    """Whether this is code, which shares no line with a sentence."""
    return kept[0] in " \t" or ("\n" in kept and any(fence in kept for fence in FENCES))


def _split_marked(text: str) -> list[str]:
    """The sentences between the blocks, and the blocks of code. What is nothing but headings says what they say."""
    found: list[str] = []
    headings: list[str] = []
    for piece, kind, at in _pieces(text):
        if kind == HEADING:
            headings.append(piece)
        elif kind == CODE:
            lead = found.pop() if found and found[-1].endswith(":") else ""  # it says nothing without the block
            begins = text.rfind(lead, 0, at) if lead else at
            found += [text[begins : at + len(piece)]] if LETTER.search(piece) else []
        else:
            found += _sentences(piece)
    return found or [sentence for each in headings for sentence in _sentences(each)]


def _pieces(text: str) -> Iterator[tuple[str, str, int]]:
    """The parts of a text in their order, what each is, and where it begins; markup that says nothing is left out."""
    start = 0
    block = BLOCK.search(text)
    while block is not None:
        before, end = text[start : block.start()], block.end()
        if block["fence"]:
            fence, info = block["fence"], block["info"].strip()
            following = FENCE.search(text, end)
            is_rest = not info and (following is None or following["info"].strip())
            closing = re.compile(rf"^[ \t]*{fence}{fence[0]}*[ \t]*(?:\n|\Z)", re.MULTILINE)
            closed = None if is_rest else closing.search(text, end)
            if closed or info or not _is_code(before):  # what comes before the end of a block may be its rest
                yield before, SAID, start
            end = closed.end() if closed else len(text) if info else end
            yield text[block.start("fence") : end].rstrip() if closed else "", CODE, block.start("fence")
            start = end
        elif _is_block(block):
            yield before, SAID, start
            if block["indented"]:
                code = BLANK_LINES.sub("", block["indented"])
                yield code.rstrip(), CODE, end - len(code)
            elif block["heading"] or block["underlined"]:
                yield block["heading"] or block["underlined"], HEADING, block.start()
            start = end
        block = BLOCK.search(text, end)
    yield text[start:], SAID, start


def _is_block(block: re.Match[str]) -> bool:
    """Whether these lines are what they look like; else they are read as sentences."""
    if block["indented"]:
        return _is_code(block["indented"])
    if block["underlined"]:
        return len(block["line"]) >= len(block["underlined"]) // 2
    return not block["heading"] or _is_heading(block["heading"])


def _is_code(lines: str) -> bool:
    """Whether at least half of the lines look like code; what is printed in from the margin may be prose."""
    filled = [line for line in lines.split("\n") if line.strip()]
    return 0 < len(filled) <= 2 * sum(1 for line in filled if LINE_OF_CODE.search(line))


def _is_heading(lines: str) -> bool:
    """Whether these are headings: lines of one level that follow each other are comments, and a sentence is a note."""
    levels = [line.partition(" ")[0] for line in lines.strip().split("\n")]
    return len(set(levels)) == len(levels) and not lines.rstrip().endswith((".", "!", "?", ";", ","))


def _sentences(text: str) -> list[str]:
    found = ENDS.search(text)
    if found is None:
        return _clean([text])
    marks = [mark.span() for mark in MARK.finditer(text)] if "[REDACTED:" in text else []
    shouts = text == text.lower()  # a writer without capitals begins sentences without them
    pieces, start = [], 0
    while found is not None:
        at, end = found.span()
        inside = any(first < at < last for first, last in marks)
        if not inside and _ends(text, start, at, end, shouts=shouts):
            pieces.append(text[start:end])
            start = end
        found = ENDS.search(text, end)
    return _clean([*pieces, text[start:]])


def _clean(pieces: list[str]) -> list[str]:
    clean = []
    for piece in pieces:
        kept = piece.strip()
        bullet = BULLET.match(kept)
        kept = kept[bullet.end() :] if bullet else kept
        if LETTER.search(kept) and not (kept[0] in MARKUP and _is_markup(kept)):
            clean.append(kept)
    return clean


def _is_markup(kept: str) -> bool:
    """Whether this is nothing but tags, badges and addresses, or the beginning of a block that is not one."""
    return kept.startswith(FENCES) or not LETTER.search(TAGS_ALONE.sub("", kept))


def _ends(text: str, start: int, at: int, end: int, *, shouts: bool) -> bool:
    following = text[end : end + 32].lstrip().lstrip("\"'\u201c\u2018«([")[:1]
    if "\n" in text[at:end]:
        return _line_ends(text, start, at, end, following)
    if text[at] in "。\uff01\uff1f｡":
        return True
    if following.islower() and not shouts:
        return False
    return text[at] != "." or not _abbreviates(text[max(start, at - 24) : at], following)


def _abbreviates(before: str, following: str) -> bool:
    """Whether the full stop after ``before`` belongs to its last word."""
    last = LAST_WORD.search(before)
    word = last.group().lstrip("(\"'\u201c[").casefold() if last else ""
    if word in TITLES:
        return True
    if word in BEFORE_DIGITS and following.isdigit():
        return True
    if len(word) == 1 and word.isalpha():
        return True
    return word.isdigit() and not before[: -len(word)].strip()


def _line_ends(text: str, start: int, at: int, end: int, following: str) -> bool:
    """A long line that breaks off before a small letter goes on in the next one, wherever its last sentence begins."""
    if text.count("\n", at, end) > 1 or not following.islower() or BULLET.match(text, end):
        return True
    line = text.rfind("\n", 0, at) + 1
    return at - line < WRAPPED or text[line:at].rstrip()[-1:] in tuple(".!?:;…")
