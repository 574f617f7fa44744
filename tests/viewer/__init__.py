"""The viewer of runs."""
