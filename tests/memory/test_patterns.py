"""Patterns of many words, which are compiled when they are first used."""

import re
import sys

import pytest

from memory.host import registrations
from memory.text import patterns
from memory.text.intentions import cues

# Those of 7,000 characters and more take from a hundredth to a third of a second to compile.
LONGEST_AT_IMPORT = 7_000
PRODUCT = ("memory", "openwop_console", "proposals")


def test_a_late_pattern_is_compiled_at_its_first_use_alone_and_finds_what_any_other_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled, compile_now = [], re.compile

    def compiling(pattern: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(pattern)
        return compile_now(pattern, flags)

    monkeypatch.setattr(re, "compile", compiling)
    late = patterns.late(r"\b(?:send|call)\b", re.IGNORECASE)
    assert compiled == []
    assert [found[0] for found in late.finditer("Call Ana, then send it")] == ["Call", "send"]
    assert late.search("sender") is None
    assert late.sub("-", "Send") == "-"
    assert late.flags & re.IGNORECASE
    assert compiled == [r"\b(?:send|call)\b"]


def test_no_module_compiles_a_pattern_of_many_words_when_it_is_imported() -> None:
    registrations.complete()
    assert len(cues.CUE.pattern) > LONGEST_AT_IMPORT
    long = [
        f"{module}.{name}"
        for module, loaded in sys.modules.items()
        if module.partition(".")[0] in PRODUCT
        for name, value in vars(loaded).items()
        if isinstance(value, re.Pattern) and len(value.pattern) > LONGEST_AT_IMPORT
    ]
    assert long == [], "make it patterns.late, which compiles it when a text first asks for it"
