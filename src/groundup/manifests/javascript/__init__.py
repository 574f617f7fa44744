"""JavaScript: package.json and pnpm-workspace.yaml, by span and never reserialised."""
