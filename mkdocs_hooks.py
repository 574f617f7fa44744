"""What mkdocs calls while it builds the site."""

from typing import Any

from groundup.cli.installation import filled_in


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Write the reference of commands and settings into the pages that ask for it."""
    return filled_in(markdown)
