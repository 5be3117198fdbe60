"""What a forget would do, before anybody confirms it: the names to look for, what each store holds, and the plan."""

import hashlib
from typing import Any
from uuid import UUID

import rfc8785

from memory.host import erasure
from memory.host.erasure import Holding, Identifiers
from memory.host.errors import Invalid
from memory.matching import search_form

MAX_TERMS = 10
SHORTEST_TERM, LONGEST_TERM = 3, 256


def terms_of(names: list[str]) -> tuple[str, ...]:
    """The names in search form, once each; refuses what cannot be looked for."""
    terms = tuple(dict.fromkeys(search_form(name) for name in names if name.strip()))
    problem = ""
    if not terms:
        problem = "name the subject"
    elif len(terms) > MAX_TERMS:
        problem = f"at most {MAX_TERMS} names at a time"
    elif any(not SHORTEST_TERM <= len(term) <= LONGEST_TERM for term in terms):
        problem = (
            f"each name has {SHORTEST_TERM} to {LONGEST_TERM} characters; shorter ones would match half the ledger"
        )
    elif any(not term.isprintable() for term in terms):
        problem = "a name holds no control characters"
    if problem:
        raise Invalid("The subject cannot be looked for.", errors=[{"field": "subject", "message": problem}])
    return terms


def holdings_of(tenant_id: UUID, terms: tuple[str, ...]) -> list[Holding]:
    """What every store holds of the subject now."""
    return [eraser.find(tenant_id, Identifiers(terms)) for eraser in erasure.registered()]


def plan_of(holdings: list[Holding]) -> dict[str, Any]:
    """The holdings as the document that is frozen and hashed."""
    return {
        holding.store: {
            "erase": [row.hex for row in holding.erase],
            "suspected": [row.hex for row in holding.suspected],
            "stays": holding.stays,
            "staysBecause": holding.stays_because,
        }
        for holding in holdings
    }


def digest_of(document: dict[str, Any]) -> str:
    """SHA-256 over the JCS form (RFC 8785)."""
    return hashlib.sha256(rfc8785.dumps(document)).hexdigest()
