"""The pages over runs: what they show is what run folders hold, and what strangers wrote stays text."""

import asyncio
import html
import json
import os
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from httpx import AsyncClient
from starlette.testclient import TestClient

from groundup.api.reports import compare, report
from groundup.domain.figures import percent
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import GraderIdentity, TestResult, share
from groundup.reports.numbers import between
from groundup.runs import evidence
from groundup.settings import Settings, load
from groundup.store.folder import RunFolder, RunWriter
from groundup.store.records import FleetFile, NodeStanding
from groundup.viewer.app import Viewer
from groundup.viewer.index import NAME, RunIndex
from tests.reports.made import Word, run_of
from tests.serving.house import Client, job_in, opened
from tests.store.edits import FOUND
from tests.store.folders import SHAPES, SuiteName
from tests.store.folders import write_run as write_whole_run
from tests.viewer.made import BASE, EVIL, OTHER, fill, served, write_run
from tests.viewer.pictured import write_runs

NODES = FleetFile(
    at=datetime.now(UTC),
    waiting=7,
    layers=2,
    nodes=(NodeStanding(name=f"alpha{EVIL}", slots=4, grading=3, arriving=1), NodeStanding(name="beta", slots=2)),
)
OFFICIAL = GraderIdentity(name="official", version="1", data_version="d1", environment="image")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs, and a folder that is none."""
    fill(write_run(tmp_path, "base", BASE), "one")
    write_run(tmp_path, "other", OTHER)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{")
    return tmp_path


@pytest.fixture
def client(runs: Path) -> Iterator[TestClient]:
    """A browser without scripts."""
    viewer = Viewer(load({"output": str(runs)}))
    with TestClient(viewer.app()) as client:
        yield client
    viewer.index.close()


def words(page: str) -> str:
    """Return the text of a page."""
    return html.unescape(re.sub(r"<style>.*?</style>|<[^>]*>", "", page, flags=re.DOTALL))


def test_the_first_page_has_each_run_with_the_figures_of_the_report(client: TestClient, runs: Path) -> None:
    """Terminal, JSON and page come from one report; a run that cannot be read says why."""
    page = words(client.get("/").text)
    for name in ("base", "other"):
        figure = report(runs / name).runs[0].headline
        assert share(figure.score) + between(figure.interval) in page
    assert "broken" in page
    assert "cannot be read" in page


def test_a_run_has_its_tasks_and_where_points_were_lost(client: TestClient) -> None:
    """Tasks are filtered by name and by the stage that took points."""
    page = words(client.get("/run/base").text)
    assert all(task in page for task in BASE)
    places = [
        client.get("/run/base").text.index(f'/run/base/task/{task}"') for task in ("three", "one", "two", "four")
    ]
    assert places == sorted(places), "those that lost most come first, what has no verdict last"
    assert "test 1.5 tasks, 100 %" in page
    assert "mean score, provisional" in page
    assert "50.0 %" in page
    assert "tampered" in page
    found = words(client.get("/run/base?q=tw").text)
    assert "1 task;" in found
    assert '/run/base/task/three"' not in client.get("/run/base?q=tw").text
    assert "2 tasks that lost points first at test" in words(client.get("/run/base?stage=test").text)


def test_an_attempt_says_what_was_demanded_and_where_the_submission_lost_it(tmp_path: Path) -> None:
    """As `why` does: what the test calls, the line that probably lost it, the values, and all names that lack."""
    viewer = Viewer(load({"output": str(write_runs(tmp_path))}))
    with TestClient(viewer.app()) as client:
        page = words(client.get("/run/model-a/attempt/sqlparse/0").text)
        assert "calls sqlparse/__init__.py:62: def split(" in page
        assert "probably sqlparse/__init__.py:72: return" in page
        assert "It demandedleft  1\nright 2\n+  where 1 = len(" in page
        tests = words(client.get("/run/model-a/attempt/sqlparse/0?tab=tests&q=test_psql").text)
        assert "left  1\nright 2" in tests
    viewer.index.close()


def test_the_text_of_a_hidden_test_is_shown_where_it_is_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the owner who asks for it, as `why -t` does; read from where the grader has it."""
    files = {
        "tests/test_parse.py": "def test_psql_quotation_marks():\n    t = split('a; b')\n    assert len(t) == 2\n"
    }

    async def hidden(folder: Path, task: str, settings: Settings) -> dict[str, str]:
        assert (folder, task) == (tmp_path / "model-a", "sqlparse")
        return files

    monkeypatch.setattr("groundup.viewer.app.hidden_files", hidden)
    viewer = Viewer(load({"output": str(write_runs(tmp_path))}))
    with TestClient(viewer.app()) as client:
        link = re.search(r'href="([^"]*)">its text', client.get("/run/model-a/attempt/sqlparse/0").text)
        assert link
        address = html.unescape(link[1])
        assert "t = split('a; b')" in words(client.get(address).text)
        assert "t = split('a; b')" not in words(client.get(address.replace("&text=yes", "")).text)
        files.clear()
        assert "The hidden tests of this task are not at hand here." in words(client.get(address).text)
    viewer.index.close()


