"""What the reference pages say comes from the code, so nothing in it can be missing or out of date."""

from collections.abc import Callable

import pytest
from mkdocs_hooks import on_page_markdown

from groundup.cli.installation import commands, find_command, settings
from groundup.cli.main import every_command
from groundup.settings import Settings
from tests.cli.conftest import Groundup
from tests.docs.pages import ROOT


def test_the_reference_has_every_command_with_its_options() -> None:
    """A command or option that is added appears without anybody writing it down."""
    text = commands()
    for name in every_command():
        assert f"### groundup {name}\n" in text
        for parameter in find_command(name).params:
            assert parameter.param_type_name == "argument" or max(parameter.opts, key=len) in text


def test_the_reference_has_every_setting() -> None:
    """The same for settings."""
    text = settings()
    assert all(f"| `{name}` |" in text for name in Settings.model_fields)


def test_pages_ask_for_both() -> None:
    """The comments that the pages hold are those that are replaced."""
    for page, comment in (("cli", "<!-- every command -->"), ("cli", "<!-- every setting -->")):
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        assert comment in text
        assert comment not in on_page_markdown(text)


@pytest.mark.parametrize(("page", "shown"), [("cli", commands), ("cli", settings)])
def test_the_terminal_shows_what_the_site_shows(groundup: Groundup, page: str, shown: Callable[[], str]) -> None:
    """`groundup docs cli` has the parts that are made from the code, too."""
    assert shown().strip() in groundup("docs", page).out
