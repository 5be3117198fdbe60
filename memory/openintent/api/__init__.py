"""``/api/v1``: OpenIntent as its real client speaks it."""
