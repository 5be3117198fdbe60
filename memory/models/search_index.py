"""What the ledger writes and the adapter reads of the index of full text (``ledger.index``).

A block is a word's entries among 4,096 positions: four bytes each, of which the highest twelve bits are the position
within the block, the next four how often the entry has the word, and the lowest sixteen how many words it has.
"""

# The tenant's number in the index, the position up to which its entries are indexed, how many are, and their words.
MARK = "SELECT number, position, entries, words FROM memory_searchledger WHERE tenant_id = %s"
BLOCK = 12
OFFSET, TIMES = 20, 16
IN_BLOCK = (1 << BLOCK) - 1
MOST_TIMES, MOST_WORDS = (1 << OFFSET - TIMES) - 1, (1 << TIMES) - 1
POSTING = "<u4"
