"""An archive as bytes: canonical JSON without a time or a chance, the same for the same work (RFC 0062 B.4). Pure.

``orjson`` with sorted keys writes RFC 8785 but for floats, numbers beyond 2**53, and keys outside the basic plane; what
holds one of these is written by ``rfc8785`` itself. An ``ArchiveDocument`` holds none by its making, and is made with
its keys in their order, so that nothing is left to be sorted.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import rfc8785

from memory import token_budget
from memory.distillers import rendering
from memory.distillers.sources import Distilled, Source

VERSION = 1
OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
SAFE_INTEGER = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Method:
    """Who distils: ``name/version``, and the model when there is one."""

    name: str
    version: str
    model: str = ""

    def __str__(self) -> str:
        return f"{self.name}/{self.version}"


EXTRACTIVE = Method("extractive", "1")


class ArchiveDocument(dict[str, Any]):
    """What ``document`` makes: texts and small whole numbers under plain keys in their order, and nothing else."""


def canonical(value: Any) -> bytes:
    """The value in the one form that RFC 8785 gives it; ``rfc8785``'s own errors for what has none."""
    if isinstance(value, ArchiveDocument):
        return orjson.dumps(value, option=OPTIONS)
    if not _beyond(value):
        return orjson.dumps(value, option=OPTIONS | orjson.OPT_SORT_KEYS)
    return rfc8785.dumps(value)


def _beyond(value: Any) -> bool:
    """Whether orjson might write some part of this otherwise than RFC 8785 does."""
    if isinstance(value, dict):
        return any(not key.isascii() and max(key) > "\uffff" for key in value) or any(map(_beyond, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_beyond, value))
    if isinstance(value, int):
        return abs(value) > SAFE_INTEGER
    return not isinstance(value, str | None)


def document(
    distilled: Distilled, *, memory_ref: str, token_budget_given: int, method: Method, digests: Mapping[str, str]
) -> ArchiveDocument:
    """The archive of a ref; ``digests`` are the SHA-256 of the contents of its sources, by their ids."""
    model = {"model": method.model} if method.model else {}
    return ArchiveDocument(
        {
            "coverage": {
                "covered": len(distilled.covered),
                "of": distilled.corpus_count,
                "text": rendering.coverage(len(distilled.covered), distilled.corpus_count),
                "topics": sum(1 for section in distilled.sections if section.topic),
            },
            "distiller": str(method),
            "memoryRef": memory_ref,
            **model,
            "outputTokens": distilled.output_tokens,
            "sections": [
                {
                    "sentences": [
                        {"restatedBy": list(kept.restated_by), "sources": list(kept.sources), "text": kept.text}
                        for kept in section.sentences
                    ],
                    "topic": section.topic,
                }
                for section in distilled.sections
            ],
            "sources": [{"id": source, "sha256": digests[source]} for source in distilled.covered],
            "text": distilled.text,
            "tokenBudget": token_budget_given,
            "tokenizer": token_budget.TOKENIZER,
            "tokensUsed": distilled.tokens_used,
            "version": VERSION,
        }
    )


def digest_of(sources: Iterable[Source], *, memory_ref: str, budget: int, method: Method, about: Sequence[str]) -> str:
    """The digest of everything that an archive's bytes depend on: the same digest is the same work."""
    found = hashlib.sha256(canonical([VERSION, str(method), method.model, *about, memory_ref, budget]))
    for source in sorted(sources, key=lambda each: (each.said_at, each.id)):
        said = [source.id, content_digest(source.text), source.said_at.isoformat(), *source.tags]
        found.update(canonical([*said, source.protected, source.corroboration, source.tokens]))
    return found.hexdigest()


def content_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
