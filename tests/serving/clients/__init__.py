"""Programs that play episodes by clients of others, each in an environment of its own."""
