"""Reviewable learning: proposals, their approval and their installation."""
