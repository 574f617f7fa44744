"""Tests of the programs that run inside sandboxes."""
