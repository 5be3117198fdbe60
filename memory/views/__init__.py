"""The operator pages of the ledger, one file a noun. A view is: the scope, one call of the domain, a page."""
