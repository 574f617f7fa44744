"""Package registries as a sandbox sees them: plain HTTP on its loopback, served by the host."""
