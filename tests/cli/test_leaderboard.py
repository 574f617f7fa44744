"""Runs handed in to a leaderboard, as people and its CI do it."""

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from groundup.runs.bundles import unpack
from tests.cli.conftest import TWO, Groundup, Predict


@pytest.fixture
def bundle(groundup: Groundup, predict: Predict, tmp_path: Path) -> Path:
    """A bundle of a run with a task that is half right."""
    groundup("evaluate", TWO, "-p", predict({"task-0000": "half", "task-0001": "good"}), "--run-id", "mine")
    path = tmp_path / "entries" / "mine.tar.gz"
    ended = groundup("leaderboard", "pack", "mine", "-o", path, "--contamination", "<b>none</b>")
    assert ended.code == 0, ended.err
    return path


def changed(bundle: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """Return a copy of *bundle* whose files are what *change* makes of them; None leaves one out."""
    target = bundle.with_name("changed.tar.gz")
    with tarfile.open(bundle) as old, tarfile.open(target, "w:gz") as new:
        for member in old:
            content = old.extractfile(member)
            data = b"" if content is None else content.read()
            made = change(member.name, data)
            if made is not None:
                member.size = len(made)
                new.addfile(member, io.BytesIO(made))
    return target


def test_an_honest_bundle_holds(groundup: Groundup, bundle: Path) -> None:
    """What was drawn is graded again and agrees; the seed is told, so that others can draw the same."""
    ended = groundup("leaderboard", "verify", bundle, "--suite", TWO, "--sample", "2", "--seed", "7", "--json")
    found = json.loads(ended.out)
    assert ended.code == 0
    assert (found["holds"], found["attempts"], found["seed"]) == (True, 2, 7)
    assert found["sandbox"] == "tests.runs.toy:create_provider"
    assert "the numbers hold: 2 attempts at 2 of 2 tasks agree" in ended.err


def test_a_part_of_the_tasks_says_as_much_as_it_can(groundup: Groundup, bundle: Path) -> None:
    """One task that agrees leaves nearly all others open."""
    ended = groundup("leaderboard", "verify", bundle, "--suite", TWO, "--sample", "1")
    assert ended.code == 0
    assert "with 95 % confidence fewer than 95 % of all tasks differ" in " ".join(ended.err.split())


def test_numbers_that_were_made_up_do_not_hold(groundup: Groundup, bundle: Path) -> None:
    """Verdicts that were changed with their digests are consistent, and found out by grading."""
    digests: dict[bytes, bytes] = {}

    def better(name: str, data: bytes) -> bytes:
        if name != "run/verdicts.jsonl":
            return data
        made = re.sub(rb'"score":\{"numerator":[0-9.]+,', b'"score":{"numerator":9.0,', data)
        assert made != data
        digests[hashlib.sha256(data).hexdigest().encode()] = hashlib.sha256(made).hexdigest().encode()
        return made

    def told(name: str, data: bytes) -> bytes:
        if name != "manifest.json":
            return data
        for old, new in digests.items():
            data = data.replace(old, new)
        return data

    improved = changed(bundle, better)
    refused = groundup("leaderboard", "verify", improved)
    assert refused.code == 2
    assert "another digest than its manifest says" in " ".join(refused.err.split())
    lied = changed(improved.rename(improved.with_name("first.tar.gz")), told)
    ended = groundup("leaderboard", "verify", lied, "--suite", TWO, "--sample", "2")
    assert ended.code == 4
    assert "the numbers do not hold: 2 of 2 attempts differ in each of 3 gradings" in " ".join(ended.err.split())


def forged(bundle: Path, change: Callable[[str], str], file: str = "verdicts.jsonl") -> Path:
    """Return a copy in which lines of a file are what *change* makes of them, named by the manifest."""
    digests: dict[str, str] = {}

    def lines(name: str, data: bytes) -> bytes:
        if name != f"run/{file}":
            return data
        made = "".join(f"{line}\n" for old in data.decode().splitlines() if (line := change(old))).encode()
        assert made != data
        digests[hashlib.sha256(data).hexdigest()] = hashlib.sha256(made).hexdigest()
        return made

    def named(name: str, data: bytes) -> bytes:
        text = data.decode("latin-1")
        for old, new in digests.items():
            text = text.replace(old, new)
        return text.encode("latin-1") if name == "manifest.json" else data

    first = changed(bundle, lines)
    return changed(first.rename(first.with_name("first.tar.gz")), named)


def _better(line: str, score: str, **fields: str | None) -> str:
    found = json.loads(line)
    if found["attempt"]["task"] == "task-0000":
        numerator, denominator = map(float, score.split("/"))
        found["verdict"]["score"] |= {"numerator": numerator, "denominator": denominator}
        found |= fields
    return json.dumps(found)


@pytest.mark.parametrize(
    ("change", "always"),
    [
        (lambda line: _better(line, "2/2", submission=None), False),
        (lambda line: _better(line, "1000/1"), True),
        (lambda line: "" if '"task-0000"' in line else line, True),
    ],
    ids=["without a submission", "more than all", "left out"],
)
def test_no_claim_stays_out_of_the_sample(
    groundup: Groundup, bundle: Path, change: Callable[[str], str], always: bool
) -> None:
    """A score of nothing can be drawn, one beyond 1 always is, and an attempt without a verdict is one too few."""
    lied = forged(bundle, change)
    codes = set()
    for seed in ("0", "1", "2", "3"):  # of two tasks, these draw now the one, now the other
        flags = ("--suite", TWO, "--sample", "1", "--seed", seed, "--times", "1")
        codes.add(groundup("leaderboard", "verify", lied, *flags).code)
    assert codes == ({4} if always else {0, 4})


def packed(groundup: Groundup, predictions: Path, path: Path, *flags: str) -> Path:
    """Grade *predictions* with *flags* and return the bundle of that run."""
    groundup("evaluate", TWO, "-p", predictions, "--run-id", path.name.split(".")[0], *flags)
    assert groundup("leaderboard", "pack", path.name.split(".")[0], "-o", path).code == 0
    return path


def test_a_task_that_varies_holds_where_the_claim_is_among_its_scores(
    groundup: Groundup, predict: Predict, tmp_path: Path
) -> None:
    """It is graded several times, and both means are told; asked for one grading, it does not hold."""
    turns = tmp_path / "turns"
    bundle = packed(groundup, predict({"task-0000": f"varies {turns}"}), tmp_path / "unsteady.tar.gz")
    verify = ("leaderboard", "verify", bundle, "--suite", TWO, "--json")

    turns.write_text("x")  # next: one test of two
    once = groundup(*verify, "--times", "1")
    assert once.code == 4
    turns.write_text("x")
    ended = groundup(*verify)
    assert ended.code == 0
    found = json.loads(ended.out)
    assert [(one["claimed"], one["found"]) for one in found["unsteady"]] == [
        ("graded 2/2", ["graded 1/2", "graded 2/2", "graded 1/2"])
    ]
    assert found["claimed"] == 1.0
    assert found["found"] == pytest.approx(2 / 3)
    assert "1 vary between gradings; the sample claims 100.0 % and was graded 66.7 %" in " ".join(
        ended.err.split()
    )
    turns.write_text("x")
    assert groundup(*verify, "--times", "1", "--tolerance", "0.5").code == 0


def test_the_bundle_does_not_choose_how_long_tests_may_take(
    groundup: Groundup, predict: Predict, tmp_path: Path
) -> None:
    """What passed only because its tests had more time than their recipe gives does not hold, and it says so."""
    bundle = packed(groundup, predict({"task-0000": "slow 500"}), tmp_path / "slow.tar.gz", "--timeout", "900")
    ended = groundup("leaderboard", "verify", bundle, "--suite", TWO)
    assert ended.code == 4
    told = "tests had another time: 900 s (--timeout) in the bundle, what their recipes say here"
    assert told in " ".join(ended.err.split())
    assert groundup("leaderboard", "verify", bundle, "--suite", TWO, "--timeout", "900").code == 0


def test_a_bundle_names_no_folder_of_the_machine_that_made_it(
    groundup: Groundup, predict: Predict, tmp_path: Path
) -> None:
    """Of the path of predictions, and of the run that was graded again, only the last name is packed."""
    first = packed(groundup, predict({"task-0000": "good"}), tmp_path / "first.tar.gz")
    groundup("regrade", "first", "--run-id", "second")
    second = tmp_path / "second.tar.gz"
    groundup("leaderboard", "pack", "second", "-o", second)
    for bundle, name in ((first, '"path": "predictions"'), (second, '"path": "first"')):
        with tarfile.open(bundle) as tar:
            texts = [file.read().decode() for member in tar if (file := tar.extractfile(member))]
        assert not [text for text in texts if str(tmp_path) in text]
        assert any(name in text for text in texts)
    assert groundup("leaderboard", "verify", second, "--suite", TWO).code == 0


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda name, data: None if name == "manifest.json" else data, "no bundle"),
        (lambda name, data: None if name == "run/lock.json" else data, "not those of its manifest"),
        (lambda name, data: data + b"#" if name.startswith("submissions/") and data else data, "another digest"),
    ],
)
def test_a_bundle_that_was_changed_is_refused(
    groundup: Groundup, bundle: Path, change: Callable[[str, bytes], bytes | None], expected: str
) -> None:
    """A sentence that names what is wrong, and exit code 2; nothing is graded."""
    ended = groundup("leaderboard", "verify", changed(bundle, change))
    assert ended.code == 2
    assert expected in " ".join(ended.err.split())


