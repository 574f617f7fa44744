"""The forms in which every report can be had, by name; light, so that the command line knows them at once."""

from enum import StrEnum


class Format(StrEnum):
    """What a report is printed as."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


FORMS = ("html", "csv", "latex", "junit")
"""Forms of files, beside what a terminal shows."""
KNOWN = (*Format, *FORMS)
"""All of them; a suite can have one of its own besides."""
