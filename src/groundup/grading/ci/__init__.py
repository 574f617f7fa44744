"""A repository's own CI job: read its workflow, run it with act in sandboxes, and say whether it passed."""
