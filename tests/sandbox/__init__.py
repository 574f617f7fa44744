"""Tests of sandboxes: one contract for every provider, and what is particular to each."""
