"""Distillation without a database: the same sources and the same budget give the same archive, byte for byte."""

from memory.text.distillers.archive_text import (
    EXTRACTIVE,
    Method,
    body_of,
    canonical,
    content_digest,
    coverage,
    digest_of,
    document,
)
from memory.text.distillers.ranking import BudgetTooSmall, Distilled, Kept, NothingToKeep, Source
from memory.text.distillers.selection import MAX_TEXT_BYTES, distil, fit_answer

__all__ = [
    "EXTRACTIVE",
    "MAX_TEXT_BYTES",
    "BudgetTooSmall",
    "Distilled",
    "Kept",
    "Method",
    "NothingToKeep",
    "Source",
    "body_of",
    "canonical",
    "content_digest",
    "coverage",
    "digest_of",
    "distil",
    "document",
    "fit_answer",
]