def test_an_attempt_names_all_that_it_lacks_at_once(tmp_path: Path) -> None:
    """A test tells one of them."""
    config, lines = run_of("lacking", {"one": [(0, 1)]})
    with RunWriter.create(tmp_path / "lacking", config) as writer:
        said = {
            "id": "tests/test_a.py::test_b",
            "outcome": "failed",
            "expected": True,
            "message": "AttributeError: no a",
        }
        for line in lines.values():
            writer.record(line, [TestResult(**said, lacks=("Radio.toggle", "Radio.tune"))], {})
    viewer = Viewer(load({"output": str(tmp_path)}))
    with TestClient(viewer.app()) as client:
        page = words(client.get("/run/lacking/attempt/one/0").text)
        assert "names that the tests use and the submission lacks: Radio.toggle, Radio.tune" in page
    viewer.index.close()


def test_a_run_has_the_plots_and_tables_of_its_report(client: TestClient, runs: Path) -> None:
    """Those of the suite and its paper, too; a run that is not there has none."""
    write_run(runs, "sized", {"funcy": [(1, 2)], "box": [(2, 2)]}, suite="nl2repobench")
    page = client.get("/run/sized/tables").text
    for plot in ("Mean score", "How attempts ended"):
        assert f"<figcaption>{plot}" in page
    papers = report(runs / "sized").runs[0].summaries
    assert papers
    assert all(paper.headline in words(page) for paper in papers)
    assert client.get("/run/none/tables").status_code == 404


def test_a_comparison_names_the_tasks_that_decide_it(client: TestClient, runs: Path) -> None:
    """With the differences of `compare`."""
    page = words(client.get("/compare?run=base&run=other").text)
    (one,) = compare(runs / "base", runs / "other").comparisons
    assert f"{one.better} better, {one.worse} worse" in page
    for pair in one.pairs:
        assert (percent(pair.base) in page) or not pair.difference
    assert client.get("/compare?run=base").status_code == 404


@pytest.mark.parametrize("tab", ["why", "tests", "trajectory", "files", "logs", "unknown"])
def test_every_part_of_an_attempt_is_text(client: TestClient, tab: str) -> None:
    """No tag of a stranger is in a page: the only script is ours, and it is a file."""
    page = client.get(f"/run/base/attempt/one/0?tab={tab}").text
    assert page.count("<script") == 1
    assert "<img" not in page
    if tab in ("tests", "trajectory", "logs"):
        assert EVIL in words(page)


