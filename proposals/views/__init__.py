"""The operator pages of proposals: the inbox, the review of one, and what is decided there."""
