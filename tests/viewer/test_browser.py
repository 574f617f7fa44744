"""The pages in a real browser: by mouse and keyboard, in both colour schemes, on narrow screens.

`make browser` runs these. With SCREENSHOTS=FOLDER they leave the pictures of the documentation there.
"""

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from groundup.api.reports import report, write_report
from groundup.cli.view import write_pages
from groundup.domain.subjects import AttemptKey
from groundup.reports.summary import report_run
from groundup.store.folder import RunWriter
from tests.needs import lack
from tests.patience import patient
from tests.reports.made import BEGAN, Word, run_of
from tests.viewer.made import BASE, EVIL, HOSTILE, OTHER, fill, served, write_run
from tests.viewer.pictured import PICTURES, WORDS, pictured_words, write_runs
from tests.viewer.test_turns import play

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from groundup_board.page import Entry

pytestmark = [pytest.mark.end_to_end, pytest.mark.needs("chromium")]
_PATIENCE_MS = patient(60) * 1000
ATTEMPT = "/run/base/attempt/one/0"
CODE = {
    "rich.py": '@wraps(f)\nclass A(B):\n    """Doc."""\n    # comment\n    x = f"{0x1F!r}\\n"\n$ ??\n',
    "page.html": '<!doctype html><a href="x">&amp;</a><!-- c -->\n',
    "change.diff": "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n",
    "run.sh": '#!/bin/sh\nfor i in $(ls); do echo "$i"; done\n',
    "list.yaml": "a: &x\n  - *x\n  - 'q' # c\n",
}
"""Files whose highlighting has every kind of colour."""
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PAGES = {
    "runs": "/",
    "run": "/run/base",
    "tables": "/run/base/tables",
    "why": ATTEMPT,
    "tests": f"{ATTEMPT}?tab=tests",
    "trajectory": f"{ATTEMPT}?tab=trajectory",
    "files": f"{ATTEMPT}?tab=files&path=pkg/main.py",
    **{name: f"{ATTEMPT}?tab=files&path={name}" for name in CODE},
    "logs": f"{ATTEMPT}?tab=logs",
    "instruction": f"{ATTEMPT}?tab=instruction",
    "difference": f"{ATTEMPT}?tab=files&against=other",
    "usage": f"{ATTEMPT}?tab=trajectory&kind=usage",
    "compare": "/compare?run=base&run=other",
    "search": "/search?q=test",
    "missing": "/run/none",
}


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Chromium, as this machine has it."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        lack("playwright", error)
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        opened = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=options)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with a hostile submission."""
    folder = tmp_path_factory.mktemp("runs")
    base = write_run(folder, "base", BASE)
    fill(base, "one")
    for name, text in CODE.items():
        (base.attempt(AttemptKey(task="one")).submission / name).write_text(text)
    better = write_run(folder, "other", OTHER).attempt(AttemptKey(task="one")).submission
    shutil.copytree(folder / "base" / "attempts" / "one" / "0" / "submission", better, symlinks=True)
    (better / "pkg" / "main.py").write_text("def main():\n    return 1\n")
    return folder


@pytest.fixture(scope="module")
def place(runs: Path) -> Iterator[str]:
    """The address of a viewer."""
    with served(runs) as address:
        yield address


class Window:
    """A page whose console is read: what a stranger's script would say is there."""

    def __init__(self, browser: "Browser", **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(_PATIENCE_MS)
        self.page: Page = self.context.new_page()
        self.said: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))

    def __enter__(self) -> "Window":
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def picture(self, name: str) -> None:
        """Keep a picture for the documentation, where it is asked for."""
        if folder := os.environ.get("SCREENSHOTS"):
            self.page.screenshot(path=Path(folder) / f"{name}.png")


def complaints(page: "Page") -> list[str]:
    """Return what axe finds wrong with a page for people with disabilities."""
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError as error:
        lack("axe-playwright-python", error)
    found = Axe().run(page, options={"runOnly": _RULES}).response["violations"]
    return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


