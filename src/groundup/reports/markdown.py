"""A report as GitHub-flavoured Markdown, for pull requests and notes."""

from collections.abc import Iterable

from groundup.reports.views import View


def markdown(views: Iterable[View]) -> str:
    """Return *views* as one Markdown text."""
    return "\n\n".join(map(_text, views)) + "\n"


def _text(view: View) -> str:
    blocks = [f"## {_escaped(view.title)}"]
    blocks += [_escaped(line) for line in view.above]
    if view.columns:
        lines = [_row(view.columns), _row(("---",) * len(view.columns), escape=False)]
        blocks.append("\n".join([*lines, *(_row(row) for row in view.rows)]))
    blocks += [_escaped(line) for line in view.below]
    return "\n\n".join(blocks)


def _row(cells: tuple[str, ...], *, escape: bool = True) -> str:
    return "| " + " | ".join(_escaped(cell) if escape else cell for cell in cells) + " |"


def _escaped(text: str) -> str:
    """Keep what a stranger's code wrote from being read as markup."""
    text = " ".join(text.split())
    for character in "\\`*_[]<>|#":
        text = text.replace(character, "\\" + character)
    return text
