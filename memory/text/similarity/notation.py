"""One way of writing for each value: numbers, percentages, amounts, measures, dates, times and ranges.

Works on the tokens of a statement: "1,200,000", "1 200 000" and "1.2 million" become one token, and so do
"May 5th, 2027", "5 May 2027" and "2027-05-05". What is not understood stays as it is written.
"""
# ruff: noqa: RUF001 -- the signs are meant
# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

import re
from collections.abc import Callable, Sequence
from decimal import Decimal

from memory.text.remembered import remembered
from memory.text.similarity import values
from memory.text.similarity.tokens import (
    BREAKING,
    CAPITAL,
    CODED,
    PERIODIC,
    REPLACES,
    SPANNING,
    UNKNOWN,
    VALUE,
    WORD,
    Token,
    value_token,
    word_token,
)

GROUP = re.compile(r"\d{3}")
PLAIN = re.compile(r"[+\-−]?\d+(?:\.\d+)?")
AMOUNT = re.compile(r"([+\-−]?)([$€£¥₹])(\d+(?:\.\d+)?)([kmb]?)")
CLOCK = re.compile(r"(\d{1,2})(?::(\d{2}))?(?::00)?(am|pm)?")
DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4}|\d{2})")
DOTTED_THOUSANDS = re.compile(r"([$€£]?)(\d{1,3}(?:\.\d{3})+)(?:,(\d{2}))?")
ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er)?")
YEAR = re.compile(r"(?:19|20)\d{2}")
WRITTEN_DATES = ((ISO, (0, 1, 2)), (DOTTED, (2, 1, 0)), (SLASHED, (2, 0, 1)))
VERSION = re.compile(r"v(\d+(?:\.\d+)+.*)")
PARTS_OF_HOUR = {"media": 30, "cuarto": 15}
DAWN = 6  # "at night" is before that hour, or late
PARTS_OF_DAY = {
    tuple(phrase.split()): len(phrase.split())
    for phrase in (
        "in the morning", "in the afternoon", "in the evening", "at night", "de la mañana", "de la tarde", "de la noche"
    )
}  # fmt: skip
BEFORE_A_PART = frozenset(phrase[0] for phrase in PARTS_OF_DAY)
SPAN = re.compile(r"(\d+(?:\.\d+)?|\d{1,2}:\d{2}|\d{1,2}(?:am|pm))-(\d+(?:\.\d+)?|\d{1,2}:\d{2}|\d{1,2}(?:am|pm))")
COMPOUND = re.compile(r"(\d+(?:\.\d+)?)-([a-z]+)")
# In a statement of one of these, "from 5 to 7" is a change.
MOVED = values.CHANGES | values.MOVES
OF = frozenset(["of", "de"])
BETWEEN = values.TO | {"and", "until", "till"}
KEPT_NUMBERS = 4096
LASTING = frozenset(
    ["takes", "take", "took", "lasts", "last", "lasted", "within", "after", "in", "for", "about", "least", "than"]
)
SIGNS = frozenset("+-−$€£¥₹")
Found = tuple[list[Token], int]


def normalised(tokens: list[Token], kinds: int) -> list[Token]:
    """The tokens with each value written in one way; ``kinds`` are those of all of them."""
    if kinds & PERIODIC:
        tokens, counted = _with_one(tokens), tokens
        kinds |= 0 if tokens == counted else VALUE
    moved = bool(kinds & REPLACES) and any(token.raw in MOVED and not token.kind & BREAKING for token in tokens)
    tokens = _written_one_way(tokens, moved) if kinds & VALUE else tokens
    if kinds & SPANNING and not moved:
        tokens = _spans(tokens)
    return _per_period(tokens) if kinds & PERIODIC else tokens


