"""Judging an untrusted service: install, start, readiness, HTTP tests from another sandbox, probing."""
