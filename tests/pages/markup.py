"""What holds for the markup of every page: whatever a test reads with ``body_of`` is compared with it."""

import re
from collections import Counter
from collections.abc import Iterator

# What has words whenever it is there; a status gets them later.
EMPTY = re.compile(
    r"<(a|blockquote|button|caption|code|dd|dt|h[1-6]|label|legend|li|p|strong|summary|text|th|time|title)\b"
    r"(?![^>]*( role=\"status\"| hidden>))[^>]*>\s*</\1>"
)
REFERENCES = re.compile(r'\s(?:for|list|aria-labelledby|aria-describedby|aria-controls)="([^"]*)"')
# What an element says of itself, or leads to, without saying anything.
BLANK = re.compile(
    r'\s(?:action|alt|aria-label|data-label|datetime|formaction|href|hx-get|hx-post|id|name|src)="\s*"'
    r'|\s(?:action|href)="[^"]*[?;]\w+=(?=[&"])[^"]*"'
)
NAMED = re.compile(r"<(a|button|summary)\b([^>]*)>(.*?)</\1>", re.DOTALL)
BESIDE_EACH_OTHER = re.compile(r"<p>(?:(?!</p>).)*?</a><a\b", re.DOTALL)


def faults(shown: str) -> Iterator[str]:
    """What is wrong with a page: rows are as wide as the heads of their tables, names stand before facts, each id is
    one element's, each reference leads to an element, nothing that should have words is empty, one step or tab is the
    current one, and the title says whether a form was refused."""
    main = shown.partition("<main")[2].partition("</main>")[0]
    for table in re.findall(r"<table\b.*?</table>", main, re.DOTALL):
        head, _, rows = table.partition("</thead>")
        if not {cells(row) for row in rows.split("<tr")[1:]} <= {cells(head.rpartition("<tr")[2])}:
            yield f"rows of another width: {head}"
    for facts in re.findall(r"<dl\b.*?</dl>", main, re.DOTALL):
        if not re.fullmatch("(dt(dd)+)+", "".join(re.findall(r"<(d[td])\b", facts))):
            yield f"a name without a fact: {facts}"
    ids = re.findall(r'\sid="([^"]+)"', shown)
    yield from (f"an id of two elements: {each}" for each, number in Counter(ids).items() if number > 1)
    for each in REFERENCES.findall(re.sub(r'<input type="hidden"[^>]*>', "", main)):
        if not each or set(each.split()) - set(ids):
            yield f"a reference to nothing: {each}"
    yield from (f"without words: {each.group()}" for each in EMPTY.finditer(main))
    yield from (f"says nothing: {each.group()}" for each in BLANK.finditer(shown))
    yield from (
        f"without a name: {tag}{more}" for tag, more, words in NAMED.findall(shown) if not has_name(more, words)
    )
    for form in re.findall(r'<form\b[^>]*method="get".*?</form>', main, re.DOTALL):
        if re.search(r'<input type="hidden"[^>]* value=""', form):
            yield f"a filter that says nothing: {form}"
    for places in re.findall(r'<(?:ol class="steps|nav class="tabs)\b.*?</(?:ol|nav)>', main, re.DOTALL):
        if places.count("aria-current") != (' href="#' not in places):
            yield f"not one current place: {places}"
    if beside := BESIDE_EACH_OTHER.search(main):
        yield f"links with nothing between them: {beside.group()}"
    title = shown.partition("<title>")[2].partition("</title>")[0]
    says_so = title.startswith(("Error: ", "Conflict: "))
    is_told = "data-focus" in main or 'role="alert"' in main
    if (not says_so and 'id="error-summary"' in main) or (says_so and not is_told):
        yield f"the title and the page differ about a refusal: {title}"


def has_name(attributes: str, words: str) -> bool:
    """Whether a link or a button says what it is, or is not shown."""
    return bool(
        re.search(r"\s(aria-label=|title=|hidden$)", attributes) or re.sub(r"<svg.*?</svg>|<[^>]*>|\s", "", words)
    )


def cells(row: str) -> int:
    """How many columns the cells of a row take."""
    return sum(int(each or 1) for each in re.findall(r'<t[hd]\b(?:[^>]*colspan="(\d+)")?', row))
