"""Sandboxes that Docker or Podman makes: see `provider`."""
