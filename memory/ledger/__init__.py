"""Every insert, change and removal of memory. Redacts, and appends the fact (SR-1, RFC 0057).

Redaction cannot be skipped: the ledger itself looks the secrets up. An entry, its tags, its position and its
``memory.written`` commit together or not at all.

An entry on its way into the table is an ``EntryDraft`` or an ``AddressedValue`` (what a caller wants), a
``RedactedDraft`` (the only texts that are stored), an ``EntryToInsert`` (with its run, and the pass that made it), and
``Written`` (what was stored). A ``Derivation`` adds the kind of pass to a draft, an ``ImportedEntry`` the id and the
time that it had elsewhere, a ``StatedWrite`` where an agent elsewhere says that it comes from.
"""

from memory.ledger import addressed, entries, erase, head, index, retirement, vectors

__all__ = ["addressed", "entries", "erase", "head", "index", "retirement", "vectors"]
