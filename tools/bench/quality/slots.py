"""What stands in the slots of a text: identities, which are what a fact is about, and values, which may change."""

from collections.abc import Callable
from datetime import date, timedelta
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

import orjson

Draw = Callable[[Random], str]
FIRST_DAY = date(2026, 1, 5)


@cache
def data(name: str) -> Any:
    """The document of that name beside this module."""
    return orjson.loads((files(__package__) / "data" / f"{name}.json").read_bytes())


def listed(name: str) -> Draw:
    """Draws one of a list of names."""
    names: list[str] = data("names")[name]
    return lambda rng: rng.choice(names)


def person(rng: Random) -> str:
    return f"{rng.choice(data('names')['first'])} {rng.choice(data('names')['family'])}"


def company(rng: Random) -> str:
    names = data("names")
    return f"{rng.choice(names['stem'])}{rng.choice(names['ending'])} {rng.choice(names['trade'])}"


def _service(rng: Random) -> str:
    return f"{rng.choice(data('names')['part'])}-{rng.choice(data('names')['role'])}"


def _host(rng: Random) -> str:
    names = data("names")
    return f"{rng.choice(names['machine'])}-{rng.randint(1, 99):02}.{rng.choice(names['region'])}.example"


def _repo(rng: Random) -> str:
    return f"{rng.choice(data('names')['product']).lower()}/{_service(rng)}"


def _flag(rng: Random) -> str:
    side, place = rng.choice(("new", "fast", "beta", "dark", "guest")), rng.choice(("page", "view", "flow", "menu"))
    return f"{side}_{rng.choice(data('names')['part'])}_{place}"


IDENTITY: dict[str, Draw] = {
    "company": company,
    "person": person,
    "service": _service,
    "host": _host,
    "repo": _repo,
    "flag": _flag,
    "order": lambda rng: str(rng.randint(100_000, 999_999)),
    "invoice": lambda rng: f"INV-{rng.randint(10_000, 999_999)}",
    "ticket": lambda rng: f"SUP-{rng.randint(1_000, 99_999)}",
    "contract": lambda rng: f"C-{rng.randint(2019, 2026)}-{rng.randint(1, 9999):04}",
    "sku": lambda rng: f"SKU-{rng.randint(10_000, 99_999)}",
    **{name: listed(name) for name in ("product", "city", "country", "street", "region", "part", "food", "tool")},
}
IDENTITIES = frozenset(IDENTITY)


def _money(rng: Random) -> Draw:
    """Amounts in one currency and one way of writing, whole or with cents."""
    style = rng.choice(("${}", "${}", "€{}", "£{}", "{} EUR", "{} USD", "PLN {}"))
    largest, cents = rng.choice((99, 990, 9_900, 250_000)), rng.random() < 0.2
    return lambda draw: style.format(f"{draw.randint(9, largest):,}{'.50' if cents else ''}")


def _date(rng: Random) -> Draw:
    style = rng.choice(("{d.day} {d:%B} {d.year}", "{d:%B} {d.day}, {d.year}", "{d:%Y-%m-%d}", "{d.day} {d:%B}"))
    return lambda draw: style.format(d=FIRST_DAY + timedelta(days=draw.randint(20, 600)))


def _percent(rng: Random) -> Draw:
    style, half = rng.choice(("{}%", "{}%", "{} %", "{} percent")), rng.random() < 0.3
    return lambda draw: style.format(f"{draw.randint(2, 98)}{'.5' if half else ''}")


def _duration(rng: Random) -> Draw:
    unit = rng.choice(("minutes", "hours", "days", "weeks", "months"))
    return lambda draw: f"{draw.randint(2, 90)} {unit}"


def _time(rng: Random) -> Draw:
    if rng.random() < 0.6:
        return lambda draw: f"{draw.randint(6, 21):02}:{draw.choice((0, 15, 30, 45)):02}"
    half = rng.choice(("am", "pm"))
    return lambda draw: f"{draw.randint(1, 12)} {half}"


def _plain(text: str, smallest: int, largest: int) -> Callable[[Random], Draw]:
    return lambda rng: lambda draw: text.format(f"{draw.randint(smallest, largest):,}")


def _version(rng: Random) -> Draw:
    style = rng.choice(("{}.{}.{}", "v{}.{}.{}", "{}.{}"))
    return lambda draw: style.format(draw.randint(1, 9), draw.randint(0, 30), draw.randint(0, 20))


def _address(rng: Random) -> Draw:
    place = rng.choice(data("names")["city"])
    return lambda draw: f"{draw.randint(1, 180)} {draw.choice(data('names')['street'])}, {place}"


def _worded(name: str) -> Callable[[Random], Draw]:
    words: list[str] = data("values")[name]
    return lambda rng: lambda draw: draw.choice(words)


VALUE: dict[str, Callable[[Random], Draw]] = {
    "money": _money,
    "date": _date,
    "percent": _percent,
    "duration": _duration,
    "time": _time,
    "version": _version,
    "address": _address,
    "count": _plain("{}", 2, 4_000),
    "number": _plain("{}", 2, 900),
    "weight": _plain("{} kg", 1, 80),
    "temperature": _plain("{} °C", 1, 19),
    "phone": lambda rng: lambda draw: f"+49 30 555{draw.randint(1000, 9999)}",
    "email": lambda rng: (
        lambda draw: f"billing{draw.randint(10, 9999)}@{draw.choice(data('names')['stem'])}.example".lower()
    ),
    "owner": lambda rng: person,
    "first": lambda rng: listed("first"),
    "n": _plain("{}", 2, 60),
    **{name: _worded(name) for name in data("values")},
}


def values(name: str, many: int, rng: Random) -> list[str]:
    """``many`` different values of the slot's kind, all written in one way."""
    draw = IDENTITY[name] if name in IDENTITY else VALUE[name](rng)
    found: dict[str, None] = {}
    while len(found) < many:
        found[draw(rng)] = None
    return list(found)
