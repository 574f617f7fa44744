"""Tests of groundup.gateways."""
