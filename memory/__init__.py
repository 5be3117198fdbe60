"""The ledger: every memory an agent wrote, who wrote it, and what became of it."""
