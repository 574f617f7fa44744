"""Tests of groundup.registries."""