def test_lost_points_without_a_reason_are_not_called_none(client: TestClient, runs: Path) -> None:
    """A grader that compares texts names no stage."""
    config, lines = run_of("texts", {"one": [(1, 2)], "two": [(2, 2)]})
    with RunWriter.create(runs / "texts", config) as writer:
        for line in lines.values():
            assert line.verdict
            verdict = line.verdict.but(reasons=())
            writer.record(line.but(verdict=verdict, submission="made"), [], {})
    assert "names no single reason" in words(client.get("/run/texts/attempt/one/0").text)
    assert "Nothing was lost" in words(client.get("/run/texts/attempt/two/0").text)
    page = words(client.get("/run/texts").text)
    assert "Where points were lost" not in page
    assert "unstated" not in page
    assert "not solved" in words(client.get("/run/texts/tables").text)


def test_a_task_names_the_other_runs_that_have_it(client: TestClient, runs: Path) -> None:
    """With the mean of what counts there; a run without a score for it is left out."""
    write_run(runs, "several", {"one": [(0, 1), (1, 1)], "four": [(1, 1), (1, 1)]})
    assert "failed, solved" in words(client.get("/run/several").text)
    page = words(client.get("/run/several/task/one").text)
    assert "base50.0 %strict 3" in page
    assert "other100.0 %strict 3" in page
    assert "base" not in words(client.get("/run/several/task/four").text)


def test_graders_of_one_submission_stand_side_by_side(client: TestClient, runs: Path) -> None:
    """Another run that graded the same submission says so, on the page of the attempt."""
    first: dict[str, list[Word]] = {"one": [(1, 2)], "two": [(2, 2)]}
    write_run(runs, "strict", first, submission="sha256:1")
    write_run(runs, "official", first, submission="sha256:1", grader=OFFICIAL)
    page = words(client.get("/run/strict/attempt/one/0").text)
    assert "official50.0 %official 1, data d1, environment image" in page
    assert re.search(r"environment image\s*the same", page)
    assert re.search(r"environment rebuilt\s*another", page)


def test_a_comparison_has_a_grid_of_tasks_and_runs(client: TestClient) -> None:
    """Each score leads to its attempts; a filter narrows the tasks."""
    page = client.get("/compare?run=base&run=other&q=tw").text
    assert "1 task:" in words(page)
    start = page.index('<table class="grid cards"')
    grid = page[start : page.index("</table>", start)]
    assert '<a href="/run/base/task/two">100.0 %</a>' in grid
    assert '<a href="/run/other/task/two">50.0 %</a>' in grid
    assert "/task/one" not in grid


def test_logs_stand_below_the_try_that_wrote_them(client: TestClient, runs: Path) -> None:
    """The try that counts comes last, whatever the others are called."""
    logs = RunFolder(runs / "base").attempt(AttemptKey(task="one")).logs
    for number in (10, 2):
        (logs / f"try-{number}").mkdir()
        (logs / f"try-{number}" / "tests.txt").write_text(f"this is try {number}")
    page = client.get("/run/base/attempt/one/0?tab=logs&path=logs/try-10/tests.txt").text
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert headings[:3] == ["try 2, repeated", "try 10, repeated", "the try that counts"]
    assert "this is try 10" in page


def test_a_page_follows_the_trajectory_of_an_attempt_at_work(runs: Path) -> None:
    """Its events tell how long the file is; what is settled has none."""
    viewer = Viewer(load({"output": str(runs)}))
    config, _ = run_of("live", {"one": ["pending"]})
    with RunWriter.create(runs / "live", config), TestClient(viewer.app()) as client:
        assert 'data-events="/run/live/events?task=one&amp;number=0"' in client.get("/run/live/attempt/one/0").text
        assert "data-events" not in client.get("/run/base/attempt/one/0").text
        attempt = RunFolder(runs / "live").attempt(AttemptKey(task="one"))
        attempt.path.mkdir(parents=True)
        attempt.saying_file.write_text("def parse(<b>")
        assert "<pre>def parse(&lt;b&gt;</pre>" in client.get("/run/live/attempt/one/0?tab=trajectory").text
        assert "def parse" not in client.get("/run/base/attempt/one/0?tab=trajectory").text
        attempt.saying_file.unlink()
    fill(RunFolder(runs / "live"), "one")
    with TestClient(viewer.app()) as client:
        events = client.get("/run/live/events?task=one&number=0").text
    size = (runs / "live" / "attempts" / "one" / "0" / "trajectory.jsonl").stat().st_size
    assert json.loads(events.split("data: ")[1].split("\n")[0]) == {"bytes": size, "said": 0}
    viewer.index.close()


