"""Schedules and heartbeats over HTTP: the console's extension of the OpenWOP face, over time."""
