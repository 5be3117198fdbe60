"""A subject is forgotten for good: looked for, planned, erased, verified and receipted."""
