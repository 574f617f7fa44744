"""Runs handed in to a leaderboard, as people and its CI do it."""

import json
import re
import shutil
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from groundup_board.bundles import _last_names, unpack
from tests.cli.conftest import TWO, Groundup, Predict
from tests.runs.forging import Change, changed, consistent, files_of, forged, write


@pytest.fixture
def bundle(groundup: Groundup, predict: Predict, tmp_path: Path) -> Path:
    """A bundle of a run with a task that is half right."""
    groundup("evaluate", TWO, "-p", predict({"task-0000": "half", "task-0001": "good"}), "--run-id", "mine")
    path = tmp_path / "entries" / "mine.tar.gz"
    ended = groundup("leaderboard", "pack", "mine", "-o", path, "--contamination", "<b>none</b>")
    assert ended.code == 0, ended.err
    assert "mine.tar.gz: 2 submissions; `groundup" in ended.err
    return path


def test_an_honest_bundle_holds(groundup: Groundup, bundle: Path) -> None:
    """What was drawn is graded again and agrees; the seed is told, so that others can draw the same."""
    ended = groundup("leaderboard", "verify", bundle, "--suite", TWO, "--sample", "2", "--seed", "7", "--json")
    found = json.loads(ended.out)
    assert ended.code == 0
    assert (found["holds"], found["attempts"], found["seed"]) == (True, 2, 7)
    assert found["sandbox"] == "tests.runs.toy:create_provider"
    assert "the numbers hold: 2 attempts at 2 of 2 tasks came out the same" in ended.err


def test_a_part_of_the_tasks_says_as_much_as_it_can(groundup: Groundup, bundle: Path) -> None:
    """One task that agrees leaves nearly all others open."""
    ended = groundup("leaderboard", "verify", bundle, "--suite", TWO, "--sample", "1")
    assert ended.code == 0
    assert "with 95 % confidence fewer than 95 % of all tasks differ" in " ".join(ended.err.split())


def test_numbers_that_were_made_up_do_not_hold(groundup: Groundup, bundle: Path) -> None:
    """Verdicts that were changed with their digests are consistent, and found out by grading."""

    def better(text: str) -> str:
        made = re.sub(r'"score":\{"numerator":[0-9.]+,', '"score":{"numerator":1.5,', text)
        assert made != text
        return made

    improved = changed(bundle, lambda name, data: better(data.decode()).encode() if "verdicts" in name else data)
    refused = groundup("leaderboard", "verify", improved)
    assert refused.code == 2
    assert "another digest than its manifest says" in " ".join(refused.err.split())
    lied = forged(bundle, verdicts=better)
    ended = groundup("leaderboard", "verify", lied, "--suite", TWO, "--sample", "2")
    assert ended.code == 4
    said = " ".join(ended.err.split())
    assert "the numbers do not hold: 2 of 2 attempts came out otherwise in each of 3 gradings" in said


def points(numerator: float, denominator: float) -> dict[str, float]:
    """Return a score as verdicts have it."""
    return {"numerator": numerator, "denominator": denominator}


def first_task(**changes: object) -> Change:
    """Change the line, or its verdict, of the task that got half of its points."""

    def change(text: str) -> str:
        lines = [json.loads(line) for line in text.splitlines()]
        for line in lines:
            if line["attempt"]["task"] == "task-0000":
                line |= {name: value for name, value in changes.items() if name in line}
                line["verdict"] |= {name: value for name, value in changes.items() if name not in line}
        return "".join(f"{json.dumps(line)}\n" for line in lines)

    return change


def without(text: str) -> str:
    """Leave out that task's line."""
    return "".join(f"{line}\n" for line in text.splitlines() if '"task-0000"' not in line)


def planned(*tasks: str) -> Change:
    """Let the configuration plan *tasks*."""
    return lambda text: json.dumps(json.loads(text) | {"planned": {"tasks": tasks, "attempts": 1}})