async def _page_with(wanted: str, reader: AsyncClient, address: str) -> str:
    """Return the page once it holds *wanted*: `create` answers before the episode began."""
    page, tries = "", 0
    while wanted not in page and tries < 500:
        page, tries = (await reader.get(address)).text, tries + 1
        await asyncio.sleep(0.02)
    return page


async def test_pages_follow_episodes_of_a_server(tmp_path: Path) -> None:
    """An episode is there once it began, also a second one at its task; what it does comes as an event."""
    async with opened(job_in(tmp_path)) as house, Client(house.address) as player, AsyncClient() as reader:
        with served(tmp_path / "runs") as place:
            run = f"{place}/run/served"
            sid = await player.create()
            assert "task-0000" in await _page_with("task-0000", reader, run)
            await player.create()
            page = await _page_with("data-events", reader, f"{run}/attempt/task-0000/1")
            assert 'data-events="/run/served/events?task=task-0000&amp;number=1"' in page
            async with reader.stream("GET", f"{run}/events?task=task-0000&number=0", timeout=None) as events:
                async for line in events.aiter_lines():
                    if line == "event: same":
                        await player.bash(sid, "behave half")
                    if line == "event: changed":
                        break
            assert "behave half" in (await reader.get(f"{run}/attempt/task-0000/0?tab=trajectory")).text
            assert (await player.call(sid, "submit"))["output"]["reward"] == 0.5
            assert "50.0 % (1/2)" in (await reader.get(f"{run}/attempt/task-0000/0")).text


def test_a_trajectory_has_pages_and_kinds(client: TestClient) -> None:
    """A torn last line counts as never written; calls show the command."""
    page = client.get("/run/base/attempt/one/0?tab=trajectory").text
    assert page.count('class="step') == evidence.STEPS_SHOWN
    assert f"bash: echo {EVIL}" in words(page)
    replies = client.get("/run/base/attempt/one/0?tab=trajectory&kind=reply&first=20").text
    assert replies.count('class="step reply"') == 10
    assert "torn" not in page


def test_replies_are_shown_by_their_parts(client: TestClient) -> None:
    """Calls, reasoning, or what each reply used, each without the rest."""
    address = "/run/base/attempt/one/0?tab=trajectory&kind="
    calls, reasoning, usage = (client.get(address + kind).text for kind in ("calls", "reasoning", "usage"))
    assert calls.count('<pre class="call">') == reasoning.count('<pre class="reasoning">') == 20
    assert "because" not in calls
    assert "echo" not in reasoning
    assert usage.count("0 + 0 tokens") == 20
    assert "<pre" not in usage


def test_a_failed_test_has_what_its_log_says(client: TestClient) -> None:
    """Without the frames of the test runner, and with the place in the log."""
    page = client.get("/run/base/attempt/one/0").text
    assert f"<pre>assert {html.escape(EVIL, quote=False)}".replace("'", "&#39;") in page
    (start,) = re.findall(r"path=logs/trace.txt&amp;start=(\d+)", page)
    assert "call()" in client.get(f"/run/base/attempt/one/0?tab=logs&path=logs/trace.txt&start={start}").text