def with_short_days(tokens: list[Token]) -> list[Token]:
    """With the day or month for "Sat", "Sun" and "Mar", which are words or names elsewhere: "on Sun", "Fri and Sat"."""
    found = list(tokens)
    for at, token in enumerate(tokens):
        if token.raw in values.UNSURE_DATES and token.kind & CAPITAL and _is_dated(found, at):
            day = values.SHORT_DAYS[token.raw]
            made = word_token(day)  # with the phrases that it begins; "march" alone is a walk
            made = made if made.mask else value_token(day, day, "date")
            found[at] = made.with_kind(token.kind & BREAKING)
    return found


def _is_dated(tokens: Sequence[Token], at: int) -> bool:
    """Whether what stands beside the word says that it is a date; "on Sun" does, and "on Sun servers" does not."""
    token, before, after = tokens[at], tokens[max(at - 2, 0) : at], tokens[at + 1 : at + 3]
    follows = after[0] if after and not token.kind & BREAKING else None
    if follows and follows.kind & WORD and follows.raw not in values.PARTS_OF_A_DAY:
        return False
    month = token.raw not in values.SHORT_WEEKDAYS
    beside = {each.raw for each in (*before, *after)}
    if not values.SHORT_DAYS.keys().isdisjoint(beside) or any(each.mask == "date" for each in (*before, *after)):
        return True
    if month:
        return any(each.mask == "number" and each.raw.isdecimal() for each in (*before[-1:], *after[:1]))
    return bool(before) and before[-1].raw in BEFORE_A_DAY


def _written_one_way(tokens: list[Token], moved: bool) -> list[Token]:
    found: list[Token] = []
    done = 0
    for at in [at for at, token in enumerate(tokens) if token.kind & (VALUE | CODED)]:
        made = _value_at(tokens, at, moved) if at >= done else None
        if made is not None:
            found += tokens[done:at]
            new, done = made
            if " to " in new[0].word:
                _drop_from(found)
            found += [*new[:-1], new[-1].with_kind(tokens[done - 1].kind & BREAKING)]
    return [*found, *tokens[done:]] if done else tokens


def _with_one(tokens: list[Token]) -> list[Token]:
    """ "Takes an hour" is "takes 1 hour"; "an hour and a half" is more."""
    found = list(tokens)
    for at in range(1, len(found) - 1):
        counted = found[at].raw in ("a", "an") and found[at + 1].raw in values.PERIODS and _raw(found, at + 2) != "and"
        if counted and found[at - 1].raw in LASTING:
            found[at] = value_token("1", "1", "number")
    return found


def _drop_from(found: list[Token]) -> None:
    if found and found[-1].raw in values.FROM and not found[-1].kind & BREAKING:
        found.pop()


def _value_at(tokens: Sequence[Token], at: int, moved: bool) -> Found | None:
    for rule in RULES.get(tokens[at].mask, ()):
        made = None if moved and rule is _range else rule(tokens, at)
        if made is not None:
            return made
    return None


def _raw(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].raw if at < len(tokens) else ""


def _joined(tokens: Sequence[Token], at: int) -> bool:
    """Whether nothing that ends a clause comes before that place."""
    return at < len(tokens) and not tokens[at - 1].kind & BREAKING


# Numbers and what is counted.


def _number(tokens: Sequence[Token], at: int) -> tuple[Decimal, int] | None:
    """The number that begins there, and where it ends: digits, digits in groups, words, and scales after either."""
    token = tokens[at]
    if not token.kind & VALUE:
        return None
    if token.raw in values.NUMBER_WORDS:
        return _and_a_half(*_spelled_out(tokens, at), tokens)
    number = _plain_number(token.word)
    if number is None:
        return None
    end = at + 1
    word = token.word.removesuffix("k")
    if len(word) <= 3 and word.isdigit() and word[0] != "0":
        while _joined(tokens, end) and GROUP.fullmatch(_raw(tokens, end)):
            number, end = number * 1000 + int(tokens[end].raw), end + 1
    while _joined(tokens, end) and _raw(tokens, end) in values.SCALES:
        number, end = number * values.SCALES[tokens[end].raw], end + 1
    return _and_a_half(number, end, tokens)


