"""A repository's own CI job: plan it, run it with act in sandboxes, and decide whether it passed."""
