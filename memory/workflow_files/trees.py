"""The bytes of a YAML file as a tree of which every part knows its line and column. Pure.

Only what a workflow needs is read: one document of texts, numbers, lists and mappings. Tags, anchors, aliases and
repeated keys are problems, so nothing is made but plain values and nothing grows; the nesting is bounded and read
without recursion.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from memory.workflow_files.documents import Problem

MAX_BYTES = 256 * 1024
MAX_DEPTH = 24
LONGEST_NUMBER = 40
SHOWN = 60
UNFIT = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
NULL, TRUTH, NUMBER = (f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int"))
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
RESOLVER: Any = Resolver()
CONSTRUCTOR = SafeConstructor()


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the file; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value, and the text it was written as."""

    at: Mark
    value: Any
    text: str

    @property
    def is_null(self) -> bool:
        return self.value is None


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    at: Mark
    items: "list[Node]" = field(default_factory=list)
    is_null: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Pairs:
    """A mapping: each key with its place and what it stands for."""

    at: Mark
    pairs: "dict[str, tuple[Mark, Node]]" = field(default_factory=dict)
    is_null: ClassVar[bool] = False


Node = Scalar | Items | Pairs


class Unreadable(Exception):
    """The file cannot be read any further."""

    def __init__(self, at: Mark, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(at.line, at.column, "", message)


def read(raw: bytes) -> tuple[Node | None, list[Problem]]:
    """The tree, or None where there is none, and what is wrong with it as YAML."""
    building = _Building()
    try:
        for event in _events(_text_of(raw)):
            building.take(event)
    except Unreadable as end:
        return None, [*building.problems, end.problem]
    if building.root is None:
        return None, [*building.problems, Problem(1, 1, "", "The file is empty.")]
    return building.root, building.problems


def plain(node: Node) -> Any:
    """What the node holds, without places."""
    if isinstance(node, Pairs):
        return {key: plain(each) for key, (_, each) in node.pairs.items()}
    return [plain(each) for each in node.items] if isinstance(node, Items) else node.value


def shown(text: str) -> str:
    """A name of the file as a message may repeat it: short, and nothing in it that one cannot see."""
    cut = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return repr(cut) if cut.isprintable() else ascii(cut)


def part(name: str) -> str:
    """A name of the file as a part of the path to a field."""
    return name if re.fullmatch(r"[\w-]{1,60}", name) else shown(name)


def _text_of(raw: bytes) -> str:
    if len(raw) > MAX_BYTES:
        raise Unreadable(Mark(1, 1), f"The file is larger than {MAX_BYTES:,} bytes; a workflow file is not.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        before = raw[: problem.start].decode("utf-8", "replace")
        raise Unreadable(_mark_behind(before), "The file is not UTF-8 from here on.") from None
    if unfit := UNFIT.search(text):
        message = f"The character U+{ord(unfit[0]):04X} has no place in a workflow file."
        raise Unreadable(_mark_behind(text[: unfit.start()]), message)
    return text


def _mark_behind(before: str) -> Mark:
    lines = lines_of(before)
    return Mark(len(lines), len(lines[-1]) + 1)


def _events(text: str) -> Iterator[Any]:
    """The events of the parser; what it cannot make sense of is said in its words, with the place."""
    try:
        yield from yaml.parse(text, Loader=LOADER)
    except yaml.YAMLError as problem:
        at = _mark_in(text, getattr(problem, "problem_mark", None))
        raise Unreadable(at, _words(problem, text, at)) from None


def lines_of(text: str) -> list[str]:
    """The lines as the parser counts them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _mark_in(text: str, mark: Any) -> Mark:
    """Where the parser stopped; at the end of the text when that is behind it."""
    if mark is None or mark.line >= len(lines_of(text)):
        return _mark_behind(text)
    return Mark(mark.line + 1, mark.column + 1)


def _words(problem: yaml.YAMLError, text: str, at: Mark) -> str:
    line = lines_of(text)[at.line - 1]
    if "\t" in line[: at.column]:
        return "A tab stands here; YAML is indented with spaces."
    words = " ".join(part for name in ("context", "problem") if (part := getattr(problem, name, None)))
    return f"This is not YAML: {words}."


class _Building:
    """The tree so far, with what is open."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self.problems: list[Problem] = []
        self._open: list[Items | Pairs] = []
        self._keys: list[tuple[Mark, str] | None] = []
        self._documents = 0

    def take(self, event: Any) -> None:
        at = Mark(event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise Unreadable(at, "A second document begins here; a workflow file is one.")
        if isinstance(event, yaml.NodeEvent):
            self._refuse_extras(event, at)
            self._put(_node(event, at))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()
            self._keys.pop()

    def _refuse_extras(self, event: Any, at: Mark) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._say(at, "An alias (*) stands here; a workflow file says everything where it belongs.")
        elif event.anchor is not None:
            self._say(at, "An anchor (&) stands here; a workflow file says everything where it belongs.")
        if getattr(event, "tag", None) is not None:
            self._say(at, "A tag (!) stands here; values of a workflow file are plain.")
        if isinstance(event, yaml.ScalarEvent) and UNFIT.search(event.value):
            self._say(at, "An escaped character stands here that has no place in a workflow file.")

    def _say(self, at: Mark, message: str) -> None:
        self.problems.append(Problem(at.line, at.column, "", message))

    def _put(self, node: Node) -> None:
        """The node is where the file has it; a collection is open from now on."""
        if not self._open:
            self.root = node
        elif isinstance(parent := self._open[-1], Items):
            parent.items.append(node)
        elif (key := self._keys[-1]) is None:
            self._keys[-1] = self._key(node)
        else:
            self._keep(parent, key, node)
        if isinstance(node, Items | Pairs):
            if len(self._open) == MAX_DEPTH:
                raise Unreadable(node.at, f"The file is nested deeper than {MAX_DEPTH} levels here.")
            self._open.append(node)
            self._keys.append(None)

    def _key(self, node: Node) -> tuple[Mark, str]:
        if not isinstance(node, Scalar):
            raise Unreadable(node.at, "A list or a mapping cannot be a key.")
        return node.at, node.text

    def _keep(self, parent: Pairs, key: tuple[Mark, str], node: Node) -> None:
        self._keys[-1] = None
        (at, name), first = key, parent.pairs.get(key[1])
        if first:
            self._say(at, f"The key {shown(name)} stands on line {first[0].line} already.")
        else:
            parent.pairs[name] = (at, node)


def _node(event: Any, at: Mark) -> Node:
    if isinstance(event, yaml.SequenceStartEvent):
        return Items(at)
    if isinstance(event, yaml.MappingStartEvent):
        return Pairs(at)
    text = getattr(event, "value", "")
    return Scalar(at, _value(event, text), text)


def _value(event: Any, text: str) -> Any:
    """The value of a scalar as YAML means it: a number, a truth, nothing, or else its text."""
    if isinstance(event, yaml.AliasEvent) or not event.implicit[0] or len(text) > LONGEST_NUMBER:
        return text
    tag = RESOLVER.resolve(yaml.ScalarNode, text, (True, False))
    if tag == NULL:
        return None
    if tag == TRUTH:
        return CONSTRUCTOR.construct_yaml_bool(yaml.ScalarNode(tag, text))
    return _number(text) if tag == NUMBER else text


def _number(text: str) -> int | str:
    try:
        number: int = CONSTRUCTOR.construct_yaml_int(yaml.ScalarNode(NUMBER, text))
    except ValueError:
        return text
    return number