def _and_a_half(number: Decimal, end: int, tokens: Sequence[Token]) -> tuple[Decimal, int]:
    """With 0.5 more where "and a half" follows."""
    half = [token.raw for token in tokens[end : end + 3]] == ["and", "a", "half"] and _joined(tokens, end)
    return (number + Decimal("0.5"), end + 3) if half else (number, end)


@remembered(KEPT_NUMBERS)
def _plain_number(text: str) -> Decimal | None:
    """The number in digits, or that of a "k"; None for anything else."""
    word = text.removesuffix("k").replace("−", "-")
    return Decimal(word) * (1000 if text.endswith("k") else 1) if PLAIN.fullmatch(word) else None


def _spelled_out(tokens: Sequence[Token], at: int) -> tuple[Decimal, int]:
    """ "Twenty five", "two hundred and fifty", "three million"."""
    total, part, end = 0, 0, at
    while end < len(tokens):
        raw = tokens[end].raw
        if raw == "and" and end > at and part >= 100 and _raw(tokens, end + 1) in values.NUMBER_WORDS:
            end += 1
            continue
        if raw not in values.NUMBER_WORDS or (end > at and not _joined(tokens, end)):
            break
        number = int(values.NUMBER_WORDS[raw])
        if raw in values.SCALES:
            part = max(part, 1) * number
            total, part = (total + part, 0) if number >= 1000 else (total, part)
        elif end > at and part % 100 and not (part % 10 == 0 and part % 100 >= 20 and number < 10):
            break
        else:
            part += number
        end += 1
    return Decimal(total + part), end


def _written(number: Decimal) -> str:
    return f"{number.normalize():f}"


def _measured(tokens: Sequence[Token], at: int) -> Found | None:
    """A number with its percent sign, currency or unit."""
    counted = _number(tokens, at)
    if counted is None:
        return None
    number, end = counted
    if end == at + 1 and not tokens[at].word.endswith("k") and not _has_unit(tokens, end):
        return None
    span = values.MEASURES.get(_raw(tokens, end)) if _joined(tokens, end) else None
    more = _number(tokens, end + 1) if span and _joined(tokens, end + 1) and end + 1 < len(tokens) else None
    rest = values.MEASURES.get(_raw(tokens, more[1])) if more and _joined(tokens, more[1]) else None
    if span and more and rest and rest[1] == span[1] == "ms" and rest[0] < span[0]:  # "3 h 5 min"
        total = number * span[0] + more[0] * rest[0]
        return [_of_each([total], "{}", tokens[at].raw, "number"), word_token("ms")], more[1] + 1
    return _with_unit([number], tokens, end)


def _has_unit(tokens: Sequence[Token], end: int) -> bool:
    """Whether what follows is a percent sign, a currency or a unit."""
    after = _raw(tokens, end) if _joined(tokens, end) else ""
    if after in values.PERCENT or after in values.MONEY or after in values.MEASURES:
        return True
    return after != "" and (tokens[end].word == "percent" or (after == "per" and _raw(tokens, end + 1) == "cent"))


def _round(tokens: Sequence[Token], at: int) -> Found | None:
    """ "2000 euros", which is no year."""
    unit = _raw(tokens, at + 1) if _joined(tokens, at + 1) else ""
    counted = bool(YEAR.fullmatch(tokens[at].word)) and (unit in values.MONEY or unit in values.MEASURES)
    return _with_unit([Decimal(tokens[at].word)], tokens, at + 1) if counted else None


def _range(tokens: Sequence[Token], at: int) -> Found | None:
    """ "2-3 weeks", "2 to 3 weeks", "from 2 to 3 weeks" and "between 2 and 3 weeks"."""
    written = SPAN.fullmatch(tokens[at].word) if "-" in tokens[at].word else None
    if written and not tokens[at].mask and all(PLAIN.fullmatch(end) for end in written.groups()):
        return _with_unit([Decimal(end) for end in written.groups()], tokens, at + 1)
    low = _number(tokens, at)
    between = _raw(tokens, low[1]) if low and _joined(tokens, low[1]) else ""
    if not low or not (between in values.TO or (between == "and" and at and tokens[at - 1].raw == "between")):
        return None
    high = _number(tokens, low[1] + 1) if low[1] + 1 < len(tokens) else None
    month = _month(tokens[high[1]]) if high and high[1] < len(tokens) else 0
    if high and month and 0 < low[0] < high[0] <= 31:
        days = " to ".join(f"{month:02}-{int(day):02}" for day in (low[0], high[0]))
        return [value_token(days, tokens[at].raw, "date")], high[1] + 1
    return _with_unit([low[0], high[0]], tokens, high[1]) if high else None


