"""Reviewable learning: what an agent proposes, who decides, and what is installed."""
