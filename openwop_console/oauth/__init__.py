"""OAuth 2.1 for clients of ``/mcp``: registration, consent, tokens, and the grant behind them (django-allauth)."""