def test_a_failed_test_shows_its_short_traceback_with_the_values(client: TestClient, runs: Path) -> None:
    """What `groundup why` prints, as text, on both tabs; the place in the log stands below."""
    said = RunFolder(runs / "base").attempt(AttemptKey(task="one"))
    detail = "test_a.py:3: in test_b\n    assert f(1) == 2\nE   assert 1 == 2\x1b[31m<b>"
    results = [one.but(detail=detail) for one in said.tests()]
    said.tests_file.write_text("".join(f"{one.model_dump_json()}\n" for one in results))
    for tab in ("why", "tests"):
        page = client.get(f"/run/base/attempt/one/0?tab={tab}").text
        assert "<pre>test_a.py:3: in test_b\n    assert f(1) == 2\nE   assert 1 == 2&lt;b&gt;</pre>" in page
        assert "path=logs/trace.txt&amp;start=" in page


def test_two_submissions_are_compared_file_by_file(client: TestClient, runs: Path) -> None:
    """From the page of the attempt that lost points to the lines that the better one has."""
    better = RunFolder(runs / "other").attempt(AttemptKey(task="one"))
    (better.submission / "pkg").mkdir(parents=True)
    (better.submission / "pkg" / "main.py").write_text("def main():\n    return 1\n")
    (better.submission / "data.bin").write_bytes(b"\0\1\3")
    page = client.get("/run/base/attempt/one/0")
    assert "Attempt 0 of other got 100.0 % here" in words(page.text)
    (address,) = set(re.findall(r'href="([^"]*against=other&amp;attempt=0)"', page.text))
    text = words(client.get(html.unescape(address)).text)
    assert "-    return 1\n" in text
    assert f"+    return {EVIL!r}\n" in text
    assert "data.bin changed, no text" in text
    assert "picture.svg added" in text
    assert "There is no such" not in text
    assert client.get("/run/base/attempt/one/0?tab=files&against=../base").status_code == 200


def test_what_was_asked_stands_beside_what_was_handed_in(client: TestClient, runs: Path) -> None:
    """As this machine's data of the suite has it, or why it is not there."""
    config, _ = run_of("asked", {"task-0000": ["pending"]}, loaded="tests.runs.toy:create_written")
    with RunWriter.create(runs / "asked", config):
        pass
    assert "Write task-0000." in words(client.get("/run/asked/attempt/task-0000/0?tab=instruction").text)
    assert "unknown suite" in words(client.get("/run/base/attempt/one/0?tab=instruction").text)


def test_what_cannot_be_seen_is_written_out(client: TestClient) -> None:
    """Colours of terminals are left out; characters that turn or hide words are named; NULs make no text."""
    address = "/run/base/attempt/one/0?tab=files&path="
    turned = client.get(address + "turned\u202egpj.py")
    assert "\u202e" not in turned.text
    assert "\\u202e" in turned.text
    assert "<pre" in client.get(address + "long.json").text
    coloured = client.get(address + "colours.txt").text
    assert "\x1b" not in coloured
    assert "red title" in coloured
    assert "\0" not in client.get(address + "nul.txt").text


def test_files_are_shown_from_within_and_links_lead_nowhere(client: TestClient, tmp_path: Path) -> None:
    """A file of the submission has colours; nothing else of this machine can be named."""
    address = "/run/base/attempt/one/0?tab=files&path="
    assert 'class="k">def' in client.get(f"{address}pkg/main.py").text
    assert "3 bytes that are no text" in client.get(f"{address}data.bin").text
    for path in (
        "out/passwd",
        "../submission.json",
        "/etc/passwd",
        "pkg/../../../../config.json",
        "nothing",
        "%00",
    ):
        assert "There is no such file" in client.get(address + path).text
    assert "root:" not in client.get("/run/base/attempt/one/0?tab=logs&path=../../../../etc/passwd").text


