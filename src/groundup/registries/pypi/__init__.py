"""Python package indexes: the user's settings, their pages, the client on the host, the gateway of a sandbox."""
