"""Search by meaning: vectors of texts and of queries, made by an endpoint of the tenant's.

An endpoint speaks ``/embeddings`` of the OpenAI protocol, within what ``memory.model_endpoint`` allows. It gets
redacted texts, and never a sealed value. A worker requests the vectors of entries after their commit: those after the
position of the tenant's ``VectorSpace`` are waiting. A query waits ``QUERY_SECONDS`` for its vector, and is ranked by
words without one.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

import numpy as np
import orjson
from django.core.cache import caches

from memory import adapter, ledger, memory_policy, redaction
from memory.host.errors import EndpointFailed
from memory.memory_policy import Policy
from memory.models import VectorSpace

Array = np.ndarray[Any, np.dtype[Any]]

BATCH = 64
LONGEST = 6_000  # characters of a text; models take some 8,000 tokens
MOST_NUMBERS, LARGEST = 4_096, 1e6
BATCH_SECONDS, QUERY_SECONDS = 30.0, 1.0
# The longest answer: for each text as many numbers as a vector may have, written out in full on lines of their own, and
# what is around them. A longer one of small lists would take seconds to parse, in which no other thread computes.
BYTES_OF_A_VECTOR, BYTES_AROUND = MOST_NUMBERS * 40, 65_536
# How long a worker begins batches of what waits; it is called every minute, and a task may take one: a batch ends
# BATCH_SECONDS after that.
ROUND_SECONDS = 25.0
# An endpoint that failed is not asked for queries for so long, and the vector of a query is known for so long.
REST_SECONDS, KNOWN_SECONDS = 30, 600
# What an endpoint says of a text that it cannot take.
NOT_TAKEN = frozenset({400, 413, 422})

RANKINGS = HYBRID, LEXICAL = ("hybrid", "lexical")
NOT_READY, DIMENSION = "not_ready", "dimension"
WHY = {
    NOT_READY: "the entries have no vectors yet",
    DIMENSION: "the endpoint's vectors have another length than those of the entries",
    "timeout": "the embeddings endpoint did not answer in time",
    "refused": "the embeddings endpoint cannot be reached, or its key is not in the vault",
    "not_allowed": "the embeddings endpoint is at an address that this host does not connect to",
    "status": "the embeddings endpoint answered with an error",
    "malformed": "the embeddings endpoint gave no usable answer",
    "too_large": "the embeddings endpoint gave no usable answer",
}


@dataclass(frozen=True, slots=True)
class Meaning:
    """The vector of a query (float32, of length 1); without one, why, and "" where the tenant has no endpoint."""

    vector: bytes = b""
    reason: str = ""

    @property
    def ranking(self) -> str:
        """What a search with it is ranked by: words and meaning, or words alone."""
        return HYBRID if self.vector else LEXICAL

    @property
    def sentence(self) -> str:
        return f"Ranked by words alone: {WHY[self.reason]}." if self.reason else ""


def source_of(policy: Policy) -> str:
    """The endpoint and the model as a digest: vectors of two are not compared."""
    return sha256(f"{policy.embedding_url}\n{policy.embedding_model}".encode()).hexdigest()


# Queries.


def meaning_of(tenant_id: UUID, query: str) -> Meaning:
    """Return the vector of a query, requested or cached. Never raises: without a vector the result has a reason."""
    policy = memory_policy.policy_of(tenant_id)
    if not policy.embeds or not query.strip():
        return Meaning()
    source, space = source_of(policy), ledger.vectors.vector_space(tenant_id)
    if space is None or space.source != source or not space.dimension:
        return Meaning(reason=NOT_READY)
    text = _outbound_text(tenant_id, query)
    known, resting = caches["process"], f"resting:{tenant_id}:{source}"
    key = f"vector:{tenant_id}:{source}:{sha256(text.encode()).hexdigest()}"  # later pages have the order of the first
    if found := known.get(key):
        return Meaning(found)
    if reason := known.get(resting):  # so that an endpoint that failed does not slow down every search
        return Meaning(reason=reason)
    try:
        [vector] = _request_vectors(tenant_id, policy, [text], seconds=QUERY_SECONDS)
        if vector.size != space.dimension:
            raise EndpointFailed(reason=DIMENSION)
    except EndpointFailed as failed:
        reason = str(failed.details["reason"])
        known.set(resting, reason, REST_SECONDS)
        return Meaning(reason=reason)
    known.set(key, vector.tobytes(), KNOWN_SECONDS)
    return Meaning(vector.tobytes())


# Entries.


def embed_entries(*, clock: Callable[[], datetime]) -> int:
    """Request vectors for entries without one, a batch per tenant at a time, until none is left or ``ROUND_SECONDS``
    are over, and delete vectors that are no longer of use. Returns the number of entries."""
    ends, done = time.monotonic() + ROUND_SECONDS, 0
    waiting = [*{*memory_policy.embedding_tenants(), *ledger.vectors.tenants_with_vectors()}]
    random.shuffle(waiting)  # slow endpoints of some use up the round: each tenant is among the first now and then
    while waiting and time.monotonic() < ends:
        left = []
        for tenant_id in waiting:
            if time.monotonic() >= ends:
                break
            if moved := _embed_next(tenant_id, clock, until=ends + BATCH_SECONDS):
                left.append(tenant_id)
                done += moved
        waiting = left
    return done


def progress_of(tenant_id: UUID, policy: Policy) -> str:
    """How far the tenant's vectors are, in a sentence; "" where it has no endpoint."""
    if not policy.embeds:
        return ""
    space = ledger.vectors.vector_space(tenant_id)
    if space is None or space.source != source_of(policy):
        return "No entry has its vector yet; the worker begins within a minute."
    if space.reason:
        return f"The worker waits and will ask again: {WHY[space.reason]}."
    if adapter.vectors.texts_after(tenant_id, space.position, 1):
        return "The worker is making vectors; entries without one are found by their words."
    return "Every entry has its vector."


