"""A subject is forgotten: looked for, planned, erased, verified and receipted (design.md 3.9)."""
