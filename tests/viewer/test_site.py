"""Runs as a static site: every link leads to a file, nothing of a stranger runs, and a run has 3 MB at most."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from groundup.cli.view import write_pages
from groundup.domain.errors import UsageError
from groundup.domain.verdicts import TestResult
from groundup.store.folder import RunWriter
from groundup.viewer.site import RUN_BYTES
from tests.reports.made import run_of
from tests.viewer.made import BASE, EVIL, OTHER, fill, write_run
from tests.viewer.pictured import write_runs
from tests.viewer.test_pages import words
from tests.viewer.test_turns import play


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Three runs, one of which nobody asks for."""
    folder = tmp_path / "runs"
    base = write_run(folder, "base", BASE)
    fill(base, "one")
    play(base, [f"value = {turn}\n" for turn in range(1, 10)])
    write_run(folder, "other", {**OTHER, "tables": [(1, 2), (2, 2)]})
    write_run(folder, "secret", BASE)
    return folder


def leading_nowhere(site: Path) -> list[str]:
    """Return the links of a site's pages that lead to no file of it."""
    wrong = []
    for page in site.rglob("*.html"):
        for link in re.findall(r'(?:href|src)="([^"]*)"', page.read_text()):
            path = unquote(unescape(link).partition("#")[0])
            if path and not (page.parent / path).resolve().is_relative_to(site.resolve()):
                wrong.append(f"{page.name}: {link} leads out")
            elif path and not (page.parent / path).is_file():
                wrong.append(f"{page.name}: {link}")
    return wrong


def test_each_link_leads_to_a_page(runs: Path, tmp_path: Path) -> None:
    """Of the runs that were asked for, at addresses that stay; trajectories are left out."""
    site = tmp_path / "site"
    made = write_pages(runs / "base", runs / "other", site=site)
    assert leading_nowhere(site) == []
    assert made.pages == len([*site.rglob("*.html")])
    assert "1 expected test did not pass" in words((site / "base/one.0/index.html").read_text())
    assert "2 attempts" in words((site / "other/tables.all/index.html").read_text())
    assert "other alone solved 1" in words((site / "compare/run-base-run-other.html").read_text())
    text = "".join(page.read_text() for page in site.rglob("*.html"))
    assert "secret" not in text
    assert "value = 7" not in text
    assert not re.search(r"<(form|input|button|img)\b", text)
    assert text.count("<script") == made.pages
    assert EVIL in words(text)


def test_trajectories_come_where_they_are_asked_for(runs: Path, tmp_path: Path) -> None:
    """Turn by turn, with the file as the turn left it."""
    write_pages(runs / "base", site=tmp_path / "site", trajectories=True)
    assert leading_nowhere(tmp_path / "site") == []
    turn = (tmp_path / "site/base/one.0/trajectory-turn-7.html").read_text()
    assert "+value = 7" in words(turn)
    link = re.search(r'href="([^"]*)">The file after this turn', turn)
    assert link
    assert "value = 7" in words((tmp_path / "site/base/one.0" / unquote(link[1])).read_text())


def test_nothing_of_a_user_s_is_replaced(runs: Path, tmp_path: Path) -> None:
    """A folder with other files is refused; an earlier site is made anew."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "index.html").write_text("my page")
    with pytest.raises(UsageError, match="no site of groundup"):
        write_pages(runs / "base", site=mine)
    assert (mine / "index.html").read_text() == "my page"
    for chosen in ([runs / "base"], [runs / "base", runs / "other"]):
        write_pages(*chosen, site=tmp_path / "site")
    assert (tmp_path / "site/other/index.html").is_file()


def test_one_run_that_cannot_be_read_is_left_out_by_name(runs: Path, tmp_path: Path) -> None:
    """The others have their pages, and the list says why it has none; a site of nothing else is refused."""
    (runs / "secret" / "config.json").write_text("{")
    made = write_pages(runs, site=tmp_path / "site")
    assert [said for said in made.unfit if said.startswith("secret has no pages: ")] == list(made.unfit)
    assert made.unfit
    listed = (tmp_path / "site/index.html").read_text()
    assert re.search(r'secret</td><td colspan="6" class="warning">[^<]*cannot be read', listed)
    assert leading_nowhere(tmp_path / "site") == []
    assert (tmp_path / "site/compare/run-base-run-other.html").is_file()
    with pytest.raises(UsageError, match="cannot be read"):
        write_pages(runs / "secret", site=tmp_path / "none")


def test_a_run_has_three_megabytes_at_most(tmp_path: Path) -> None:
    """However many tests there are: what was left out is counted, and no link leads there."""
    config, lines = run_of("large", {f"task-{number:03}": [(1, 2)] for number in range(60)})
    tests = [
        TestResult(
            id=f"tests/test_a.py::test_{number}_{'x' * 600}", outcome="failed", expected=True, detail="y" * 900
        )
        for number in range(150)
    ]
    with RunWriter.create(tmp_path / "runs" / "large", config) as writer:
        for line in lines.values():
            writer.record(line, tests, {})
    made = write_pages(tmp_path / "runs" / "large", site=tmp_path / "site")
    assert made.bytes <= RUN_BYTES
    assert made.left_out > 0
    assert leading_nowhere(tmp_path / "site") == []
    assert len([*(tmp_path / "site").rglob("task-*/index.html")]) == 60


def test_pages_for_others_say_where_a_test_was_lost_and_not_what_it_demanded(tmp_path: Path) -> None:
    """Neither values nor what a line would have to be, nor the names that hidden tests use."""
    runs = write_runs(tmp_path / "runs")
    write_pages(runs / "model-a", site=tmp_path / "site")
    page = words((tmp_path / "site/model-a/sqlparse.0/index.html").read_text())
    assert "probably sqlparse/__init__.py:72: return" in page
    assert "passes with" not in page
    assert "demanded" not in page
    assert "where 1 = len" not in page
    assert "its text" not in page
