"""What may be learnt from: a text without a secret, the mark of one, or what was forgotten (SR-1, RFC 0080).

What had to be hidden is not learnt in part: the text that held it is left out as a whole.
"""

from functools import lru_cache
from typing import Any
from uuid import UUID

from memory import harness
from memory.matching import FORGOTTEN, texts_in
from memory.redaction import MARK

KNOWN = 4096

Document = dict[str, Any]


class Sieve:
    """What one tenant's traces go through, with the secrets that its vault holds at this moment."""

    def __init__(self, tenant_id: UUID) -> None:
        self._redact = harness.for_derived(tenant_id)
        self._judged = lru_cache(KNOWN)(self._judge)

    def passes(self, text: str) -> bool:
        """Whether nothing is hidden in ``text``, and nothing of it would have to be; looked at once, as it comes again
        and again."""
        return self._judged(text)

    def _judge(self, text: str) -> bool:
        hidden = MARK in text or FORGOTTEN in text
        return bool(text.strip()) and not hidden and self._redact(text).count == 0

    def members(self, document: Document) -> Document:
        """The members of ``document`` that may be learnt from, whole ones alone."""
        return {name: value for name, value in document.items() if self._all_pass((name, *texts_in(value)))}

    def _all_pass(self, texts: tuple[str, ...]) -> bool:
        return all(self.passes(text) for text in texts if text.strip())
