"""Entries of the ledger as files: JSON, CSV, and JSON lines that another host imports. Made from raw rows, in parts."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from memory import origins
from memory.adapter import Exported
from memory.host import exports, sql
from memory.host.json_types import JSONObject
from memory.origins import Origin
from memory.wire import address_document

if TYPE_CHECKING:
    from memory.models.address import EntryAddress

OF_ADDRESS = ("tier", "namespace", "key", "version", "pinned", "priority", "sensitivity", "sealed")
COLUMNS = (
    "id", "memoryRef", "agentId", "nodeId", "runId", "content", "tags", "createdAt", "expiresAt", "state",
    *OF_ADDRESS, *(f"origin.{name}" for name in origins.MEMBERS),
)  # fmt: skip
NOTHING_MORE = "," * (len(OF_ADDRESS) + len(origins.MEMBERS) - 1)
# What another host takes of an address.
ADDRESS = ("tier", "agent_id", "namespace", "key", "task_id", "intent_id", "pinned", "ttl", "created_by", "curated_by")
# What stands in quotes in a cell (RFC 4180).
QUOTED = re.compile('[",\r\n]')


def document_of(entry: Exported) -> JSONObject:
    """An entry as JSON files and APIs have it: the protocol's, and what the console knows beside it."""
    expires = {"expiresAt": entry.expires_at} if entry.ends_at else {}
    retired = {"retiredAt": entry.retired_at} if entry.hidden_at else {}
    return {
        "id": entry.id,
        "content": entry.content,
        "tags": entry.tags,
        "createdAt": entry.created_at,
        **expires,
        "memoryRef": entry.memory_ref,
        "runId": entry.run_id,
        "nodeId": entry.node_id or None,
        "agentId": entry.agent_id or None,
        "state": "retired" if entry.hidden_at else "present",
        **retired,
        **address_document(entry.address),
        **({"origin": entry.origin.document} if entry.origin else {}),
    }


# CSV. The lines are put together here: the module of the standard library takes twice as long for the same.


class Cells(dict[str, str]):
    """The cell of each text that was asked for; of names that many rows share. For one part of a file."""

    def __missing__(self, text: str) -> str:
        self[text] = cell = _cell(text)
        return cell


def csv_parts(chunks: Iterable[Sequence[Exported]]) -> Iterator[str]:
    """The head, and the lines of each chunk. In a table the parts of an address and of an origin have columns of their
    own."""
    yield ",".join(COLUMNS) + "\r\n"
    yield from map(_csv_lines, chunks)


def _csv_lines(rows: Sequence[Exported]) -> str:
    cells, instant = Cells(), sql.wire_instant
    tags = {text: _cell(" ".join(sql.as_document(text))) for text in {row.tag_list for row in rows}}
    return "".join(
        f"{own},{cells[ref]},{cells[agent]},{cells[node]},{run},{_cell(content)},{tags[labels]},{instant(made)},"
        f"{instant(ends) if ends else ''},{'retired' if hidden else 'present'},"
        f"{_more_cells(address, origin) if address or origin else NOTHING_MORE}\r\n"
        for own, run, labels, made, ends, hidden, ref, content, _, node, agent, _, _, address, origin in rows
    )


def _cell(value: object) -> str:
    text = exports.cell(value)
    return '"' + text.replace('"', '""') + '"' if QUOTED.search(text) else text


def _more_cells(address: "EntryAddress | None", origin: Origin | None) -> str:
    place = address_document(address)["address"] if address else {}
    told = origin.document if origin else {}
    values = [*map(place.get, OF_ADDRESS), *map(told.get, origins.MEMBERS)]
    return ",".join(map(_cell, values))


# JSON lines.


def json_line(entry: Exported) -> bytes:
    """What ``import_memory`` reads. The line of an entry whose value is kept encrypted is empty: that leaves only where
    somebody asks for it and is on record."""
    if entry.sealed:
        return b""
    told: dict[str, Any] = {
        "id": entry.id,
        "memoryRef": entry.memory_ref,
        "tags": entry.tags,
        "subject": entry.subject,
        "agentId": entry.agent_id,
        "createdAt": _in_full(entry.made_at),
        "expiresAt": _in_full(entry.ends_at) if entry.ends_at else None,
    }
    if entry.origin:
        told["origin"] = entry.origin.document
    if entry.address is None:
        told["content"] = entry.content
    else:
        told["value"] = orjson.Fragment(entry.content)
        own = {name: getattr(entry.address, name) for name in ADDRESS}
        told["address"] = own | {"priority": entry.address.priority_word}
    return orjson.dumps(told, option=orjson.OPT_APPEND_NEWLINE)


def _in_full(text: str) -> str:
    """A time that the database casts to text, in UTC and to the microsecond."""
    time = text[11:].partition("+")[0]
    return f"{text[:10]}T{f'{time:0<15}' if '.' in time else time}+00:00"
