"""Distillation without a database: the same sources and the same budget give the same archive, byte for byte. Pure."""

from memory.distillers.composing import distil, told
from memory.distillers.documents import EXTRACTIVE, Method, canonical, content_digest, digest_of, document
from memory.distillers.rendering import body_of, coverage
from memory.distillers.selection import MAX_TEXT_BYTES
from memory.distillers.sources import BudgetTooSmall, Distilled, Kept, NothingToKeep, Section, Source

__all__ = [
    "EXTRACTIVE",
    "MAX_TEXT_BYTES",
    "BudgetTooSmall",
    "Distilled",
    "Kept",
    "Method",
    "NothingToKeep",
    "Section",
    "Source",
    "body_of",
    "canonical",
    "content_digest",
    "coverage",
    "digest_of",
    "distil",
    "document",
    "told",
]