def _with_unit(numbers: list[Decimal], tokens: Sequence[Token], end: int) -> Found:
    """The number, or the two of a range, with the unit that follows."""
    raw, after = tokens[end - 1].raw, _raw(tokens, end) if _joined(tokens, end) else ""
    if after in values.PERCENT or (after and tokens[end].word == "percent"):
        return [_of_each(numbers, "{}%", raw, "percent")], end + 1
    if after == "per" and _raw(tokens, end + 1) == "cent":
        return [_of_each(numbers, "{}%", raw, "percent")], end + 2
    if after == "m" and _raw(tokens, end + 1) in values.MONEY:  # "3m euros"
        numbers, after, end = [number * 10**6 for number in numbers], _raw(tokens, end + 1), end + 1
    if after in values.MONEY:
        size = 2 if _raw(tokens, end + 1) == "sterling" else 1
        return [_of_each(numbers, "{} " + values.MONEY[after], raw, "money")], end + size
    if after in values.MEASURES:
        factor, name = values.MEASURES[after]
        return [_of_each([number * factor for number in numbers], "{}", raw, "number"), word_token(name)], end + 1
    return [_of_each(numbers, "{}", raw, "number")], end


def _of_each(numbers: list[Decimal], form: str, raw: str, mask: str) -> Token:
    return value_token(" to ".join(form.format(_written(number)) for number in numbers), raw, mask)


def _money(number: Decimal, currency: str, raw: str) -> Token:
    return value_token(f"{_written(number)} {currency}", raw, "money")


def _amount(tokens: Sequence[Token], at: int) -> Found | None:
    """ "$2,450.00", "USD 2450", "€ 5 million"."""
    written = AMOUNT.fullmatch(tokens[at].word) if tokens[at].word[:1] in SIGNS else None
    if written:
        sign, currency, digits, scale = written.groups()
        number = Decimal(digits) * {"": 1, "k": 1000, "m": 10**6, "b": 10**9}[scale]
        end = at + 1
        while _joined(tokens, end) and _raw(tokens, end) in values.SCALES:
            number, end = number * values.SCALES[tokens[end].raw], end + 1
        if _raw(tokens, end) in values.MONEY and _joined(tokens, end):
            end += 1
        return [_money(-number if sign in "-−" and sign else number, values.MONEY[currency], tokens[at].raw)], end
    if tokens[at].raw in values.CODES and _joined(tokens, at + 1):
        counted = _number(tokens, at + 1)
        if counted:
            return [_money(counted[0], values.MONEY[tokens[at].raw], tokens[at].raw)], counted[1]
    return None


def _grouped(tokens: Sequence[Token], at: int) -> Found | None:
    """ "1.150 €" and "1.150,00 €": of money, three digits behind a dot are thousands."""
    found = DOTTED_THOUSANDS.fullmatch(tokens[at].word) if "." in tokens[at].word else None
    if not found:
        return None
    after = _raw(tokens, at + 1) if _joined(tokens, at + 1) else ""
    before = tokens[at - 1].raw if at else ""
    currency = values.MONEY.get(found.group(1) or after)
    if not (currency or before in values.CODES):
        return None
    number = Decimal(found.group(2).replace(".", "") + "." + (found.group(3) or "0"))
    return [_money(number, currency or values.MONEY[before], tokens[at].raw)], at + 1 + (after in values.MONEY)


