"""Standing commitments over HTTP: the console's extension of the OpenWOP face."""
