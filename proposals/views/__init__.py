"""The operator pages of proposals: inbox, review, actions and approval policies."""