def _compound(tokens: Sequence[Token], at: int) -> Found | None:
    """ "A 30-day trial" is one of 30 days."""
    found = COMPOUND.fullmatch(tokens[at].word) if "-" in tokens[at].word else None
    unit = values.MEASURES.get(found.group(2)) if found else None
    if not found or not unit:
        return None
    number = _written(Decimal(found.group(1)) * unit[0])
    return [value_token(number, tokens[at].raw, "number"), word_token(unit[1])], at + 1


def _version(tokens: Sequence[Token], at: int) -> Found | None:
    """ "v1.29" is 1.29, and of "version 1.29" the word may be missing."""
    found = VERSION.fullmatch(tokens[at].word)
    return ([value_token(found.group(1), tokens[at].raw, "version")], at + 1) if found else None


# Dates and times.


def _month(token: Token) -> int:
    return values.MONTHS.index(token.word) + 1 if token.kind & VALUE and token.word in values.MONTHS else 0


def _day(tokens: Sequence[Token], at: int) -> int:
    found = DAY.fullmatch(_raw(tokens, at).removesuffix("."))
    return int(found.group(1)) if found and 0 < int(found.group(1)) <= 31 else 0


def _date(tokens: Sequence[Token], at: int) -> Found | None:
    """A day of a month, with its year if it is given."""
    for form, order in () if tokens[at].word.isalnum() else WRITTEN_DATES:
        found = form.fullmatch(tokens[at].word)
        if found:
            if form is DOTTED and not _is_a_dotted_date(tokens, at, *found.groups()):
                return [value_token(tokens[at].word, tokens[at].raw, "version")], at + 1
            given, month, day = (int(found.groups()[place]) for place in order)
            if form is SLASHED and month <= 12 and day <= 12 and month != day:
                return None
            month, day = (day, month) if month > 12 else (month, day)
            return ([_day_token(month, day, f"{given:04}", tokens[at].raw)], at + 1) if month <= 12 else None
    month, end = _month(tokens[at]), at + 1
    if month:
        end += _raw(tokens, end) == "the"
        day = _day(tokens, end) if _joined(tokens, at + 1) else 0
        if not day and YEAR.fullmatch(_raw(tokens, at + 1)):
            return [value_token(f"{tokens[at + 1].raw}-{month:02}", tokens[at].raw, "date")], at + 2
    else:
        end += _raw(tokens, end) in OF
        month = _month(tokens[end]) or values.FOREIGN_MONTHS.get(tokens[end].raw, 0) if end < len(tokens) else 0
        day = _day(tokens, at) if month and tokens[at].mask in ("number", "date") else 0
    if not month or not day:
        return None
    end += 1
    end += _raw(tokens, end) == "de" and bool(YEAR.fullmatch(_raw(tokens, end + 1)))
    year = _raw(tokens, end) if YEAR.fullmatch(_raw(tokens, end)) else ""
    size = bool(year) + (bool(year) and _raw(tokens, end + 1) == "r")  # "2027 r." in Polish
    return [_day_token(month, day, year, tokens[at].raw)], end + size


def _is_a_dotted_date(tokens: Sequence[Token], at: int, day: str, month: str, year: str) -> bool:
    """Whether three numbers with dots are a day: with its year of four digits, or, where nothing speaks of a version,
    written in pairs of digits or behind a word for a date."""
    if int(day) > LAST_DAY or int(month) > LAST_MONTH:
        return False
    if len(year) == len("2027"):
        return True
    before = tokens[at - 1] if at else None
    if any(token.raw in OF_VERSIONS for token in tokens) or (before and before.kind & UNKNOWN):
        return False
    return bool(len(day) == len(month) == len(year) or (before and before.raw in BEFORE_A_DATE))


LAST_DAY, LAST_MONTH = 31, 12
OF_VERSIONS = frozenset(
    """
    version versions release releases kernel firmware driver library package build patch upgrade upgraded downgrade
    downgraded bump bumped upstream runtime sdk api compiler python node kubernetes linux debian ubuntu java
    """.split()
)
BEFORE_A_DATE = frozenset(
    """
    on since until till by before after from due dated am vom zum bis ab seit den der bis le du au dès el del desde
    hasta dnia od do z na termin datum fecha date data
    """.split()
)


