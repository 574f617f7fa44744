"""Every link between pages leads somewhere, and every data file is shown by a page."""

import re
from pathlib import Path

import pytest
from benchmarks.tables import DATA, of_page, of_recipes

from tests.docs.pages import PAGES, ROOT
from tests.needs import trouble

ALL = (*(page for page in PAGES if page.name != "CHANGELOG.md"), ROOT / "benchmarks" / "README.md")
"""The changelog tells history, also of pages that are gone."""
_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


def links(page: Path) -> list[str]:
    """Return where *page* links to within the repository."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"\w+:", target)]


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of *page*, as GitHub makes them."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line) for line in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    return {re.sub(r"[^\w -]", "", line.lower()).strip().replace(" ", "-") for line in plain}


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    """The file is there, and has the heading that the link names."""
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if (package := re.search(r"\bsrc/(groundup_\w+)", path)) and trouble(package[1]):
            continue  # it was removed from this checkout
        assert file.exists(), target
        assert not anchor or file.suffix != ".md" or anchor in anchors(file), target


def test_pages_link_to_pages_of_the_site() -> None:
    """A page of `docs/` becomes one of the site, which has no others."""
    docs = ROOT / "docs"
    for page in docs.rglob("*.md"):
        away = [link for link in links(page) if not (page.parent / link).resolve().is_relative_to(docs)]
        assert away == [], page.name


def test_every_data_file_is_shown_by_a_page() -> None:
    """A table that no page links to would be found by nobody."""
    linked = {(page.parent / link.partition("#")[0]).resolve() for page in PAGES for link in links(page)}
    assert {path.resolve() for path in DATA.iterdir()} <= linked


@pytest.mark.needs("groundup_factory")
def test_the_tables_of_recipes_are_those_of_the_recipes() -> None:
    """`python -m benchmarks.tables` would write what is there."""
    for name, text in of_recipes().items():
        assert (DATA / name).read_text(encoding="utf-8") == text, name


def test_a_page_becomes_a_table() -> None:
    """The first table of a page is taken, without its rule."""
    assert of_page("# A\n\n| a | b |\n| --- | --- |\n| 1 | two  words |\n\n| c |\n") == "a\tb\n1\ttwo words\n"