def test_a_large_log_is_cut_on_the_server(client: TestClient) -> None:
    """A page has a piece of it and ways to the others."""
    address = "/run/base/attempt/one/0?tab=logs&path=logs/tests.txt"
    first = client.get(address)
    assert len(first.content) < 3 * evidence.LOG_BYTES
    assert "later" in first.text
    last = client.get(f"{address}&start=-{evidence.LOG_BYTES}")
    assert "earlier" in last.text
    assert ">later<" not in last.text
    assert client.get(f"{address}&start=zero").status_code == 200


@pytest.mark.parametrize("path", ["/run/none", "/run/base/task/none", "/run/base/attempt/one/7", "/static/x"])
def test_what_is_not_there_is_a_404(client: TestClient, path: str) -> None:
    """With a page, not a traceback."""
    assert client.get(path).status_code == 404


def test_headers_are_strict_and_names_of_others_are_refused(runs: Path) -> None:
    """A site that names this machine by a domain of its own reads nothing; a token opens the pages."""
    viewer = Viewer(load({"output": str(runs)}))
    with TestClient(viewer.app(hosts=frozenset({"127.0.0.1"})), base_url="http://127.0.0.1") as client:
        headers = client.get("/").headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert client.get("/", headers={"host": "evil.example"}).status_code == 421
    with TestClient(viewer.app(token="secret")) as client:
        assert client.get("/").status_code == 401
        assert client.get("/?token=wrong").status_code == 401
        answer = client.get("/run/base?token=secret&q=two")
        assert answer.status_code == 200
        assert str(answer.url).endswith("/run/base?q=two")
        assert client.get("/").status_code == 200
    viewer.index.close()


def test_the_index_follows_the_files(runs: Path) -> None:
    """It is a copy: made anew for a run that changed, and can be removed, damaged or of another version."""
    index = RunIndex(runs)
    index.refresh()
    assert index.task_count("base") == 4
    write_run(runs, "third", {"one": [(1, 1)]})
    index.refresh()
    assert [(one.task, one.counted) for one in index.tasks("third")] == [("one", 1.0)]
    (runs / "third" / "verdicts.jsonl").write_text("damaged\n")
    index.refresh()
    third = index.run("third")
    assert third
    assert third.report
    assert "line 1: it is damaged" in third.report.warnings[0]
    (runs / "third" / "config.json").write_text("damaged\n")
    index.refresh()
    third = index.run("third")
    assert third
    assert third.error
    assert "config.json cannot be read" in third.error
    index.close()

    (runs / NAME).write_bytes(b"not an index" * 1000)
    again = RunIndex(runs)
    again.refresh()
    assert again.task_count("base") == 4
    again.close()

    (runs / NAME).unlink()
    with closing(sqlite3.connect(runs / NAME)) as other:
        other.executescript("PRAGMA user_version=1; CREATE TABLE runs (of_another_version TEXT)")
    newer = RunIndex(runs)
    newer.refresh()
    assert newer.task_count("base") == 4
    newer.close()


