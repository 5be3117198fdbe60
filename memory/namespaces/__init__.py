"""Namespaces of semantic memory and their permissions (RFC-0015 2.3; R38 to R43, R102 to R104). Their only writer."""

from memory.namespaces.changing import change, declare, hold, kept_name, require_admin, require_name
from memory.namespaces.finding import Held, access, at_least, held, names_with, one, readable_by
from memory.namespaces.guardrails import Fence, fence_of
from memory.namespaces.rows import MAX_RULES, Changed, Permissions, put_on_record

__all__ = [
    "MAX_RULES",
    "Changed",
    "Fence",
    "Held",
    "Permissions",
    "access",
    "at_least",
    "change",
    "declare",
    "fence_of",
    "held",
    "hold",
    "kept_name",
    "names_with",
    "one",
    "put_on_record",
    "readable_by",
    "require_admin",
    "require_name",
]
