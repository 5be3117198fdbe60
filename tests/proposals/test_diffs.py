"""Differences of artifacts: by meaning, line by line and word by word, within bounds that are said."""

import json
import time

from proposals import diffs
from proposals.diffs import ADDED, CHANGED, REMOVED, SAME, Piece


def kinds(diff: diffs.Diff) -> list[str]:
    return [row.kind for hunk in diff.hunks for row in hunk.rows]


def test_texts_that_mean_the_same_do_not_differ() -> None:
    diff = diffs.between('{"a":1,"b":2}', '{ "b": 2,\n "a": 1 }')
    assert (diff.is_empty, diff.added, diff.removed) == (True, 0, 0)


def test_changed_words_are_marked_inside_their_line() -> None:
    diff = diffs.between('{"text":"in two sentences"}', '{"text":"in three sentences"}')
    [row] = [row for hunk in diff.hunks for row in hunk.rows if row.kind == CHANGED]
    assert row.old == [Piece('  "text": "in '), Piece("two", changed=True), Piece(' sentences"')]
    assert row.new == [Piece('  "text": "in '), Piece("three", changed=True), Piece(' sentences"')]
    assert (row.old_number, row.new_number, diff.added, diff.removed) == (2, 2, 1, 1)


def test_against_nothing_every_line_is_added() -> None:
    diff = diffs.between("", '{"a":1}')
    assert (kinds(diff), diff.added, diff.removed) == ([ADDED] * 3, 3, 0)


def test_lines_that_only_one_side_has_stand_alone() -> None:
    diff = diffs.between('{"a":1,"b":2,"c":3}', '{"a":1,"c":3}')
    assert REMOVED in kinds(diff)
    gone = next(row for hunk in diff.hunks for row in hunk.rows if row.kind == REMOVED)
    assert (gone.new, gone.new_number, gone.old_number) == (None, None, 3)


def test_equal_lines_far_from_a_change_are_counted_instead_of_shown() -> None:
    before = {f"k{number:03}": number for number in range(100)}
    diff = diffs.between(json.dumps(before), json.dumps(before | {"k050": "changed"}))
    [hunk] = diff.hunks
    assert [row.kind for row in hunk.rows] == [SAME] * 3 + [CHANGED] + [SAME] * 3
    assert (hunk.skipped, diff.skipped_after) == (48, 47)
    assert hunk.skipped + len(hunk.rows) + diff.skipped_after == 102


def test_a_long_text_is_compared_by_its_own_lines() -> None:
    old, new = ({"text": f"first\nsecond\n{last}"} for last in ("third", "fourth"))
    diff = diffs.between(json.dumps(old), json.dumps(new))
    assert (diff.added, diff.removed) == (1, 1)
    assert diffs.readable(json.dumps({"text": "a\\nb"})) == ["{", '  "text": "a\\\\nb"', "}"]


def test_what_was_not_compared_is_said() -> None:
    many = json.dumps(list(range(diffs.MAX_LINES + 50)))
    diff = diffs.between(many, many)
    assert (diff.not_compared, diff.is_empty) == (2 * 52, False)


def test_hostile_texts_are_compared_in_bounded_time() -> None:
    started = time.monotonic()
    words = [" ".join(str((number * 7 + at) % 5) for number in range(400)) for at in range(150)]
    diff = diffs.between(json.dumps(words), json.dumps([word[::-1] + " x" for word in words]))
    assert diff.added == 150
    assert time.monotonic() - started < 10


def test_a_text_that_is_no_json_is_compared_by_its_lines() -> None:
    assert diffs.readable("not\njson") == ["not", "json"]


def test_the_size_of_a_change_is_what_the_lines_show_for_a_reordering_too() -> None:
    for before, after in (([1, 2, 3], [3, 1, 2]), ([1, 2], [1, 9, 8]), ([], [1]), (list(range(2500)), [7])):
        old, new = json.dumps(before), json.dumps(after)
        told = diffs.between(old, new)
        assert diffs.size_of_change(old, new) == (told.added, told.removed)
    assert diffs.size_of_change(json.dumps([1, 2, 3]), json.dumps([3, 1, 2])) != (0, 0)
