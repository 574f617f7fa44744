"""Maven repositories: the user's settings, the client on the host, the gateway of a sandbox."""
