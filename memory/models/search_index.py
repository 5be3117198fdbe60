"""What the ledger writes and the adapter reads of the index of full text on SQLite (``ledger.indexing``)."""

# The tenant's number in the index, and the position up to which its entries are indexed.
MARK = "SELECT number, position FROM memory_searchledger WHERE tenant_id = %s"
# The row of an entry in the index is the number of its tenant above this many bits, and its position in them.
SHIFT = 40