OTHER = {"name": "lax", "version": "7", "data_version": "1", "environment": "none"}
FORGERIES: dict[str, tuple[dict[str, Any], str]] = {
    "500 percent": (
        {"verdicts": first_task(score=points(10, 2))},
        "which is no share",
    ),
    "not a number": ({"verdicts": first_task(score=points(float("nan"), 2))}, "which is no share"),
    "below nothing": ({"verdicts": first_task(score=points(1, -2))}, "which is no share"),
    "fewer points to get": (
        {"verdicts": first_task(score=points(1, 1))},
        "its score is of 1 points, and there are 2",
    ),
    "undefined, so in no mean": ({"verdicts": first_task(score=points(0, 0))}, "of 0 points, and there are 2"),
    "a further score": (
        {"verdicts": first_task(scores={"more": points(3, 2)})},
        "which is no share",
    ),
    "a score of nothing": ({"verdicts": first_task(submission=None)}, "it has points and no submission"),
    "a verdict withheld": ({"verdicts": without}, "no verdict on task-0000/0"),
    "an infrastructure failure": (
        {"verdicts": first_task(status="infrastructure", score=None)},
        "no verdict on task-0000/0",
    ),
    "a task dropped": (
        {"config": planned("task-0001"), "verdicts": without},
        "its 1 task: no fixed set, which are full (2 tasks)",
    ),
    "a task twice": (
        {"config": planned("task-0001", "task-0001", "task-0000")},
        "its plan does not name each task as often as the others",
    ),
    "a verdict too many": (
        {"verdicts": lambda text: text + first_task(attempt={"task": "task-0000", "index": 1})(text)},
        "verdicts on what it did not plan: task-0000/1",
    ),
    "a lenient grader": ({"verdicts": first_task(grader=OTHER)}, "its verdicts are of lax 7, strict 1"),
    "other tasks by the same names": (
        {"config": lambda text: re.sub(r'("task task-0000": )"[^"]*"', r'\1"sha256:0"', text)},
        "the suite here has other content for task-0000",
    ),
    "another version of the suite": (
        {"config": lambda text: text.replace('"toy 1"', '"toy 2"')},
        "made with the suite toy 2; here is toy 1",
    ),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_what_cannot_be_true_is_refused_before_any_grading(
    groundup: Groundup, bundle: Path, tmp_path: Path, forgery: str
) -> None:
    """By `verify` as by `build`, which publishes the others and says why not this one."""
    changes, why = FORGERIES[forgery]
    lied = forged(bundle, **changes)
    verified = tmp_path / "verified"
    ended = groundup("leaderboard", "verify", lied, "--suite", TWO, "--json", "--record", verified)
    found = json.loads(ended.out)
    assert ended.code == 4
    assert why in " ".join(found["refused"])
    assert (found["attempts"], found["holds"]) == (0, False)
    assert not verified.exists()

    honest = ("leaderboard", "verify", bundle, "--suite", TWO, "--record", verified)
    assert groundup(*honest).code == 0
    shutil.copy(verified / "mine.json", verified / "changed.json")
    ended = groundup("leaderboard", "build", bundle.parent, *_site(tmp_path))
    assert ended.code == 4
    assert why in " ".join(ended.err.split())
    page = (tmp_path / "site" / "index.html").read_text()
    assert page.count("<td>mine</td>") == 1
    assert not (tmp_path / "site" / "evidence" / "changed.tar.gz").exists()


def _site(tmp_path: Path) -> tuple[str | Path, ...]:
    return ("--verified", tmp_path / "verified", "-o", tmp_path / "site", "--suite", TWO)


@pytest.mark.parametrize("record", ["none", "another bundle's", "tasks of one's choice", "does not hold"])
def test_a_bundle_enters_only_verified(groundup: Groundup, bundle: Path, tmp_path: Path, record: str) -> None:
    """As it is, and with the sample that the seed draws."""
    verify = ("leaderboard", "verify", bundle, "--suite", TWO, "--record", tmp_path / "verified")
    assert groundup(*verify, "--sample", "1", "--seed", "0", "--by", "our CI").code == 0
    file = tmp_path / "verified" / "mine.json"
    noted = json.loads(file.read_text())
    match record:
        case "another bundle's":
            noted["bundle"] = noted["bundle"][:-1] + ("1" if noted["bundle"].endswith("0") else "0")
        case "tasks of one's choice":
            noted["verification"]["tasks"] = [
                "task-0001" if noted["verification"]["tasks"] == ["task-0000"] else "task-0000"
            ]
        case "does not hold":
            noted["verification"]["unknown"] = ["task-0000/0"]
        case _:
            noted = None
    file.write_text(json.dumps(noted))
    ended = groundup("leaderboard", "build", bundle.parent, *_site(tmp_path))
    assert ended.code == 4
    assert "left out mine.tar.gz" in " ".join(ended.err.split())
    assert not (tmp_path / "site").exists(), "a page that was there would stay"


def test_sets_of_tasks_have_ranks_of_their_own(
    groundup: Groundup, predict: Predict, bundle: Path, tmp_path: Path
) -> None:
    """A run of a part enters only where the board's owner fixed that part, and then beside the whole ones."""
    groundup("run", TWO, "-a", "oracle", "--tasks", "task-0001", "--run-id", "part")
    part = bundle.with_name("part.tar.gz")
    assert "1 submission; `groundup" in groundup("leaderboard", "pack", "part", "-o", part).err
    assert groundup("leaderboard", "verify", part, "--suite", TWO).code == 4
    own = tmp_path / "mine.txt"
    own.write_text("task-0001\n")
    rules = ("--suite", TWO, "--set", f"mine={own}")
    for path in (part, bundle):
        assert groundup("leaderboard", "verify", path, *rules, "--record", tmp_path / "verified").code == 0
    assert groundup("leaderboard", "build", bundle.parent, *_site(tmp_path), "--set", f"mine={own}").code == 0
    page = (tmp_path / "site" / "index.html").read_text()
    full, _, mine = page.partition("mine: 1 tasks, strict 1</h2>")
    assert "toy 1, full: 2 tasks, strict 1</h2>" in full
    assert "<td>mine</td>" in full
    assert "<td>-</td><td></td><td>part</td>" in mine  # there is nothing to rank it among
    for chosen, said in (("task-0001 task-9", "of the set mine: "), ("", "cannot be read"), (None, "reads a set")):
        own.write_text(chosen) if chosen else own.unlink(missing_ok=True)
        named = "mine" if chosen is None else f"mine={own}"
        ended = groundup("leaderboard", "verify", part, "--suite", TWO, "--set", named)
        assert (ended.code, said in " ".join(ended.err.split())) == (2, True), ended.err


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


def test_an_attempt_without_a_submission_holds_beside_one_that_is_graded_again(
    groundup: Groundup, predict: Predict, tmp_path: Path
) -> None:
    """Nothing lies in the bundle for it, and nothing is laid out: it counts 0 again."""
    predictions = predict({"task-0000/0": "good", "task-0000/1": "good"})
    with (predictions / "task-0000" / "1" / "huge.log").open("wb") as file:
        file.truncate(5 * 1024**3)
    bundle = packed(groundup, predictions, tmp_path / "huge.tar.gz")
    ended = groundup("leaderboard", "verify", bundle, "--suite", TWO, "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["claimed"] == 0.5


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


def test_an_image_in_a_folder_of_that_machine_is_named_without_it() -> None:
    """The lock names images by where they lay."""
    lock: JsonValue = {
        "images": {"/home/me/base": "sha256:1"},
        "inventories": {"sha256:2": {"origin": "/home/me/base"}},
    }
    packed = {"images": {"base": "sha256:1"}, "inventories": {"sha256:2": {"origin": "base"}}}
    assert _last_names(lock) == packed
    assert _last_names(["scripted//home/me/replies.toml", "a/b", 3]) == ["scripted/replies.toml", "a/b", 3]


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
    """A run in a sandbox of another kind is graded again in the verifier's."""
    predictions = predict({"task-0000": "good"})
    groundup("evaluate", TWO, "-p", predictions, "--run-id", "open", "--sandbox", "tests.sandbox.fake:create")
    path = tmp_path / "open.tar.gz"
    groundup("leaderboard", "pack", "open", "-o", path)
    found = json.loads(groundup("leaderboard", "verify", path, "--suite", TWO, "--json").out)
    assert found["sandbox"] == "tests.runs.toy:create_provider"


def test_the_bundle_does_not_choose_the_image(bundle: Path, tmp_path: Path) -> None:
    """Where verifiers use containers, the run's lock would say which image stands behind a name."""
    evil = '"images": {"groundup/base": "evil"}'
    lied = forged(bundle, lock=lambda text: text.replace('"images": {}', evil))
    opened = unpack(lied, tmp_path / "opened")
    assert opened.run.lock().images == {"groundup/base": "evil"}
    opened.give(None)
    assert opened.run.lock().images == {}


def test_the_page_ranks_filters_and_discloses(groundup: Groundup, bundle: Path, tmp_path: Path) -> None:
    """It loads nothing, escapes what strangers wrote, and links to a copy of each bundle."""
    groundup("run", TWO, "-a", "oracle", "--run-id", "best")
    groundup("leaderboard", "pack", "best", "-o", bundle.with_name("best.tar.gz"))
    for name in ("mine", "best"):
        verify = ("leaderboard", "verify", bundle.with_name(f"{name}.tar.gz"), "--suite", TWO, "--seed", "7")
        assert groundup(*verify, "--record", tmp_path / "verified", "--by", "<i>us</i>").code == 0
    ended = groundup("leaderboard", "build", bundle.parent, *_site(tmp_path))
    assert ended.code == 0, ended.err
    page = (tmp_path / "site" / "index.html").read_text()
    assert "default-src 'none'" in page
    assert "http://" not in page
    assert "https://" not in page
    assert "&lt;b&gt;none&lt;/b&gt;" in page
    assert "<b>none" not in page
    assert page.index("<td>1</td><td>1 to 2</td><td>best</td>") < page.index("<td>1 to 2</td><td>mine</td>")
    assert 'data-kind="reference"' in page
    assert f"2 of 2 tasks; by &lt;i&gt;us&lt;/i&gt;, {datetime.now(UTC):%Y-%m-%d}, seed 7" in page
    assert (tmp_path / "site" / "evidence" / "mine.json").is_file()
    assert (tmp_path / "site" / "evidence" / "mine.tar.gz").read_bytes() == bundle.read_bytes()


def test_rows_lead_to_pages_over_their_runs(groundup: Groundup, bundle: Path, tmp_path: Path) -> None:
    """With --pages, who reads the board finds each task and test of a run, without a server."""
    verify = ("leaderboard", "verify", bundle, "--suite", TWO, "--record", tmp_path / "verified", "--by", "us")
    assert groundup(*verify).code == 0
    for _ in range(2):  # a board is built again when a run joins
        assert groundup("leaderboard", "build", bundle.parent, *_site(tmp_path), "--pages").code == 0
    site = tmp_path / "site"
    (address,) = re.findall(r'<a href="(runs/[^"]+)">tests and files</a>', (site / "index.html").read_text())
    page = (site / address).read_text()
    tasks = set(re.findall(r'href="([^"]*task-000[01][^"]*)"', page))
    assert len(tasks) == 2, page
    assert all((site / address).parent.joinpath(task).is_file() for task in tasks)


def test_what_is_packed_holds_no_more_than_it_says(groundup: Groundup, bundle: Path) -> None:
    """Configuration, lock, verdicts and submissions; neither logs nor trajectories nor reports."""
    with tarfile.open(bundle) as tar:
        names = [member.name for member in tar if member.isfile()]
    run = {re.sub(r"attempts/[^/]+/\d+", "attempts", name) for name in names if name.startswith("run/")}
    assert run == {"run/config.json", "run/lock.json", "run/verdicts.jsonl", "run/attempts/submission.json"}
    assert all(name.startswith(("run/", "submissions/")) or name == "manifest.json" for name in names)


def test_a_run_stands_on_the_page_once(groundup: Groundup, bundle: Path, tmp_path: Path) -> None:
    """Whatever its file is called; the first by name is taken."""
    shutil.copy(bundle, bundle.with_name("again.tar.gz"))
    for name in ("again", "mine"):
        path = bundle.with_name(f"{name}.tar.gz")
        assert groundup("leaderboard", "verify", path, "--suite", TWO, "--record", tmp_path / "verified").code == 0
    ended = groundup("leaderboard", "build", bundle.parent, *_site(tmp_path))
    assert ended.code == 4
    assert "left out mine.tar.gz: it is the same run as again.tar.gz" in " ".join(ended.err.split())
    assert (tmp_path / "site" / "index.html").read_text().count("<td>mine</td>") == 1


def test_submissions_of_others_are_marked(
    groundup: Groundup, bundle: Path, predict: Predict, tmp_path: Path
) -> None:
    """Byte for byte the same under another name: another run's, and the suite's own, also where no run has it."""
    groundup("export", "mine", "copied")
    groundup("evaluate", TWO, "-p", "copied", "--run-id", "copy", "--agent-name", "my-own")
    groundup("run", TWO, "-a", "oracle", "--run-id", "best")
    groundup("export", "best", "originals")
    groundup("evaluate", TWO, "-p", "originals", "--run-id", "genius", "--agent-name", "my-own")
    names = ("copy", "genius")
    for name in names:
        groundup("leaderboard", "pack", name, "-o", bundle.with_name(f"{name}.tar.gz"))
    for name in ("mine", *names):
        verify = ("leaderboard", "verify", bundle.with_name(f"{name}.tar.gz"), "--suite", TWO)
        ended = groundup(*verify, "--record", tmp_path / "verified")
        assert ended.code == 0, ended.err
    assert "2 of these submissions are the suite's own (oracle)" in " ".join(ended.err.split())
    assert groundup("leaderboard", "build", bundle.parent, *_site(tmp_path)).code == 0
    page = (tmp_path / "site" / "index.html").read_text()
    assert "2 of 2 submissions are those of mine (predictions)" in page
    assert "2 of 2 submissions are those of copy (my-own)" in page
    assert "2 of 2 submissions that were graded again are the suite&#39;s own (oracle)" in page


def test_a_cost_is_what_a_run_claims(groundup: Groundup, bundle: Path, tmp_path: Path) -> None:
    """No bundle has a trajectory that proves it, and whoever edits it everywhere is not found by grading."""
    effort = {"turns": 3, "cost_usd": 0.25, "seconds": 2.0}

    def cheaper(name: str, data: bytes) -> bytes:
        if name.endswith("submission.json"):
            return json.dumps(json.loads(data) | {"effort": effort}).encode()
        if name != "run/verdicts.jsonl":
            return data
        lines = [json.loads(line) | {"effort": effort} for line in data.splitlines()]
        return "".join(f"{json.dumps(line)}\n" for line in lines).encode()

    files = {name: cheaper(name, data) for name, data in files_of(bundle).items()}
    write(consistent(files), bundle)
    assert groundup("leaderboard", "verify", bundle, "--suite", TWO, "--record", tmp_path / "verified").code == 0
    assert groundup("leaderboard", "build", bundle.parent, *_site(tmp_path)).code == 0
    assert "<td>$0.50 claimed</td>" in (tmp_path / "site" / "index.html").read_text()


def test_two_bundles_of_one_run_that_differ_are_both_left_out(
    groundup: Groundup, bundle: Path, tmp_path: Path
) -> None:
    """One of them is false, and nothing on the page may depend on which name comes first."""
    lied = forged(bundle, verdicts=first_task(score=points(2, 2)))
    lied = lied.rename(bundle.with_name("a-lie.tar.gz"))
    seeds = (str(seed) for seed in range(20))
    drawn = (
        groundup(
            "leaderboard", "verify", lied, "--suite", TWO, "--sample", "1", "--seed", seed, *_record(tmp_path)
        )
        for seed in seeds
    )
    assert any(ended.code == 0 for ended in drawn)
    assert groundup("leaderboard", "verify", bundle, "--suite", TWO, *_record(tmp_path)).code == 0
    ended = groundup("leaderboard", "build", bundle.parent, *_site(tmp_path))
    assert ended.code == 4
    said = " ".join(ended.err.split())
    assert (
        "left out mine.tar.gz: a-lie.tar.gz is the same run with other verdicts: one of the two is false" in said
    )
    assert "left out a-lie.tar.gz: mine.tar.gz is the same run with other verdicts" in said


def _record(tmp_path: Path) -> tuple[str | Path, ...]:
    return "--record", tmp_path / "verified"
