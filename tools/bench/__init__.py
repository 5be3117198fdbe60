"""``make bench``: the rows of the performance table that this host measures itself by.

Only ratios count: ours against something raw, or against a peer, in the same round of the same process.
"""