def _day_token(month: int, day: int, year: str, raw: str) -> Token:
    return value_token(f"{year}-{month:02}-{day:02}" if year else f"{month:02}-{day:02}", raw, "date")


def _is_an_hour(tokens: Sequence[Token], at: int, hour: int) -> bool:
    """Whether a bare number is when something opens, begins or leaves: "closes at 9"."""
    if not at or tokens[at - 1].raw != "at" or not 0 < hour <= LAST_HOUR or _raw(tokens, at).startswith("0"):
        return False
    ends = at + 1 == len(tokens) or tokens[at].kind & BREAKING or _raw(tokens, at + 1) in AFTER_AN_HOUR
    return bool(ends) and any(token.raw in OPENING for token in tokens[:at])


LAST_HOUR = 24
AFTER_AN_HOUR = frozenset(["on", "in", "every", "daily", "sharp", "today", "tomorrow", "now", "and"])
BEFORE_A_DAY = frozenset("on every each next last this until till".split())
OPENING = frozenset(
    [
        *("open", "opens", "close", "closes", "shut", "shuts", "start", "starts", "started", "begin", "begins", "end"),
        *("ends", "leave", "leaves", "depart", "departs", "arrive", "arrives", "land", "lands", "meet", "meets"),
        *("meeting", "wakes", "gets", "served", "lunch", "dinner", "breakfast", "happens", "runs"),
    ]
)


def _time(tokens: Sequence[Token], at: int) -> Found | None:
    """A time of day, of 24 hours."""
    raw = tokens[at].word if tokens[at].raw in values.NUMBER_WORDS else tokens[at].raw
    found = CLOCK.fullmatch(raw.replace(".", ":") if _raw(tokens, at + 1) in ("uhr", "am", "pm") else raw)
    if not found:
        return None
    hour, minutes, half, end = int(found.group(1)), int(found.group(2) or 0), found.group(3), at + 1
    said = bool(half or found.group(2)) or _is_an_hour(tokens, at, hour)
    after = _raw(tokens, end).replace(".", "") if _joined(tokens, end) else ""
    if not half and after in ("am", "pm"):
        half, end = after, end + 1
    if after in ("uhr", "o'clock", "hrs"):
        said, end = True, end + 1
    if after == "y" and _raw(tokens, end + 1) in PARTS_OF_HOUR:
        minutes, end = PARTS_OF_HOUR[_raw(tokens, end + 1)], end + 2
        said = True
    part = tuple([_raw(tokens, place) for place in range(end, end + 3)])
    late = 0
    if part[0] in BEFORE_A_PART:
        late = next((size for phrase, size in PARTS_OF_DAY.items() if part[: len(phrase)] == phrase), 0)
    if late and not half and 0 < hour <= 12 and _joined(tokens, end):
        small = part[late - 1] in ("morning", "mañana") or (part[late - 1] in ("night", "noche") and hour % 12 < DAWN)
        half, end = "am" if small else "pm", end + late
    # "O 8" is Polish for "at 8", and "um 8" German; in neither may anything else be meant.
    said = said or (bool(at) and tokens[at - 1].raw in ("o", "um", "godziny", "godzinie", "godz") and not after)
    said = said or (at > 1 and (tokens[at - 2].raw, tokens[at - 1].raw) in (("a", "las"), ("a", "la")))
    if not (said or half) or hour > 24 or minutes > 59 or (half and not 0 < hour <= 12):
        return None
    hour = hour % 12 + 12 * (half == "pm") if half else hour
    return [value_token(f"{hour}:{minutes:02}", raw, "time")], end


# What lies between two values, and how often.


