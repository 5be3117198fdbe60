"""The demo: two tenants whose memory was written by runs. All its words stand in ``data/``, one folder a tenant."""
