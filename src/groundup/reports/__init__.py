"""Verdicts in; tables, intervals, JSON and Markdown out. Pure: no disk, no network."""
