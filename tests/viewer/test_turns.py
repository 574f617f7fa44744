"""A turn has an address: what was done in it, what it did to files, and each file as it was then."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from groundup.domain.subjects import AttemptKey
from groundup.settings import load
from groundup.store.folder import RunFolder
from groundup.viewer.app import Viewer
from tests.viewer.made import BASE, EVIL, OTHER, write_run
from tests.viewer.test_pages import words

AT = "/run/base/attempt/one/0"


def play(run: RunFolder, texts: list[str]) -> None:
    """Let an agent write one of *texts* into a file with each turn."""
    steps: list[dict[str, object]] = [{"kind": "began", "at": "", "agent": "loop", "version": "1", "model": "m"}]
    for turn, text in enumerate(texts, 1):
        message = {"role": "assistant", "content": f"turn {turn} of {run.path.name}", "tool_calls": []}
        steps.append({"kind": "reply", "at": "", "turn": turn, "message": message, "finish": "stop"})
        steps.append({"kind": "result", "at": "", "turn": turn, "name": "bash", "content": EVIL, "seconds": 1})
        first = {"path": "a.py", "what": "added", "text": text}
        later = {"path": "a.py", "what": "changed", "edits": [{"start": 0, "lines": 1, "text": text}]}
        steps.append({"kind": "workspace", "at": "", "turn": turn, "files": [first if turn == 1 else later]})
    steps.append({"kind": "ended", "at": "", "outcome": "submitted", "detail": ""})
    attempt = run.attempt(AttemptKey(task="one", index=0))
    attempt.trajectory_file.parent.mkdir(parents=True, exist_ok=True)
    attempt.trajectory_file.write_text("".join(json.dumps(step) + "\n" for step in steps))


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """Two runs whose agents wrote the same file, turn by turn."""
    play(write_run(tmp_path, "base", BASE), [f"value = {turn}\n" for turn in range(1, 10)])
    play(write_run(tmp_path, "other", OTHER), [f"{EVIL} {turn}\n" for turn in range(1, 4)])
    viewer = Viewer(load({"output": str(tmp_path)}))
    with TestClient(viewer.app()) as client:
        yield client
    viewer.index.close()


def test_a_turn_has_an_address(client: TestClient) -> None:
    """With its own steps, no other's, and the lines that it changed."""
    page = client.get(f"{AT}?tab=trajectory&turn=7")
    text = words(page.text)
    assert "turn 7 of base" in text
    assert "turn 6 of base" not in text
    assert "-value = 6" in text
    assert "+value = 7" in text
    assert f'href="{AT}?tab=files&amp;turn=7&amp;path=a.py"' in page.text
    assert "There is no turn 70" in words(client.get(f"{AT}?tab=trajectory&turn=70").text)


def test_a_file_is_shown_as_a_turn_left_it(client: TestClient) -> None:
    """Whatever came later."""
    for turn in (1, 7, 9):
        assert f"value = {turn}\n" in words(client.get(f"{AT}?tab=files&turn={turn}&path=a.py").text)
    assert "There is no such file" in words(client.get(f"{AT}?tab=files&turn=7&path=b.py").text)
    assert "No file was touched" in words(client.get(f"{AT}?tab=files&turn=70").text)


def test_two_trajectories_stand_side_by_side(client: TestClient) -> None:
    """Turn by turn, also where one is longer; what strangers wrote stays text."""
    listed = client.get(f"{AT}?tab=trajectory").text
    assert f'href="{AT}?tab=trajectory&amp;beside=other"' in listed
    page = client.get(f"{AT}?tab=trajectory&beside=other").text
    text = words(page)
    for told in ("turn 3 of base", "turn 3 of other", "turn 9 of base", "no such turn"):
        assert told in text
    assert EVIL in text
    assert page.count("<script") == 1


def test_the_last_try_of_a_program_that_restarts_counts(client: TestClient, tmp_path: Path) -> None:
    """Its turns count from 1 again: an address is that of the try that was handed in."""
    file = RunFolder(tmp_path / "base").attempt(AttemptKey(task="one", index=0)).trajectory_file
    with file.open("a") as more:
        message = {"role": "assistant", "content": "anew", "tool_calls": []}
        more.write(json.dumps({"kind": "reply", "at": "", "turn": 1, "message": message, "finish": "stop"}) + "\n")
    assert "anew" in words(client.get(f"{AT}?tab=trajectory&turn=1").text)
    assert "value = 9" in words(client.get(f"{AT}?tab=files&turn=1&path=a.py").text)


def test_a_search_finds_letters_of_other_languages(client: TestClient, tmp_path: Path) -> None:
    """As they are written; and a number in an address that nothing counts to is no fault."""
    file = RunFolder(tmp_path / "base").attempt(AttemptKey(task="one", index=0)).trajectory_file
    with file.open("a", encoding="utf-8") as more:
        message = {"role": "assistant", "content": "Ärger", "tool_calls": []}
        step = {"kind": "reply", "at": "", "turn": 11, "message": message, "finish": "stop"}
        more.write(json.dumps(step, ensure_ascii=False) + "\n")
    assert f'href="{AT}?tab=trajectory&amp;turn=11"' in client.get("/search?q=%C3%84RGER").text
    for address in ("/", "/run/base", "/search?q=a", "/compare?run=base&run=other", f"{AT}?tab=trajectory"):
        sign = "&" if "?" in address else "?"
        assert client.get(f"{address}{sign}first={'9' * 30}").status_code == 200


def test_a_search_finds_runs_tasks_tests_and_turns(client: TestClient) -> None:
    """Whatever the case; a hit in a trajectory leads to its turn. What strangers wrote stays text."""
    assert '<a href="/run/other">' in client.get("/search?q=OTHER").text
    page = client.get("/search?q=Turn%207%20of").text
    assert f'href="{AT}?tab=trajectory&amp;turn=7"' in page
    page = client.get("/search?q=onerror").text
    assert "?tab=tests&amp;q=onerror" in page
    assert '"expected"' not in words(page)  # a test is shown by name and message, not as it is stored
    assert "<img" not in page
    assert "2 of 2 so far" not in page
    assert '/attempt/two/0">two/0</a>' in client.get("/search?q=TWO&run=base").text
    for nowhere in ("nowhere-at-all", "xonerror", "onerrorx"):
        assert "Nothing was found" in words(client.get(f"/search?q={nowhere}").text)
    assert client.get("/search").status_code == 200
