"""`groundup docs`: the pages that help and messages name, as they came with this installation."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from groundup.cli.options import Examples

EXAMPLES: dict[str, Examples] = {
    "docs": (
        ("Which pages are there, and where?", "groundup docs"),
        ("What messages call docs/runs.md", "groundup docs runs"),
    ),
}


def docs(
    page: Annotated[
        str | None, typer.Argument(metavar="PAGE", help="The page to print, such as `runs` or `docs/runs.md`.")
    ] = None,
) -> int:
    """Print a page of the documentation, or list the pages and where they lie."""
    from groundup.cli.console import print_table, say
    from groundup.domain.errors import UsageError
    from groundup.domain.names import unknown

    folder = _folder()
    pages = {path.stem: path for path in sorted(folder.glob("*.md"))}
    if page is not None:
        name = Path(page).stem
        if name not in pages:
            raise UsageError(unknown("page", name, pages))
        sys.stdout.write(pages[name].read_text(encoding="utf-8"))
        return 0
    rows = [
        (name, path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")) for name, path in pages.items()
    ]
    print_table("", ("page", "about"), rows)
    say(f"groundup: the pages lie in {folder}")
    return 0


def _folder() -> Path:
    """Return the folder of pages: the checkout's, else what was installed with the package."""
    package = Path(__file__).parents[1]
    checkout = package.parents[1] / "docs"
    return checkout if (checkout / "architecture.md").is_file() else package / "docs"