def test_a_bundle_names_no_code_to_load(groundup: Groundup, bundle: Path) -> None:
    """A suite outside groundup is loaded only when the verifier names it, too."""
    ended = groundup("leaderboard", "verify", bundle)
    assert ended.code == 2
    assert "says that you trust it" in " ".join(ended.err.split())


def test_the_bundle_does_not_choose_the_sandbox(groundup: Groundup, predict: Predict, tmp_path: Path) -> None:
    """A run without a sandbox is graded again in the verifier's."""
    predictions = predict({"task-0000": "good"})
    groundup("evaluate", TWO, "-p", predictions, "--run-id", "open", "--sandbox", "none", "--i-trust-this-code")
    path = tmp_path / "open.tar.gz"
    groundup("leaderboard", "pack", "open", "-o", path)
    found = json.loads(groundup("leaderboard", "verify", path, "--suite", TWO, "--json").out)
    assert found["sandbox"] == "tests.runs.toy:create_provider"


def test_the_bundle_does_not_choose_the_image(bundle: Path, tmp_path: Path) -> None:
    """Where verifiers use containers, the run's lock would say which image stands behind a name."""
    evil = '"images": {"groundup/base": "evil"}'
    lied = forged(bundle, lambda line: line.replace('"images": {}', evil), "lock.json")
    opened = unpack(lied, tmp_path / "opened")
    assert opened.run.lock().images == {"groundup/base": "evil"}
    opened.give(None)
    assert opened.run.lock().images == {}


