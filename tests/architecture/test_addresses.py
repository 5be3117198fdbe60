"""The addresses of the console in parts, of which a request tries those alone that it can be of."""

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from openwop_console.urls import Part


def _routes(patterns: list[Any]) -> Iterator[str]:
    for each in patterns:
        if isinstance(each, URLPattern):
            yield str(each.pattern)
        else:
            yield from (f"{each.pattern}{route}" for route in _routes(each.url_patterns))


def test_every_address_of_a_part_begins_as_the_part_says() -> None:
    parts = [
        each for each in get_resolver().url_patterns if isinstance(each, URLResolver) and isinstance(each.pattern, Part)
    ]
    assert len(parts) == 5
    for part in parts:
        for route in _routes(part.url_patterns):
            assert part.pattern.match(route) is not None, f"{route} is never found"
