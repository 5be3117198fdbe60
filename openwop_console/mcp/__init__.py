"""The Model Context Protocol at ``/mcp``: tools and resources over the same domain functions as the host extension."""