def test_a_damaged_index_is_closed(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.13 complains of a connection that is left open."""
    opened: list[sqlite3.Connection] = []

    def connect(place: Path | str, *, check_same_thread: bool) -> sqlite3.Connection:
        opened.append(sqlite3.Connection(place, check_same_thread=check_same_thread))
        return opened[-1]

    monkeypatch.setattr("groundup.viewer.index.sqlite3.connect", connect)
    (runs / NAME).write_bytes(b"not an index" * 1000)
    RunIndex(runs).close()
    assert len(opened) == 2
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError):
            connection.execute("SELECT 1")


def test_a_folder_that_cannot_be_written_has_an_index_too(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in memory then."""
    monkeypatch.setattr("groundup.viewer.index.NAME", "missing/index.sqlite")
    index = RunIndex(runs)
    index.refresh()
    assert index.task_count("base") == 4
    index.close()


def test_a_run_at_work_says_when_it_changed(runs: Path) -> None:
    """A run at rest ends its events at once, and so does one that cannot be read, or is gone."""
    viewer = Viewer(load({"output": str(runs)}))
    with TestClient(viewer.app()) as client:
        events = client.get("/run/base/events").text
    assert "event: ended" in events
    assert json.loads(events.split("data: ")[1].split("\n")[0])["planned"] == 4
    for name in ("broken", "gone"):
        assert client.get(f"/run/{name}/events").text == ""
    viewer.index.close()


@pytest.mark.end_to_end
@pytest.mark.needs("chromium")
@pytest.mark.parametrize("tab", ["why", "tests", "trajectory", "files", "logs"])
def test_a_browser_runs_nothing_that_a_stranger_wrote(runs: Path, tmp_path: Path, tab: str) -> None:
    """A real browser shows the page, with its own title, and loads nothing from elsewhere."""
    with served(runs) as place:
        address = f"{place}/run/base/attempt/one/0?tab={tab}"
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
        done = subprocess.run(
            ["chromium", *options, "--dump-dom", "--enable-logging=stderr", "--v=0", address],
            capture_output=True,
            text=True,
            timeout=200,
            check=True,
            env={**os.environ, "HOME": str(tmp_path)},
        )
    assert "<title>one/0 in base - groundup</title>" in done.stdout
    assert "CONSOLE" not in done.stderr


def test_times_are_shown_as_utc(client: TestClient) -> None:
    """Whatever the clock of this machine is set to."""
    assert f"{datetime(2026, 1, 1, tzinfo=UTC):%Y-%m-%d %H:%M}" in client.get("/").text


def test_a_run_under_way_shows_its_nodes(client: TestClient, runs: Path) -> None:
    """From the file that its driver writes; a killed driver's file is not believed, nor is a damaged one."""
    with RunWriter.open(runs / "base") as writer:
        assert "Nodes" not in client.get("/run/base").text
        writer.fleet(NODES)
        page = client.get("/run/base").text
        assert "2 with 6 slots, of which 3 grade; 7 attempts wait there" in page
        assert "2 layers went from node to node, 1 are on their way" in page
        assert EVIL not in page
        (runs / "base" / "nodes.json").write_text("{")
        assert "Nodes" not in client.get("/run/base").text
        writer.fleet(NODES)
    assert "Nodes" not in client.get("/run/base").text
    with RunWriter.open(runs / "base"):  # as `resume` does
        assert not (runs / "base" / "nodes.json").exists()


def test_a_comparison_parts_tasks_by_who_solved_them(client: TestClient) -> None:
    """The base is named and can be changed; what has no score in one of the runs is in no part."""
    page = client.get("/compare?run=base&run=other").text
    assert "The base is base" in words(page)
    assert "other alone solved 1" in words(page)
    assert "base alone solved 1" in words(page)
    assert "neither solved 1" in words(page)
    assert 'href="/compare?run=other&amp;run=base"' in page
    found = client.get("/compare?run=base&run=other&part=gained&other=other").text
    start = found.index('<table class="grid cards"')
    grid = found[start : found.index("</table>", start)]
    assert "/task/one" in grid
    assert "/task/two" not in grid
    assert client.get("/compare?run=base&run=other&part=evil&other=x").status_code == 200


def test_a_comparison_begins_with_the_answer(client: TestClient) -> None:
    """Who is better, the difference with its interval, and p stand above the tasks and the plots."""
    page = words(client.get("/compare?run=base&run=other").text)
    answer = page.index("base and other are equal over 3 tasks")
    assert answer < page.index("tasks that decide it") < page.index("on the tasks that both have a score for")
    assert page.index("on the tasks that both have a score for") < page.index("The base is base")
    assert page.index("The base is base") < page.index("Tasks")
    assert "every attempt" not in page


@pytest.fixture
def repeated(tmp_path: Path) -> Iterator[TestClient]:
    """Two runs with two attempts at each of eight tasks; two attempts of the first run are solved."""
    scores: dict[str, list[Word]] = {f"t{number}": [(1, 4), (2, 4)] for number in range(6)}
    write_run(tmp_path, "one", {**scores, "u": [(4, 4), (1, 4)], "v": [(0, 4), (4, 4)]})
    write_run(tmp_path, "two", {**scores, "u": [(4, 4), (4, 4)], "v": [(3, 4), (0, 4)]})
    viewer = Viewer(load({"output": str(tmp_path)}))
    with TestClient(viewer.app()) as client:
        yield client
    viewer.index.close()


def test_the_cards_of_a_run_count_attempts(repeated: TestClient) -> None:
    """Two of 16 attempts are solved, at eight tasks; the answer stands first."""
    page = " ".join(words(repeated.get("/run/one").text).split())
    assert "solved2of 16 attempts at 8 tasks" in page
    assert page.index("over 8 tasks: of 16 attempts") < page.index("solved2of")


def test_chips_say_when_a_task_counts_as_solved(repeated: TestClient) -> None:
    """With several attempts, a task is solved where all of them are."""
    page = words(repeated.get("/compare?run=one&run=two").text)
    assert "two alone solved 1" in page
    assert "solved where every attempt at it has the full score" in page


def test_a_better_attempt_of_the_same_run_is_offered(repeated: TestClient) -> None:
    """The attempt at 100 % beside one that lost points, with what differs; a solved one is offered none."""
    page = repeated.get("/run/one/attempt/u/1").text
    assert "Attempt 0 of this run got 100.0 % here" in words(page)
    (address,) = set(re.findall(r'href="([^"]*against=one&amp;attempt=0)"', page))
    text = words(repeated.get(html.unescape(address)).text)
    assert "How this submission differs from that of this run, attempt 0" in text
    assert "got 100.0 % here" not in words(repeated.get("/run/one/attempt/u/0").text)


def test_lost_tests_stand_by_their_cause(client: TestClient, runs: Path) -> None:
    """Tests that fail at one line of the submission are one cause: one is shown, the others are named."""
    attempt = RunFolder(runs / "base").attempt(AttemptKey(task="one"))
    at_line = "tests/test_a.py:3: in test_b\n    f()\npkg/main.py:{}: in f\n    return {}\nE   ValueError: no"
    tests = [
        TestResult(
            id=f"tests/test_a.py::test_{number}",
            outcome="failed",
            expected=True,
            message=f"ValueError: no {number}",
            detail=at_line.format(1 if number else 7, number),
        )
        for number in range(4)
    ]
    attempt.tests_file.write_text("".join(f"{one.model_dump_json()}\n" for one in tests))
    page = " ".join(words(client.get("/run/base/attempt/one/0").text).split())
    assert "4 expected tests did not pass, of 2 causes" in page
    assert page.index("3 tests: ValueError: no 1") < page.index("1 test: ValueError: no 0")
    assert "pkg/main.py:1: return 1" in page
    assert "2 more" in page
    assert "tests/test_a.py::test_3" in page


@pytest.mark.parametrize("case", ["garbage for tests", "a folder for tests", "half a record of it", "no lock"])
def test_pages_of_what_does_not_fit_say_why(tmp_path: Path, case: str) -> None:
    """The attempt has no score, and its page names the file instead of failing over it."""
    name, edit, said, lost = FOUND[case]
    suites: dict[str, SuiteName] = {name: name for name in SHAPES}
    run = write_whole_run(tmp_path / name, suites.get(name, "nl2repobench"), made_by_agent=name == "agent")
    edit(run)
    task = min(lost)
    viewer = Viewer(load({"output": str(tmp_path)}))
    with closing(viewer.index), TestClient(viewer.app()) as client:
        assert said.partition(":")[0] in client.get(f"/run/{name}").text
        page = client.get(f"/run/{name}/attempt/{task}/0")
        assert page.status_code == 200
        assert "records do not fit" in page.text
        assert client.get(f"/run/{name}/attempt/{task}/0?tab=tests").status_code == 200
