"""Terminal, JSON, Markdown, LaTeX, CSV, HTML and viewer have the same figures, to the last digit."""

import csv
import html
import io
import json
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from groundup.cli.main import main
from groundup.reports.document import ATTEMPTED
from groundup.settings import load
from groundup.viewer.app import Viewer
from tests.reports.made import Word
from tests.viewer.made import write_run

FIRST: dict[str, list[Word]] = {f"t{number}": [(number % 7, 6), (number % 5, 5)] for number in range(1, 14)}
SECOND: dict[str, list[Word]] = {
    **{f"t{number}": [((number * 3) % 7, 6), (1, 3)] for number in range(1, 12)},
    "t12": ["tampered", "infrastructure"],
    "t13": ["not_attempted", (2, 3)],
}


@pytest.fixture
def shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Print what a command says of two runs, each with two attempts at thirteen tasks."""
    write_run(tmp_path, "first", FIRST)
    write_run(tmp_path, "second", SECOND)
    monkeypatch.setenv("COLUMNS", "200")

    def show(command: str, *flags: str, runs: tuple[str, ...] = ("first", "second")) -> str:
        assert main([command, *(str(tmp_path / run) for run in runs), *flags]) == 0
        return capsys.readouterr().out

    return show


def percent(value: float) -> str:
    """Write a share as people read it: by hand, not by what is tested."""
    return f"{value * 100:.1f} %"


def figures(document: str, run: int) -> list[str]:
    """Return each figure of the JSON document with its interval, as people read it."""
    found = []
    for figure in json.loads(document)["runs"][run]["figures"]:
        if figure["score"]["value"] is None or figure["name"] == ATTEMPTED:  # that stands above the tables
            continue
        numerator, denominator = (figure["score"][part] for part in ("numerator", "denominator"))
        parts = "/".join(f"{n:.0f}" if n == int(n) else f"{n:.3f}" for n in (numerator, denominator))
        interval = figure["interval"]
        limits = f" [{percent(interval['low'])}, {percent(interval['high'])}]" if interval else ""
        found.append(f"{percent(figure['score']['value'])} ({parts} {figure['unit']}){limits}")
    assert len(found) > 5
    return found


def text_of(page: str) -> str:
    """Return the words of a page, without pictures."""
    bare = re.sub(r"<(style|script|svg).*?</\1>", "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", " ", bare))


def flat(text: str) -> str:
    """Return a text without the signs by which Markdown and LaTeX escape, and with single spaces.

    What a figure is over besides its own tasks ("of 13") goes, too: the JSON document has all tasks.
    """
    return " ".join(re.sub(r" tasks, of \d+", " tasks", text.replace("\\", "")).split())


@pytest.mark.parametrize("run", [0, 1])
def test_every_form_has_every_figure(shown: Callable[..., str], tmp_path: Path, run: int) -> None:
    """Score, denominator, unit and interval of each figure stand in each form as in the JSON document."""
    name = ("first", "second")[run]
    wanted = figures(shown("report", "--json"), run)
    forms = {form: shown("report", "--format", form) for form in ("table", "markdown", "latex", "html")}
    forms["html"] = text_of(forms["html"])
    viewer = Viewer(load({"output": str(tmp_path)}))
    with TestClient(viewer.app()) as client:
        forms["viewer"] = text_of(client.get(f"/run/{name}").text)
        first_page = text_of(client.get("/").text)
    viewer.index.close()
    for form, text in forms.items():
        missing = [figure for figure in wanted if flat(figure) not in flat(text)]
        assert missing == [], form
    headline = wanted[0].replace(" tasks)", ")")
    assert headline in flat(first_page)


def test_every_form_has_every_attempt_and_difference(shown: Callable[..., str], tmp_path: Path) -> None:
    """Scores of attempts are those of the JSON document in CSV and on pages; so are differences between runs."""
    document = json.loads(shown("report", "--json"))
    rows = {
        (row["run"], row["task"], row["attempt"]): row["score"]
        for row in csv.DictReader(io.StringIO(shown("report", "--format", "csv")))
    }
    for run in document["runs"]:
        for attempt in run["attempts"]:
            value = attempt["score"]["value"] if attempt["score"] else ""
            assert rows[run["run_id"], attempt["task"], str(attempt["index"])] == str(value)
    (comparison,) = json.loads(shown("compare", "--json"))["comparisons"]
    table, one_file = shown("compare"), text_of(shown("report", "--format", "html"))
    viewer = Viewer(load({"output": str(tmp_path)}))
    with TestClient(viewer.app()) as client:
        page = client.get("/compare?run=first&run=second").text
    viewer.index.close()
    differing = [pair for pair in comparison["pairs"] if pair["difference"]]
    assert len(differing) > 5
    for pair in differing:
        words = [percent(pair["base"]), percent(pair["other"])]  # the run that is ahead stands first: the base
        assert comparison["lead"]["run"] == comparison["base"]
        words.append(f"{-pair['difference'] * 100:+.1f} points")
        assert " ".join([pair["task"], *words]) in flat(table)
        assert " ".join([pair["task"], *words]) in flat(text_of(page))
    lead = comparison["lead"]
    low, high = (f"{lead['interval'][end] * 100:+.1f}" for end in ("low", "high"))
    mean = f"{lead['difference'] * 100:+.1f} points [{low}, {high}]"
    over = f" over {lead['over']} ["
    sentence = f"{lead['run']} {mean.replace(' [', over)}, p {lead['p_value']:.3f}"
    for text in (flat(table), flat(one_file), flat(text_of(page))):
        assert mean in text
        assert f"{comparison['difference'] * 100:+.1f} points" not in text, "one sign"
    for text in (flat(table), flat(text_of(page)), document_answer(shown)):
        assert sentence in text


def document_answer(shown: Callable[..., str]) -> str:
    """Return the sentences of the JSON document."""
    return " ".join(json.loads(shown("compare", "--json"))["answer"])


THIRD: dict[str, list[Word]] = {f"t{number}": [(number % 4, 3), (number % 3, 2)] for number in range(1, 14)}


def test_every_form_has_what_a_comparison_rests_on(shown: Callable[..., str], tmp_path: Path) -> None:
    """Differences with intervals and p, ranks with intervals, power and spread stand there as in the document."""
    write_run(tmp_path, "third", THIRD)
    runs = ("first", "second", "third")
    document = json.loads(shown("compare", "--power", "0.05", "--json", runs=runs))
    viewer = Viewer(load({"output": str(tmp_path)}))
    with TestClient(viewer.app()) as client:
        page = client.get("/compare?run=first&run=second&run=third&power=5").text
        alone = text_of(client.get("/run/first").text)
    viewer.index.close()
    forms = [flat(shown("compare", "--power", "0.05", runs=runs)), flat(text_of(page))]
    rows = []
    for rank in document["ranks"]:
        places = f"{rank['low']} to {rank['high']}" if rank["low"] != rank["high"] else str(rank["low"])
        rows.append(f"{rank['rank']} {places} {rank['run']} {percent(rank['score'])}")
    for one in document["comparisons"]:
        turned = one["lead"]["run"] == one["base"]
        first, second = ("base", "other") if turned else ("other", "base")
        for figure in one["figures"]:
            ends = (-figure["interval"]["high"], -figure["interval"]["low"])
            low, high = ends if turned else (figure["interval"]["low"], figure["interval"]["high"])
            difference = -figure["difference"] if turned else figure["difference"]
            said = f"{difference * 100:+.1f} points [{low * 100:+.1f}, {high * 100:+.1f}] {figure['p_value']:.3f}"
            rows.append(f"{percent(figure[first])} {percent(figure[second])} {said}")
        power = one["power"]
        rows.append(f"the smallest that shows {power['detectable'] * 100:.1f} points")
        rows.append(f"tasks {power['tasks']} {power['tasks_needed']}")
    assert len(rows) > 10
    for form in forms:
        assert [row for row in rows if row not in form] == []
    spread = json.loads(shown("report", "--json"))["runs"][0]["spread"]
    deviations = f"{spread['within'] * 100:.1f} points, between tasks {spread['between'] * 100:.1f} points"
    for text in (alone, shown("report"), text_of(shown("report", "--format", "html"))):
        assert f"deviation {deviations}; agreement {spread['agreement']:.2f}" in flat(text)


def test_a_copied_run_is_called_as_its_folder(tmp_path: Path) -> None:
    """Its own records name the honest one, and so would links from a comparison."""
    write_run(tmp_path, "first", FIRST)
    write_run(tmp_path, "second", SECOND)
    (tmp_path / "second").rename(tmp_path / "copied")
    viewer = Viewer(load({"output": str(tmp_path)}))
    with closing(viewer.index), TestClient(viewer.app()) as client:
        pages = [client.get(address).text for address in ("/", "/run/copied", "/compare?run=first&run=copied")]
    assert all("copied" in page and "second" not in page for page in pages)
