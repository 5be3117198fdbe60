"""OAuth 2.1 for clients of ``/mcp``, by django-allauth: registration, consent, tokens, and the grant that they depend
on."""
