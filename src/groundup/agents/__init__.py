"""Agents: from a task, a sandbox and a model to a submission."""
