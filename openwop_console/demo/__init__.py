"""The demo: two tenants whose memory was written by runs. All of its text is in ``data/``, one folder per tenant."""
