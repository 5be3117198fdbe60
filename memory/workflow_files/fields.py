"""What a part of a workflow file must be: a text, a number, a truth, a list or a mapping. Pure.

Whatever does not fit is noted with its place, and reading goes on, so that one look finds everything.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from memory.workflow_files.documents import Problem
from memory.workflow_files.trees import Items, Mark, Node, Pairs, Scalar, shown

MAX_LISTED = 500
MAX_NAME, MAX_PROSE = 500, 10_000
MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Named:
    """A name, and where it stands."""

    at: Mark
    name: str


@dataclass(slots=True)
class Findings:
    """What is wrong so far, and what is merely passed over."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def wrong(self, at: Mark, where: str, message: str) -> None:
        self.problems.append(Problem(at.line, at.column, where, message))

    def passed_over(self, at: Mark, where: str, message: str) -> None:
        self.warnings.append(Problem(at.line, at.column, where, message))

    # --- what a node must be: None, and noted, when it is something else; None when it is null ----------------------

    def mapping(self, node: Node | None, where: str) -> Pairs | None:
        if node is None or isinstance(node, Pairs):
            return node
        self._unless_null(node, where, "must be a mapping of names to values")
        return None

    def items(self, node: Node | None, where: str) -> list[Node]:
        if isinstance(node, Items):
            if len(node.items) > MAX_LISTED:
                self.wrong(node.at, where, f"lists {len(node.items):,}; {MAX_LISTED} at most")
            return node.items[:MAX_LISTED]
        if node is not None:
            self._unless_null(node, where, "must be a list")
        return []

    def text(self, node: Node | None, where: str, *, most: int) -> str:
        named = self.name(node, where, most=most)
        return named.name if named else ""

    def name(self, node: Node | None, where: str, *, most: int) -> Named | None:
        """A short text that one can see all of."""
        if node is None or node.is_null:
            return None
        if not isinstance(node, Scalar):
            self.wrong(node.at, where, "must be a text")
            return None
        if problem := name_problem(node.text, most):
            self.wrong(node.at, where, problem)
            return None
        return Named(node.at, node.text)

    def prose(self, node: Node | None, where: str) -> str:
        """A text of any number of lines."""
        if node is None or node.is_null:
            return ""
        if not isinstance(node, Scalar) or len(node.text) > MAX_PROSE:
            self.wrong(node.at, where, f"must be a text of at most {MAX_PROSE:,} characters")
            return ""
        return node.text

    def names(self, node: Node | None, where: str, *, most: int) -> list[Named]:
        """The names of a list, each once."""
        found: dict[str, Named] = {}
        for place, each in enumerate(self.items(node, where)):
            named = self.name(each, f"{where}[{place}]", most=most)
            if named and named.name in found:
                self.passed_over(named.at, f"{where}[{place}]", f"names {shown(named.name)} a second time")
            elif named:
                found[named.name] = named
            elif each.is_null:
                self.wrong(each.at, f"{where}[{place}]", "is empty")
        return list(found.values())

    def number(self, node: Node | None, where: str, *, most: int) -> int | None:
        if node is None or node.is_null:
            return None
        value = node.value if isinstance(node, Scalar) else ""
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most:
            return value
        self.wrong(node.at, where, f"must be a whole number from 1 to {most:,}")
        return None

    def truth(self, node: Node | None, where: str) -> bool | None:
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        if node is not None:
            self._unless_null(node, where, "must be true or false")
        return None

    def _unless_null(self, node: Node, where: str, message: str) -> None:
        if not node.is_null:
            self.wrong(node.at, where, message)

    # --- keys ------------------------------------------------------------------------------------------------------

    def only(self, pairs: Pairs, where: str, known: Collection[str]) -> None:
        """Any other key is a problem."""
        for key, (at, _) in pairs.pairs.items():
            if key not in known:
                self.wrong(at, where, f"has no key {shown(key)}; known are {', '.join(known)}")

    def mostly(self, pairs: Pairs, where: str, known: Collection[str]) -> None:
        """Any other key is passed over."""
        for key, (at, _) in pairs.pairs.items():
            if key not in known:
                self.passed_over(at, where, f"has the key {shown(key)}, which means nothing here")


def name_problem(text: str, most: int) -> str:
    """Why the text is not fit to be a name, or nothing."""
    if not text.strip():
        return "is empty"
    if len(text) > most:
        return f"has {len(text):,} characters; {most} at most"
    if not text.isprintable():
        return "holds a character that one cannot see"
    return "has . or .. as a part of a path" if {".", ".."} & set(text.replace("\\", "/").split("/")) else ""


def of(pairs: Pairs | None, key: str) -> Node | None:
    """What the mapping has under the key."""
    found = pairs.pairs.get(key) if pairs else None
    return found[1] if found else None
