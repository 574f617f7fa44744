"""npm registries: the user's settings, their packuments, the client on the host, the gateway of a sandbox."""
