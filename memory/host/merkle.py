"""The Merkle tree of RFC 6962 over a sequence that only grows: ``SHA-256(0x00 || entry)``, ``SHA-256(0x01 || l || r)``.

``Frontier`` holds the roots of the full subtrees, at most one a power of two, so that the next root needs only what
came since.
"""

import hashlib
from typing import Any


class Frontier:
    """The tree over the first ``size`` entries; ``roots`` are those of its full subtrees, the largest first."""

    __slots__ = ("roots", "size")

    def __init__(self, size: int = 0, roots: Any = ()) -> None:
        self.size = size
        self.roots = _read(roots)

    @property
    def is_sound(self) -> bool:
        """Whether there are as many roots as a tree of this size has, each a SHA-256."""
        return len(self.roots) == self.size.bit_count() and all(len(root) == 32 for root in self.roots)

    def add(self, entry: bytes) -> None:
        """``entry`` is the last of the sequence now."""
        node, size = hashlib.sha256(b"\x00" + entry).digest(), self.size
        while size & 1:
            node, size = _node(self.roots.pop(), node), size >> 1
        self.roots.append(node)
        self.size += 1

    def root(self) -> str:
        """The root in hex; over nothing it is the SHA-256 of nothing."""
        if not self.roots:
            return hashlib.sha256().hexdigest()
        *others, node = self.roots
        for left in reversed(others):
            node = _node(left, node)
        return node.hex()

    def kept(self) -> list[str]:
        """The roots in hex, as they are stored."""
        return [root.hex() for root in self.roots]


def _read(roots: Any) -> list[bytes]:
    """The roots as they were stored; what cannot be read is one root that is no SHA-256, so it is not sound."""
    try:
        return [bytes.fromhex(root) for root in roots]
    except (TypeError, ValueError):
        return [b""]


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()