def _embed_next(tenant_id: UUID, clock: Callable[[], datetime], *, until: float) -> int:
    """How many entries more the tenant's space reaches over; 0 when there is nothing more to do now. Gives up at
    ``until``, by the monotonic clock."""
    policy, space = memory_policy.policy_of(tenant_id), ledger.vectors.vector_space(tenant_id)
    source = source_of(policy) if policy.embeds else ""
    if space is not None and space.source != source:
        while not ledger.vectors.drop_vectors(tenant_id):
            pass
        space = None
    if not source:
        return 0
    if space is None:
        ledger.vectors.begin_vectors(tenant_id, source, now=clock())
        space = ledger.vectors.vector_space(tenant_id)
    texts = adapter.vectors.texts_after(tenant_id, space.position, BATCH) if space else []
    if space is None or not texts or not ledger.vectors.claim_vectors(space, now=clock()):
        return 0
    try:
        found = _vectors_of(tenant_id, policy, texts, space, until)
    except EndpointFailed as failed:
        ledger.vectors.postpone_vectors(space, str(failed.details["reason"]), now=clock())
        return 0
    return len(texts) if ledger.vectors.store_vectors(space, found, last=texts[-1][0], now=clock()) else 0


def _vectors_of(
    tenant_id: UUID, policy: Policy, texts: list[tuple[int, str]], space: VectorSpace, until: float
) -> dict[int, Array]:
    """The vectors by position; there is none of a text that the endpoint takes in no company, nor of an empty one."""
    outbound = [(position, said) for position, text in texts if (said := _outbound_text(tenant_id, text))]
    found = _embed_in_halves(tenant_id, policy, outbound, until)
    if outbound and not found:
        raise EndpointFailed(reason="status")
    if len({each.size for each in found.values()} | ({space.dimension} if space.dimension else set())) > 1:
        raise EndpointFailed(reason=DIMENSION)
    return found


def _embed_in_halves(
    tenant_id: UUID, policy: Policy, outbound: list[tuple[int, str]], until: float
) -> dict[int, Array]:
    """Split texts that are refused together into halves, so that one of them does not block the others."""
    if not outbound:
        return {}
    seconds = min(BATCH_SECONDS, until - time.monotonic())
    if seconds <= 0:  # an endpoint that takes no text, slowly, is asked twice as often as there are texts
        raise EndpointFailed(reason="timeout")
    try:
        vectors = _request_vectors(tenant_id, policy, [text for _, text in outbound], seconds=seconds)
    except EndpointFailed as failed:
        if failed.details.get("status") not in NOT_TAKEN:
            raise
        half = len(outbound) // 2
        if not half:
            return {}
        return _embed_in_halves(tenant_id, policy, outbound[:half], until) | _embed_in_halves(
            tenant_id, policy, outbound[half:], until
        )
    return dict(zip([position for position, _ in outbound], vectors, strict=True))


# The endpoint.


def _outbound_text(tenant_id: UUID, text: str) -> str:
    """Return the part of a text that leaves this host: its beginning, without the tenant's secrets."""
    return redaction.for_derived(tenant_id)(text).text[:LONGEST].strip()


def _request_vectors(tenant_id: UUID, policy: Policy, texts: list[str], *, seconds: float) -> Array:
    """Request the vectors of the texts, in their order, each of length 1. Raises ``EndpointFailed`` as
    ``model_endpoint.post``."""
    from memory import model_endpoint  # with the HTTP client, which takes a tenth of a second to import

    url = f"{policy.embedding_url.rstrip('/')}/embeddings"
    body = {"model": policy.embedding_model, "input": texts, "encoding_format": "float"}
    most = BYTES_AROUND + len(texts) * BYTES_OF_A_VECTOR
    raw = model_endpoint.post(tenant_id, url, body, secret=policy.embedding_secret, seconds=seconds, max_bytes=most)
    return _read(raw, len(texts))


def _read(raw: bytes, count: int) -> Array:
    """As many vectors as were asked for, of one length, of numbers that make one."""
    try:
        rows = orjson.loads(raw)["data"]
        placed = {row["index"]: row["embedding"] for row in rows}
        given = [placed[index] for index in range(count)]
        if len(rows) != count or not all(type(number) in (int, float) for each in given for number in each):
            raise EndpointFailed(reason="malformed")
        found = np.array(given, np.float64)
    except (ValueError, LookupError, TypeError, OverflowError):
        raise EndpointFailed(reason="malformed") from None
    sound = found.ndim == 2 and 0 < found.shape[1] <= MOST_NUMBERS and bool((np.abs(found) <= LARGEST).all())
    lengths = np.linalg.norm(found, axis=1) if sound else np.zeros(1)
    if not (lengths > 0).all():
        raise EndpointFailed(reason="malformed")
    return (found / lengths[:, None]).astype(np.float32)