def test_people_find_why_points_were_lost(browser: "Browser", place: str) -> None:
    """From the list of runs to the run, its task, the reason and the test's own words, with the mouse."""
    with Window(browser, viewport={"width": 1100, "height": 720}) as window:
        page = window.page
        page.goto(place)
        page.get_by_role("link", name="base").click()
        assert page.get_by_role("heading", name="Where points were lost").is_visible()
        page.get_by_role("link", name="one", exact=True).click()
        assert page.get_by_text("1 expected test did not pass").is_visible()
        assert page.get_by_text("test_").first.is_visible()
        page.get_by_role("link", name="what differs between").click()
        assert "-    return 1" in page.locator("pre.diff").inner_text()
        page.get_by_role("link", name="files", exact=True).click()
        page.get_by_role("link", name="main.py").click()
        assert page.locator("pre.code .k").first.inner_text() == "def"
        page.get_by_role("link", name="Runs").click()
        for box in page.get_by_role("checkbox").all():
            box.check()
        page.get_by_role("button", name="Compare the chosen runs").click()
        assert page.get_by_role("heading", name="Tasks that decide it").is_visible()
        assert window.said == []


def test_the_keyboard_is_enough(browser: "Browser", place: str) -> None:
    """Tab and Enter open a run, arrows turn tasks and pages, j and k go through steps."""
    with Window(browser) as window:
        page = window.page
        page.goto(place)
        link = page.get_by_role("link", name="base")
        for _ in range(20):
            page.keyboard.press("Tab")
            if link.evaluate("element => element === document.activeElement"):
                break
        outline = link.evaluate("element => getComputedStyle(element).outlineStyle")
        assert outline != "none"
        page.keyboard.press("Enter")
        page.wait_for_url("**/run/base")

        page.goto(place + PAGES["trajectory"])
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        assert page.locator(".step.here").get_attribute("id") == "step-0"
        page.keyboard.press("ArrowRight")
        page.wait_for_url("**first=20*")
        page.keyboard.press("ArrowLeft")
        page.wait_for_url("**first=0*")
        page.goto(place + ATTEMPT)
        page.keyboard.press("ArrowRight")
        page.wait_for_url("**/attempt/three/0")
        assert window.said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_readable_in_both_schemes_and_on_a_phone(
    browser: "Browser", place: str, scheme: str
) -> None:
    """Axe finds nothing, contrast included; at 360 pixels nothing is wider than the screen; no script speaks."""
    with Window(browser, color_scheme=scheme, viewport={"width": 360, "height": 740}) as window:
        wrong = {}
        for name, address in PAGES.items():
            window.page.goto(place + address)
            assert window.page.title().endswith(" - groundup")
            wide = window.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            wrong[name] = complaints(window.page) + ([f"{wide} pixels too wide"] if wide > 0 else [])
        assert {name: found for name, found in wrong.items() if found} == {}
        said = [text for text in window.said if "404" not in text]  # the browser's own word on the missing page
        assert said == []


def test_a_page_of_a_run_in_flight_follows_it(browser: "Browser", tmp_path: Path) -> None:
    """A verdict that comes in appears without a hand, and the run is at rest when it ends."""
    words: dict[str, list[Word]] = {"one": [(1, 2)], "two": ["pending"]}
    config, lines = run_of("live", words)
    with served(tmp_path) as place, Window(browser) as window:
        with RunWriter.create(tmp_path / "live", config) as writer:
            (line,) = lines.values()
            line = line.but(submission="made-one")
            writer.record(line, [], {})
            window.page.goto(f"{place}/run/live")
            badge = window.page.get_by_text("at work")
            assert badge.is_visible()
            later = line.but(
                submission="made-two", attempt=AttemptKey(task="two"), finished_at=BEGAN + timedelta(seconds=9)
            )
            writer.record(later, [], {})
            window.page.get_by_text("not graded yet").wait_for(state="detached")
        badge.wait_for(state="detached")
        assert window.said == []


