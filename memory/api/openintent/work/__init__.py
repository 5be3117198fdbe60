"""Intents, tasks, coordinators and agents over HTTP, in the shapes of the published client (contract 2.2)."""
