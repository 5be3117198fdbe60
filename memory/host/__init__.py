"""The ground floor: tenants, principals, runs and their log, the audit chain, the vault and the registry."""
