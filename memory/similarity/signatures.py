"""Statements without their texts: enough to find which of them a new one might equal, in a few bytes each.

Keys are cut to 32 bits: one that is found wrongly costs a look at a text, and nothing else.
"""

from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memory.similarity.reading import Reading, Table

Ids = NDArray[np.void]
Short = NDArray[np.uint32]
ID = np.dtype("V16")
CUT = np.uint64(0xFFFFFFFF)
TABLES = ("exact", "slips", "meant", "claimed")
# What a new statement's table is looked up in: a slip where it was meant, and the other way round.
COUNTERPARTS = (("exact", "exact"), ("slips", "meant"), ("meant", "slips"), ("claimed", "claimed"))


def packed(ids: list[UUID]) -> Ids:
    """Ids as they stand in signatures."""
    return np.frombuffer(b"".join([each.bytes for each in ids]), dtype=ID)


def comparable(ids: Ids) -> NDArray[np.bytes_]:
    """Ids as numpy can sort them; a byte behind each keeps a zero at its end."""
    guarded = np.ones((len(ids), 17), dtype=np.uint8)
    guarded[:, :16] = np.frombuffer(ids.tobytes(), dtype=np.uint8).reshape(len(ids), 16)
    return guarded.reshape(-1).view("S17")


def unpacked(ids: Ids | NDArray[np.bytes_]) -> list[UUID]:
    return [UUID(bytes=bytes(each)[:16]) for each in ids.tolist()]


@dataclass(frozen=True, slots=True)
class Signatures:
    """Ids, and for each table the keys with how many of them each statement has."""

    ids: Ids
    tables: dict[str, tuple[Short, NDArray[np.uint16]]]

    @classmethod
    def of(cls, reading: Reading, left: NDArray[np.bool_]) -> Self:
        """Of the statements of ``reading`` that are ``left``."""
        reading.look_into(left)
        ids = packed([each.id for each, kept in zip(reading.statements, left.tolist(), strict=True) if kept])
        return cls(ids, {name: _cut(getattr(reading, name), left) for name in TABLES})

    @classmethod
    def from_bytes(cls, stored: bytes) -> Self:
        """What ``to_bytes`` gave."""
        sizes = np.frombuffer(stored, dtype=np.uint64, count=1 + len(TABLES)).tolist()
        count, at = sizes[0], 8 * len(sizes)
        ids = np.frombuffer(stored, dtype=ID, count=count, offset=at)
        at += 16 * count
        tables = {}
        for name, size in zip(TABLES, sizes[1:], strict=True):
            keys = np.frombuffer(stored, dtype=np.uint32, count=size, offset=at)
            counts = np.frombuffer(stored, dtype=np.uint16, count=count, offset=at + 4 * size)
            tables[name] = keys, counts
            at += 4 * size + 2 * count
        return cls(ids, tables)

    def to_bytes(self) -> bytes:
        sizes = [len(self.ids), *(len(self.tables[name][0]) for name in TABLES)]
        parts: list[Any] = [np.array(sizes, dtype=np.uint64), self.ids]
        parts += [part for name in TABLES for part in self.tables[name]]
        return b"".join(part.tobytes() for part in parts)

    def holds_any(self, ids: list[UUID]) -> bool:
        """Whether one of these is among them."""
        return bool(ids) and bool(np.isin(comparable(self.ids), comparable(packed(ids))).any())

    def candidates(self, new: Reading) -> list[UUID]:
        """Those that a statement of ``new`` might be merged with, replace, or be replaced by."""
        new.look_into(np.ones(len(new.statements), dtype=bool))
        found = np.zeros(len(self.ids), dtype=bool)
        for theirs, ours in COUNTERPARTS:
            wanted = np.unique(_short(getattr(new, theirs)))
            keys, counts = self.tables[ours]
            if len(wanted) and len(keys):
                places = np.searchsorted(wanted, keys).clip(max=len(wanted) - 1)
                found[np.repeat(np.arange(len(counts)), counts)[wanted[places] == keys]] = True
        return unpacked(self.ids[found])


def _short(table: Table) -> Short:
    short: Short = (table.keys & CUT).astype(np.uint32)
    return short


def _cut(table: Table, left: NDArray[np.bool_]) -> tuple[Short, NDArray[np.uint16]]:
    counts = np.bincount(table.owners, minlength=len(left)) if len(left) else np.zeros(0, np.int64)
    return _short(table)[left[table.owners]], counts[left].astype(np.uint16)
