"""Tests of groundup.environments."""