def test_a_hostile_submission_stays_text(browser: "Browser", place: str) -> None:
    """Names, tests, logs, files and words of the model are shown as they are, and none of them runs."""
    with Window(browser) as window:
        page = window.page
        for name in ("why", "tests", "trajectory", "files", "logs"):
            page.goto(place + PAGES[name])
            assert page.title() == "one/0 in base - groundup"
            assert page.locator("img").count() == 0
            assert page.locator("script").count() == 1
        assert EVIL in page.locator("pre").first.inner_text()
        page.goto(f"{place}{ATTEMPT}?tab=files")
        page.get_by_role("link", name="<script>").click()
        assert EVIL in page.locator("pre").first.inner_text()
        for name in HOSTILE:
            page.goto(f"{place}{ATTEMPT}?tab=files&path={quote(name)}")
            assert page.title() == "one/0 in base - groundup"
            assert page.locator("main :is(img, iframe, svg, script)").count() == 0
            assert page.locator("main pre").count() == 1
        assert window.said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_in_one_file(browser: "Browser", runs: Path, tmp_path: Path, scheme: str) -> None:
    """Opened from a disk: axe finds nothing, tables sort and filter, and it prints with everything in it."""
    write_run(
        runs, f"long-{scheme}", {f"task-{number}": [(number % 3, 2)] for number in (1, 2, 4, 5, 7, 8, 10, 11)}
    )
    made = report(runs / "base", runs / "other", runs / f"long-{scheme}")
    file = write_report(made, "html", tmp_path / "report.html")
    with Window(browser, color_scheme=scheme, viewport={"width": 1000, "height": 700}) as window:
        page = window.page
        page.goto(file.as_uri())
        assert complaints(page) == []
        table = page.locator("table").first
        rows = table.locator("tbody tr")
        table.get_by_role("button", name="task").click()
        assert rows.first.locator("td").first.inner_text() == "four"
        table.get_by_role("button", name="task").click()
        assert rows.first.locator("td").first.inner_text() == "two"
        page.get_by_label("Filter").first.fill("task-10")
        assert rows.filter(visible=True).count() == 1
        page.emulate_media(media="print")
        assert not page.get_by_label("Filter").first.is_visible()
        assert len(page.pdf()) > 10_000
        page.set_viewport_size({"width": 360, "height": 700})
        page.emulate_media(media="screen")
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        assert window.said == []


@pytest.mark.needs("groundup_board")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_leaderboard_filters_its_rows(browser: "Browser", tmp_path: Path, scheme: str) -> None:
    """Opened from a disk: axe finds nothing, a choice hides the other rows, and the address keeps it."""
    from groundup_board.page import board

    file = tmp_path / "index.html"
    file.write_text(board([_entry("base", BASE, "agent"), _entry("other", OTHER, "predictions")]))
    with Window(browser, color_scheme=scheme, viewport={"width": 360, "height": 700}) as window:
        page = window.page
        page.goto(file.as_uri())
        assert complaints(page) == []
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        rows = page.locator("tbody tr")
        page.get_by_label("agent kind").select_option("agent")
        assert rows.filter(visible=True).count() == 1
        assert page.url.endswith("#kind=agent")
        page.reload()
        assert rows.filter(visible=True).count() == 1
        assert window.said == []


def _entry(name: str, words: dict[str, list[Word]], kind: str) -> "Entry":
    from groundup_board.page import Entry, Verified

    return Entry(
        run=report_run(*run_of(name, words)),
        kind=kind,
        task_set="full",
        set_digest="sha256:0",
        verified=Verified(
            by=EVIL,
            at=datetime(2026, 11, 1, tzinfo=UTC),
            tasks=1,
            of=2,
            seed=7,
            unsteady=0,
            record="evidence/a.json",
        ),
        limits="none",
        contamination=EVIL,
        evidence=f"evidence/{name}.tar.gz",
        digest="0" * 64,
    )


