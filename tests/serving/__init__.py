"""Tests of `groundup.serving`."""