def test_the_page_ranks_filters_and_discloses(groundup: Groundup, bundle: Path, tmp_path: Path) -> None:
    """It loads nothing, escapes what strangers wrote, and links to a copy of each bundle."""
    groundup("run", TWO, "-a", "oracle", "--run-id", "best")
    groundup("leaderboard", "pack", "best", "-o", bundle.with_name("best.tar.gz"))
    ended = groundup("leaderboard", "build", bundle.parent, "-o", tmp_path / "site")
    assert ended.code == 0, ended.err
    page = (tmp_path / "site" / "index.html").read_text()
    assert "default-src 'none'" in page
    assert "http://" not in page
    assert "https://" not in page
    assert "&lt;b&gt;none&lt;/b&gt;" in page
    assert "<b>none" not in page
    assert page.index("<td>best</td>") < page.index("<td>mine</td>")
    assert 'data-kind="reference"' in page
    assert (tmp_path / "site" / "evidence" / "mine.tar.gz").read_bytes() == bundle.read_bytes()


def test_what_is_packed_holds_no_more_than_it_says(groundup: Groundup, bundle: Path) -> None:
    """Configuration, lock, verdicts and submissions; neither logs nor trajectories nor reports."""
    with tarfile.open(bundle) as tar:
        names = [member.name for member in tar if member.isfile()]
    run = {re.sub(r"attempts/[^/]+/\d+", "attempts", name) for name in names if name.startswith("run/")}
    assert run == {"run/config.json", "run/lock.json", "run/verdicts.jsonl", "run/attempts/submission.json"}
    assert all(name.startswith(("run/", "submissions/")) or name == "manifest.json" for name in names)
