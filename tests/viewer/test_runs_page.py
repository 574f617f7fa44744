"""What people ask of many runs and of one under way: order, place, judges, and logs that tell of the true run."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from groundup.domain.subjects import AttemptKey
from groundup.settings import load
from groundup.store.folder import RunFolder, RunWriter
from groundup.store.judgements import Judgement, JudgementsFile, Opinion
from groundup.viewer.app import Viewer
from tests.reports.made import BEGAN, Word, run_of
from tests.viewer.made import EVIL, write_run
from tests.viewer.test_pages import words


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """Three runs of different scores."""
    for name, score in (("low", 0), ("high", 2), ("middle", 1)):
        write_run(tmp_path, name, {"one": [(score, 2)]}, said="split")
    viewer = Viewer(load({"output": str(tmp_path)}))
    with TestClient(viewer.app()) as client:
        yield client
    viewer.index.close()


def order(page: str) -> list[str]:
    """Return the runs of the first page in order."""
    return sorted(("low", "high", "middle"), key=lambda name: page.find(f'href="/run/{name}"'))


def test_runs_are_sorted_and_filtered(client: TestClient) -> None:
    """By score, cost, name or suite; the newest come first otherwise."""
    assert order(client.get("/?sort=highest+score").text) == ["high", "middle", "low"]
    assert order(client.get("/?sort=lowest+score").text) == ["low", "middle", "high"]
    page = client.get("/?q=MIDD").text
    assert 'href="/run/middle"' in page
    assert 'href="/run/low"' not in page
    assert "1 run" in words(page)
    assert client.get("/?sort=evil").status_code == 200


def test_judges_opinions_stand_beside_the_reasons(client: TestClient, tmp_path: Path) -> None:
    """Each with its reason; what a model wrote stays text, and a damaged file says so."""
    opinion = Opinion(score=7, reason=f"well named {EVIL}")
    key = AttemptKey(task="one", index=0)
    with JudgementsFile(tmp_path / "low") as file:
        for judge, scores, failed in (("p/first", {"readability": opinion}, None), ("p/second", {}, "no answer")):
            file.append(
                Judgement.model_validate(
                    {"attempt": key, "of": "repository", "judge": judge, "question": "q", "at": BEGAN}
                    | {"scores": scores, "failed": failed}
                )
            )
    page = client.get("/run/low/attempt/one/0").text
    assert "p/firstreadability7well named" in words(page)
    assert "p/second-no answer" in words(page)
    assert "<img" not in page
    (tmp_path / "low" / "judgements.jsonl").write_text("{}\n")
    assert "is damaged" in words(client.get("/run/low/attempt/one/0").text)


def test_a_failed_test_is_quoted_from_the_true_run_alone(client: TestClient, tmp_path: Path) -> None:
    """Checks run tests with changed values: what those say is no reason, and its log stands apart."""
    logs = RunFolder(tmp_path / "low").attempt(AttemptKey(task="one", index=0)).logs
    (logs / "check.txt").write_text("___ test_split ___\nassert 'changed value'\n==== end ====\n")
    page = words(client.get("/run/low/attempt/one/0").text)
    assert "assert split" in page
    assert "changed value" not in page
    assert "checks of the count, with changed tests" in words(client.get("/run/low/attempt/one/0?tab=logs").text)


def test_a_run_under_way_says_when_it_will_end(client: TestClient, tmp_path: Path) -> None:
    """At the pace of its latest verdicts; without some of them it says nothing."""
    planned: dict[str, list[Word]] = {
        "t0": [(1, 2)],
        "t1": [(1, 2)],
        "t2": [(1, 2)],
        "t3": [(1, 2)],
        "left": ["pending"],
    }
    config, lines = run_of("live", planned)
    with RunWriter.create(tmp_path / "live", config) as writer:
        assert "expected end (UTC)-5 left" in words(client.get("/run/live").text).replace("\n", "")
        for number, line in enumerate(lines.values()):
            ended = BEGAN + timedelta(minutes=10 * number)
            writer.record(line.but(submission=f"made-{number}", started_at=BEGAN, finished_at=ended), [], {})
        ends = BEGAN + timedelta(minutes=40)
        page = words(client.get("/run/live").text).replace("\n", "")
        assert f"expected end (UTC){ends:%H:%M}{ends:%Y-%m-%d}, 1 left" in page
    assert "expected end" not in words(client.get("/run/live").text)
