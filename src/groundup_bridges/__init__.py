"""Tasks and results exchanged with other people's harnesses: Harbor, Inspect and verifiers."""