def test_pictures_of_the_documentation(browser: "Browser", tmp_path: Path) -> None:
    """The pages that the documentation shows are whole in both schemes.

    `SCREENSHOTS=docs` keeps pictures of them, with their words: test_pictures.py says when these are old.
    """
    with served(write_runs(tmp_path)) as place:
        for name, (address, scheme, height) in PICTURES.items():
            with Window(browser, color_scheme=scheme, viewport={"width": 1000, "height": height}) as window:
                window.page.goto(place + address)
                assert complaints(window.page) == []
                assert window.said == []
                window.picture(name)
        if os.environ.get("SCREENSHOTS"):
            WORDS.write_text(pictured_words(place), encoding="utf-8")


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 390), ("light", 1280), ("dark", 1280)])
def test_the_walk_from_a_failed_task_to_a_file_at_turn_7(
    browser: "Browser", tmp_path: Path, scheme: str, width: int
) -> None:
    """Which tasks did A fail and B solve, why did this test fail, what did turn 7 do, what was the file then.

    By keyboard alone, in seven presses of Enter or Space; axe finds nothing on the way, and nothing is too wide.
    """
    for name, score in (("model-a", 1), ("model-b", 2)):
        run = write_run(tmp_path, name, {"one": [(score, 2)], "two": [(1, 2)]}, said="split")
        play(run, [f"value = {turn}\n" for turn in range(1, 10)])
    with served(tmp_path) as place:
        options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
        with Window(browser, **options) as window:
            page = window.page
            page.goto(place)
            wrong = []

            def choose(role: Any, name: str) -> None:
                wrong.extend(complaints(page))
                wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
                wrong.extend([f"{page.url}: {wide} pixels too wide"] if wide > 0 else [])
                there = page.get_by_role(role, name=name, exact=True).first
                for _ in range(150):
                    if there.evaluate("element => element === document.activeElement"):
                        break
                    page.keyboard.press("Tab")
                if role == "checkbox":
                    page.keyboard.press("Space")
                    return
                with page.expect_navigation():
                    page.keyboard.press("Enter")

            choose("checkbox", "Compare model-a")
            choose("checkbox", "Compare model-b")
            choose("button", "Compare the chosen runs")
            window.picture(f"walk-compare-{scheme}-{width}")
            assert "model-b alone solved 1" in page.locator("main").inner_text()
            choose("link", "50.0 %")
            assert "assert split" in page.locator("main").inner_text()
            choose("link", "trajectory")
            choose("link", "turn 7")
            assert "+value = 7" in page.locator("pre.diff").inner_text()
            choose("link", "The file after this turn")
            assert page.locator("pre.code").inner_text().strip() == "value = 7"
            wrong.extend(complaints(page))
            assert wrong == []
            assert window.said == []
            window.picture(f"walk-{scheme}-{width}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_static_site_works_from_a_disk(browser: "Browser", runs: Path, tmp_path: Path, scheme: str) -> None:
    """Styled, readable on a phone, with the arrow keys, and nothing that only a server can do."""
    made = write_pages(runs / "base", runs / "other", site=tmp_path / "site")
    with Window(browser, color_scheme=scheme, viewport={"width": 390, "height": 740}) as window:
        page = window.page
        for name in ("index.html", "base/index.html", "base/one.0/index.html", "compare/run-base-run-other.html"):
            page.goto((made.index.parent / name).as_uri())
            assert window.said == []
            assert complaints(page) == []
            window.said.clear()  # axe itself asks for the style sheet, which the policy refuses
            assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
            size = page.locator("nav.path").evaluate("element => getComputedStyle(element).fontSize")
            assert size == "14px", "the style sheet was refused"
            window.picture(f"site-{scheme}-{name.partition('/')[0]}")
        page.goto((made.index.parent / "base/one.0/index.html").as_uri())
        with page.expect_navigation():
            page.keyboard.press("ArrowRight")
        assert page.url.endswith("/base/three.0/index.html")
        assert window.said == []


def test_a_page_that_is_made_anew_keeps_one_s_place(browser: "Browser", tmp_path: Path) -> None:
    """Where it was scrolled, what was opened and what was chosen; what somebody types is not taken away."""
    words: dict[str, list[Word]] = {f"task-{number:02}": [(1, 2)] for number in range(60)}
    config, lines = run_of("live", words | {"last": ["pending"]})
    with served(tmp_path) as place, Window(browser, viewport={"width": 390, "height": 700}) as window:
        page = window.page
        with RunWriter.create(tmp_path / "live", config) as writer:
            *early, late = [line.but(submission=f"made-{key.task}") for key, line in lines.items()]
            for line in early:
                writer.record(line, [], {})
            page.goto(f"{place}/run/live")
            link = page.get_by_role("link", name="task-30", exact=True)
            link.focus()
            page.evaluate("window.scrollTo(0, 1500); window.mine = 1")
            before = page.evaluate("window.scrollY")
            writer.record(late, [], {})
            page.get_by_text(", 1 left").wait_for()
            assert page.evaluate("window.mine") == 1, "the page was loaded again"
            assert abs(page.evaluate("window.scrollY") - before) < 50
            assert link.evaluate("element => element === document.activeElement")
        page.get_by_text("at work").wait_for(state="detached")
        assert window.said == []