def _spans(tokens: list[Token]) -> list[Token]:
    """ "9:00-17:00", "9:00 to 17:00", "Monday to Friday" and "Mon-Fri" as one value."""
    found: list[Token] = []
    done = 0
    for at in [at for at, token in enumerate(tokens) if token.kind & VALUE or "-" in token.raw]:
        if at < done:
            continue
        end = _span_at(tokens, at) if tokens[at].kind & VALUE else 0
        split = _split(tokens[at]) if not end and "-" in tokens[at].raw else []
        if not end and not split:
            continue
        found += tokens[done:at]
        if end:
            _drop_from(found)
            last = tokens[end - 1]
            span = value_token(f"{tokens[at].word} to {last.word}", tokens[at].raw, last.mask)
            found.append(span.with_kind(last.kind & BREAKING))
        found += split
        done = end or at + 1
    return [*found, *tokens[done:]] if done else tokens


def _span_at(tokens: Sequence[Token], at: int) -> int:
    if at + 2 >= len(tokens) or tokens[at + 1].raw not in BETWEEN:
        return 0
    if not _joined(tokens, at + 1) or not _joined(tokens, at + 2):
        return 0
    first, between, last = tokens[at : at + 3]
    if not first.kind & VALUE or not last.kind & VALUE or not first.mask or first.mask != last.mask:
        return 0
    before = tokens[at - 1].raw if at else ""
    either = before == "between" and between.raw == "and"
    until = before == "from" and between.raw in ("until", "till")
    return at + 3 if between.raw in values.TO or either or until else 0


def _split(token: Token) -> list[Token]:
    found = SPAN.fullmatch(token.word)
    if found and token.kind & VALUE and not token.mask:
        ends = [_clock(end) for end in found.groups()]
        mask = "time" if ":" in ends[0] or ":" in ends[1] else "number"
        return [value_token(" to ".join(ends), token.raw, mask).with_kind(token.kind & BREAKING)]
    ends = [values.SHORT_DAYS.get(part, part) for part in token.raw.split("-")]
    if len(ends) == 2 and all(end in values.WEEKDAYS or end in values.MONTHS for end in ends):
        return [value_token(" to ".join(ends), token.raw, "date").with_kind(token.kind & BREAKING)]
    return []


def _clock(text: str) -> str:
    found = CLOCK.fullmatch(text) if not text.isdigit() else None
    if not found:
        return text
    hour = int(found.group(1)) % 12 + 12 * (found.group(3) == "pm") if found.group(3) else int(found.group(1))
    return f"{hour}:{found.group(2) or '00'}"


def _per_period(tokens: list[Token]) -> list[Token]:
    """ "Every year", "once a year" and "annually" as one word; "a month" and "/month" after a value."""
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        token, end = tokens[at], at + 1
        period = values.PERIODS.get(_raw(tokens, end), "")
        once = token.raw == "once" and tokens[at + 1 : at + 2] and _raw(tokens, end) in ("a", "per", "every", "each")
        behind = bool(found) and bool(found[-1].kind & VALUE or found[-1].raw in ("times", "once", "twice"))
        counted = (
            len(found) > 1
            and bool(found[-2].kind & VALUE)
            and (found[-1].raw.endswith(("s", "people")) or found[-1].raw in values.MEASURES)
        )
        if once and _raw(tokens, end + 1) in values.PERIODS:
            period, end = values.PERIODS[_raw(tokens, end + 1)], end + 2
        elif behind and token.raw in values.PERIODS and found[-1].mask == "money":
            period = values.PERIODS[token.raw]
        elif period and (token.raw in ("every", "each", "per", "/") or (token.raw == "a" and (behind or counted))):
            end += 1
        else:
            period = ""
        if period:
            found.append(word_token(period).with_kind(tokens[end - 1].kind & BREAKING))
        else:
            found.append(token)
        at = end
    return found


Rule = Callable[[Sequence[Token], int], Found | None]
# By the sort of value that a token is by itself.
RULES: dict[str, tuple[Rule, ...]] = {
    "date": (_date, _round),
    "time": (_time,),
    "money": (_amount,),
    "version": (_version,),
    "number": (_grouped, _date, _time, _range, _measured),
    "": (_grouped, _amount, _compound, _range),
}
