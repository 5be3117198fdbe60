"""Archives, and how a tenant's memory is kept, over HTTP: the console's extension of the OpenWOP face."""
