"""The runtime: executes workflows as runs."""
