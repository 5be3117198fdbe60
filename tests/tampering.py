"""What a person with the database's own rights could do to history, with its triggers off, and the root of a history as
RFC 0218 computes it."""

import hashlib
from typing import Any

from django.db import connection


def tamper(statement: str, *parameters: Any, table: str = "host_auditrecord") -> None:
    """``statement`` is carried out on ``table`` although its rows are kept forever."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            for kept in ("rows_update", "rows_delete", "bytes", "bytes_rows"):
                cursor.execute(f"DROP TRIGGER IF EXISTS {table}_keeps_its_{kept}")
        else:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        cursor.execute(statement, parameters)


def merkle_root(leaves: list[str]) -> str:
    """RFC 0218 A.3: pairs of ASCII hex, and the last odd node promoted."""
    while len(leaves) > 1:
        pairs = [leaves[at : at + 2] for at in range(0, len(leaves), 2)]
        leaves = [hashlib.sha256("".join(pair).encode()).hexdigest() if len(pair) == 2 else pair[0] for pair in pairs]
    return leaves[0]
