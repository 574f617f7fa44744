"""Mistaken command lines: the right exit code, one sentence with the way out, nothing made, no traceback.

Every command is tried with an option that nobody has and without what it needs; the table has slips of people who
come from other programs, and of tired ones.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from groundup.cli.main import every_command
from tests.cli.conftest import TWENTY, TWO, Groundup, Predict, command_of
from tests.needs import need

WRITTEN = "tests.runs.toy:create_written"
NOP = ("run", TWENTY, "-a", "nop", "--dry-run")
HUGE = str(10**30)
LONG = "x" * 5000

SLIPS: list[tuple[tuple[str, ...], str]] = [
    # commands that are called otherwise
    (("evalute", TWO), "did you mean 'evaluate'"),
    (("eval", TWO, "-p", "out"), "it is `groundup evaluate`"),
    (("grade", TWO), "it is `groundup evaluate`"),
    (("score", TWO), "it is `groundup evaluate`"),
    (("list",), "`groundup suites`"),
    (("ls",), "`groundup tasks SUITE`"),
    (("datasets",), "it is `groundup suites`"),
    (("dataset", "list"), "it is `groundup suites`"),
    (("retry", "r"), "it is `groundup resume`"),
    (("eval-retry", "r"), "it is `groundup resume`"),
    (("continue", "r"), "it is `groundup resume`"),
    (("diff", "a", "b"), "it is `groundup compare`"),
    (("logs", "r"), "it is `groundup show`"),
    (("status",), "it is `groundup runs`"),
    (("validate", TWO), "`groundup audit`"),
    (("download", TWO), "it is `groundup data pull`"),
    (("check",), "`groundup doctor`"),
    (("web",), "it is `groundup view`"),
    (("config",), "it is `groundup init`"),
    (("train", TWO), "it is `groundup serve`"),
    (("import", TWO, "--from", "d", "-a", "cursor"), "it went into `groundup evaluate SUITE -p"),
    (("aggregate", "runs"), "it went into `groundup report DIR... --layout paper`"),
    (("evaluate", TWO, "-p", "d", "--agent", "cursor"), "--agent-name"),
    (("evaluate", TWO, "-p", "d", "-m", "gpt"), "--model-name"),
    (("why", "r", "--all"), "here it is --full"),
    (("infer", ".", "--all"), "here it is --optional"),
    (("start", TWO), "it is `groundup run`"),
    (("benchmark", TWO), "it is `groundup run`"),
    (("results", "r"), "it is `groundup report`"),
    (("rerun", "r"), "`groundup regrade` grades it again"),
    (("rm", "r"), "it is `groundup runs rm`"),
    (("cancel", "r"), "^C ends a run"),
    (("login",), "such as OPENAI_API_KEY"),
    (("frobnicate",), "`groundup --help` lists them"),
    (("data", "pul"), "did you mean 'pull'"),
    (("data", "lst"), "did you mean 'list'"),
    (("data", "frob"), "choose from: "),
    (("leaderboard", "submit"), "groundup leaderboard has no command 'submit'"),
    (("task", "auditt"), "did you mean 'audit'"),
    (("machine", "docter"), "did you mean 'doctor'"),
    # options that are called otherwise
    ((*NOP, "-n", "3"), "--jobs (-j)"),
    ((*NOP, "--n-concurrent", "3"), "--jobs (-j)"),
    ((*NOP, "--max-workers", "3"), "--jobs (-j)"),
    ((*NOP, "--max_workers", "3"), "--jobs (-j)"),
    ((*NOP, "--num-workers", "3"), "--jobs (-j)"),
    ((*NOP, "--api-key", "sk-1"), "an environment variable, such as OPENAI_API_KEY"),
    ((*NOP, "--api-base", "x"), "--base-url"),
    ((*NOP, "--subset", "lite"), "--tasks"),
    ((*NOP, "\N{EN DASH}k", "3"), "it begins with a long dash, write -k"),
    ((*NOP, "--max-connections", "3"), "--model-jobs"),
    ((*NOP, "--epochs", "3"), "--attempts (-k)"),
    ((*NOP, "--n-attempts", "3"), "--attempts (-k)"),
    ((*NOP, "--trials", "3"), "--attempts (-k)"),
    ((*NOP, "--time-limit", "3"), "--max-seconds"),
    ((*NOP, "--message-limit", "3"), "--max-turns"),
    ((*NOP, "--token-limit", "3"), "--max-tokens"),
    ((*NOP, "--cost-limit", "3"), "--max-attempt-cost"),
    ((*NOP, "--agent-import-path", "m:C"), "`-a package.module:function`"),
    ((*NOP, "--sample-id", "x"), "--tasks"),
    ((*NOP, "--instance_ids", "x"), "--tasks"),
    ((*NOP, "--task-name", "x"), "--tasks"),
    ((*NOP, "--exclude-task-name", "x"), "--exclude"),
    ((*NOP, "--lf"), "`--tasks failed:RUN`"),
    ((*NOP, "--last-failed"), "`--tasks failed:RUN`"),
    ((*NOP, "--n-tasks", "5"), "--limit"),
    ((*NOP, "--job-name", "x"), "--run-id"),
    ((*NOP, "--run_id", "x"), "it is --run-id"),
    ((*NOP, "--jobs-dir", "x"), "--output (-o)"),
    ((*NOP, "--log-dir", "x"), "--output (-o)"),
    ((*NOP, "--output-dir", "x"), "-o here"),
    ((*NOP, "--to", "x"), "--output (-o)"),
    (("data", "convert", "dibench", "old", "--output", "new"), "here it is --to (-o)"),
    ((*NOP, "--env", "docker"), "--sandbox"),
    ((*NOP, "--scorer", "x"), "--grader"),
    ((*NOP, "--gradr", "strict"), "did you mean --grader"),
    ((*NOP, "--sandbx", "docker"), "did you mean --sandbox"),
    ((*NOP, "--model-base-url", "x"), "--base-url"),
    (("evaluate", TWO, "--from", "d"), "--predictions (-p)"),
    (("evaluate", TWO, "--input", "d"), "--predictions (-p)"),
    (("evaluate", TWO, "--predictions_path", "d"), "--predictions (-p)"),
    (("curate", "locate", "r", "--lang", "python"), "groundup curate locate has no option --lang"),
    # values
    ((*NOP, "--jobs", "0"), "--jobs: must be at least 1"),
    ((*NOP, "--jobs", "many"), "--jobs: must be a whole number"),
    ((*NOP, "--jobs"), "--jobs needs a value"),
    ((*NOP, "--attempts", "0"), "--attempts: must be at least 1"),
    ((*NOP, "-k", "two"), "--attempts: must be a whole number"),
    ((*NOP, "--fail-under", "90"), "such as 0.9"),
    ((*NOP, "--max-seconds", "5x"), "such as 30d, 8h or 90s"),
    ((*NOP, "--max-seconds", "0"), "--max-seconds: must be at least 1"),
    ((*NOP, "--timeout", "soon"), "such as 30d, 8h or 90s"),
    ((*NOP, "--time", "tonight"), "such as 30d, 8h or 90s"),
    ((*NOP, "--time", "-1h"), "such as 30d, 8h or 90s"),
    ((*NOP, "--time", "8"), "--time: 8 of what? Write 8h, 8m or 8s"),
    ((*NOP, "--time", "0"), "--time: must be at least 0.1s"),
    ((*NOP, "--limit", "0"), "--limit: must be at least 1"),
    ((*NOP, "--format", "pdf"), "'pdf' is not one of"),
    ((*NOP, "--dry-run=yes"), "--dry-run takes no value"),
    ((*NOP, "--price", "2"), "INPUT:OUTPUT"),
    ((*NOP, "--max-cost", "0"), "name a sum above 0"),
    ((*NOP, "--tasks", ""), "--tasks is empty"),
    ((*NOP, "--tasks", ","), "--tasks names nothing"),
    ((*NOP, "--tasks", "task-0001", "task-0002"), "separated by commas: --tasks task-0001,task-0002"),
    ((*NOP, "--tasks", "tsk-0001"), "did you mean 'task-0001'"),
    ((*NOP, "--tasks", "zzz*"), "no task of toy is like 'zzz*'"),
    ((*NOP, "--tasks", "failed:nosuch"), "unknown run 'nosuch'"),
    ((*NOP, "--exclude", "tsk-0001"), "did you mean 'task-0001'"),
    ((*NOP, "--exclude", "!klingon"), "unknown language or group"),
    ((*NOP, "--run-id", "a b/c"), "is not a usable name"),
    ((*NOP, "--python", "2"), "such as 3.12"),
    ((*NOP, "--grader", "stirct"), "unknown grader"),
    ((*NOP, "--sandbox", "dockr"), "did you mean 'docker'"),
    (("run", TWENTY), "name a suite and an agent"),
    (("run", "-a", "nop"), "name a suite and an agent"),
    (("run", TWENTY, "-a", "lop"), "unknown agent"),
    (("run", TWENTY, "-a", "loop"), "name one with -m PROVIDER/MODEL"),
    (("run", TWENTY, "-a", "loop", "-m", "gpt"), "PROVIDER/MODEL"),
    # what is named first
    (("run", "nl2repo", "-a", "loop"), "did you mean 'nl2repobench'"),
    (("run", TWENTY, "-a", "loop", "--tasks", "tsk-0001"), "did you mean 'task-0001'"),
    (("evaluate", "swebench", "-p", "out"), "unknown suite 'swebench'"),
    (("evaluate", TWO, "-p", "no/such", "--tasks", "tsk-0001"), "did you mean 'task-0001'"),
    (("evaluate", TWO, "-p", "no/such"), "no such predictions"),
    (("evaluate", TWO), "-p predictions/"),
    (("evaluate", TWO, "out-tree"), "predictions are named with -p"),
    (("evaluate", "repogenesis", "-p", ".", "--tasks", "Blg"), "did you mean 'Blog'"),
    (("evaluate", "nl2repobench", "-p", ".", "--tasks", "sqlparsr"), "did you mean 'sqlparse'"),
    (("evaluate", "nl2repobench", "-p", ".", "--tasks", "quite-other"), "groups are "),
    # runs
    (("resume",), "has pending attempts"),
    (("resume", "nosuch"), "unknown run 'nosuch'"),
    (("resume", "r", "--grader", "strict"), "`groundup regrade` takes another"),
    (("resume", "r", "--tasks", "x"), "`groundup regrade` takes some of them"),
    (("resume", "r", "-k", "3"), "a new run makes more"),
    (("report", "nosuch"), "unknown run 'nosuch'"),
    (("compare", "one"), "takes two runs or more"),
    (("show", "one"), "unknown run 'one'"),
    (("why", "nosuch"), "unknown run 'nosuch'"),
    (("regrade", "nosuch"), "unknown run 'nosuch'"),
    (("view", "nosuch"), "unknown run 'nosuch'"),
    (("clean", "--older-than", "month"), "such as 30d"),
    (("docs", "nosuch"), "unknown page"),
    (("tasks", "nl2repobench", "sqlparsr"), "did you mean 'sqlparse'"),
    (("tasks", TWO, "--tasks", "hard"), "groundup tasks has no option --tasks"),
    (("report", "nosuch", "--format", "xlsx"), "nosuch"),
    (("serve", WRITTEN, "--host", "0.0.0.0"), "--token"),
    (("serve", TWO, "--port", "99999"), "--port"),
    (("view",), "name one with runs"),
    ((*NOP, "--sandbox", "none"), "the sandbox none is gone"),
    ((*NOP, "--i-trust-this-code"), "leave it out"),
    (("run", TWENTY, "-a", "nop", "--workers", "nofile.json"), "nofile.json"),
    ((*NOP, "--agent", "oracle"), "--agent is given 2 times"),
    ((*NOP, "--time-limit"), "--max-seconds"),
    ((*NOP, "--shard", "1/2"), "groundup run has no option --shard"),
    ((*NOP, "-x"), "groundup run has no option -x"),
    ((*NOP, "--lang", "klingon"), "klingon"),
    ((*NOP, "--config", "a.toml"), "with --config"),
    ((*NOP, "--exclude", "task-*"), "no task"),
    ((*NOP, "--select", "best"), "best"),
    ((*NOP, "--max-cost", "five"), "--max-cost: must be a number"),
    ((*NOP, "--seed", "x"), "--seed: must be a whole number"),
    ((*NOP, "--integrity", "none"), "'none' is not one of"),
    (("run", TWENTY, "-a", "claude", "-m", "anthropic/x"), "did you mean 'claude-code'"),
    (("run", TWENTY, "-a", "loop", "-m", "nobody/x"), "nobody"),
    (("run", WRITTEN, "-a", "loop", "-m", "openai/x"), "OPENAI_API_KEY"),
    (("run", WRITTEN, "-a", "loop", "-m", "scripted/none.toml"), "none.toml"),
    (("run", WRITTEN, "-a", "loop", "-m", "openai/x", "--max-cost", "5"), "say --price INPUT:OUTPUT"),
    (("run", "--config", "none.toml"), "none.toml"),
    (("run", "tests.runs.toy:nothing", "-a", "nop"), "nothing"),
    (("run", "no_such_module:create", "-a", "nop"), "no_such_module"),
    (("evaluate", TWO, "-p", "."), "holds no"),
    (("evaluate", "-p", "out"), "groundup evaluate needs SUITE"),
    (("evaluate", "."), "--task"),
    (("curate", "set"), "groundup curate set needs"),
    (("curate", "yield", "nosuch"), "nosuch"),
    (("audit", "nosuch"), "unknown suite"),
    (("warm", "nosuch"), "unknown suite"),
    (("infer", "nosuch"), "nosuch"),
    (("init", "a", "b"), "takes no further argument 'b'"),
    (("export", "nosuch", "out"), "unknown run"),
    (("judge", "nosuch"), "unknown run"),
    (("shell", "nosuch", "x"), "unknown run"),
    (("review", "nosuch"), "unknown run"),
    (("runs", "rm", "nosuch"), "unknown run"),
    (("runs", "list"), "`groundup runs` lists runs"),
    (("models", "check", "-m", "gpt-4"), "PROVIDER/MODEL"),
    (("fleet", "doctor", "nofile.json"), "nofile.json"),
    (("fleet", "up"), "name a file for the address"),
    (("leaderboard", "verify", "nofile.tar.gz"), "nofile.tar.gz"),
    (("recipe", "check"), "--all"),
    (("recipe", "check", "nosuch"), "nosuch"),
    (("data", "pull", "nl2repobench", "--from", "nosuch"), "nosuch"),
    (("registry", "snapshot"), "groundup registry snapshot needs"),
    # wrong kinds of values, and far too large ones
    ((*NOP, "-k", "1.5"), "--attempts: must be a whole number"),
    ((*NOP, "-k", HUGE), "--attempts: must be at most 1000"),
    ((*NOP, "-j", "-1"), "--jobs: must be at least 1"),
    ((*NOP, "--time", "1e400h"), "such as 30d, 8h or 90s"),
    ((*NOP, "--max-seconds", "nan"), "--max-seconds: must be a finite number"),
    ((*NOP, "--max-cost", "inf"), "--max-cost: must be a finite number"),
    ((*NOP, "--price", "-1:2"), "such as 1.25:10"),
    ((*NOP, "--temperature", "hot"), "--temperature: must be a number"),
    ((*NOP, "--fail-under", "90"), "--fail-under: must be at most 1.0"),
    ((*NOP, "--python", "3"), "such as 3.12"),
    ((*NOP, "--agent-option", "x"), "write NAME=VALUE"),
    ((*NOP, "--model-option", "=3"), "write NAME=VALUE"),
    ((*NOP, "--tasks", " "), "--tasks names nothing"),
    ((*NOP, "--tasks", "task-0001;task-0002"), "separated by commas: --tasks task-0001,task-0002"),
    ((*NOP, "--tasks", "failed:"), "write failed:RUN"),
    ((*NOP, "--tasks", "\u202etask-0001"), "did you mean 'task-0001'"),
    ((*NOP, "--run-id", ".."), "is not a usable name"),
    ((*NOP, "--run-id", "\u00fcn\u00ef"), "is not a usable name"),
    ((*NOP, "--run-id", "x" * 300), "is not a usable name"),
    # options that contradict each other
    ((*NOP, "-q", "-v"), "--quiet and --verbose contradict each other"),
    ((*NOP, "--no-exec", "--grader", "strict"), "leave --grader strict out"),
    ((*NOP, "--integrity", "full", "--grader", "official"), "leave --grader official out"),
    ((*NOP, "--select", "score"), "takes no model, options or limits"),
    # files in the place of folders, and the other way round
    ((*NOP, "--output", "mine.txt"), "mine.txt is no folder; name another one with --output"),
    ((*NOP, "--output", "dangling"), "dangling is no folder; name another one with --output"),
    ((*NOP, "--image", "nosuch.tar"), "write it with `docker save IMAGE -o nosuch.tar`"),
    ((*NOP, "--prices", "empty"), "it is a folder"),
    (("run", "--config", "empty"), "empty is a folder"),
    (("run", "--config", "mine.txt"), "mine.txt: not valid TOML"),
    (("run", "--config", "/dev/zero"), "/dev/zero is no regular file"),
    (("recipe", "check", "six", "--image", "nosuch.tar"), "write it with `docker save IMAGE -o nosuch.tar`"),
    (("evaluate", TWO, "-p", "mine.txt"), "mine.txt, line 1: not JSON"),
    (("evaluate", TWO, "-p", "binary"), "binary, line 1: not UTF-8"),
    (("evaluate", TWO, "-p", "dangling"), "no such predictions"),
    (("evaluate", TWO, "-p", "empty"), "holds no predictions; expected "),
    (("evaluate", TWO, "-p", "/dev/null"), "no such predictions"),
    (("evaluate", TWO, "-p", "-"), "no such predictions"),
    (("resume", "empty"), "empty is not a run folder"),
    (("report", "mine.txt"), "mine.txt is no report that can be read"),
    (("runs", "rm", ".."), ".. is not a run folder"),
    (("data", "pull", "repogenesis", "--from", "empty"), "no task folders with README.md"),
    (("data", "pull", "nl2repobench@a/b", "--from", "empty"), "'a/b' is not a usable name"),
    (("data", "pull", "nl2repobench", "--commit", "zz"), "7 to 40 hexadecimal digits"),
    (("demo", "--folder", "mine.txt"), "name a new one with --folder"),
    (("init", "nosuch/deep"), "make it first"),
    (("curate", "yield", "mine.txt"), "name the folder of a set"),
    (("curate", "set", "mine.txt", "-o", "mine.txt"), "name a new folder with -o"),
    (("curate", "instance", ".", "-l", "cobol", "-o", "x"), "choose from: csharp, javascript, python, rust"),
    (("harbor", "export", TWO, "-o", "mine.txt"), "name a new folder"),
    (("image", "build", "mine.txt"), "name a new folder"),
    (("infer", "binary"), "neither a folder, a diff, nor a source file"),
    # arguments in another order
    (("run", "nop", TWENTY), "groundup run takes no further argument"),
    (("evaluate", "out", "-p", TWO), "unknown suite 'out'"),
    (("show", "task-0000", "nosuch"), "unknown run 'task-0000'"),
    (("data", "convert", "a", "b"), "groundup data convert needs --to"),
    (("models", "check", "-m", "openai/"), "'openai/' names no model"),
    (("clean", "--older-than", "-3d"), "such as 30d"),
    (("data", "pull", "swe-bench"), "unknown suite"),
    (("evaluate", "nosuch"), "unknown suite 'nosuch'"),
    (("evaluate", "tests.runs.toy", "-p", "empty"), "package.module:attribute"),
    ((*NOP, "--dataset", "lite"), "the suite stands alone, as in `groundup run"),
    ((*NOP, "--max-concurrent", "3"), "--jobs (-j)"),
    ((*NOP, "--tasks", "task-0000 task-0001"), "separated by commas: --tasks task-0000,task-0001"),
    ((*NOP, "--tasks", "TASK-0001"), "did you mean 'task-0001'"),
    # what only some suites, runs and images have
    (("tasks", TWO, "--statistics"), "has no statistics of its data; leave --statistics out"),
    (("tasks", f"{TWO}+masked"), "has no variant 'masked'; leave it out"),
    (("infer", "mine.txt", "--write"), "--write needs a repository; give its folder"),
    (("infer", "mine.txt", "--declared"), "--declared needs a repository; give its folder"),
    (("recipe", "check", "six", "sortedcontainers", "--image", "one"), "name only that, or a pattern with {task}"),
    (("leaderboard", "pack", "nosuch", "-o", "mine.zip"), "a bundle's name ends in .tar.gz"),
    (("evaluate", TWO, "-p", "empty", "--no-exec", "--integrity", "full"), "leave --no-exec out"),
    # what lies in the wrong form, or where nothing can lie
    (("evaluate", TWO, "-p", "empty", "mine.txt"), "a shell makes several words of a pattern"),
    (("evaluate", TWO, "-p", "https://host/x"), "such as by `git clone`"),
    (("evaluate", TWO, "-p", "list.json"), "a list; write one object on each line"),
    (("evaluate", TWO, "-p", "long.jsonl"), "line 1: not JSON that can be read: Exceeds the limit"),
    (("evaluate", TWO, "-p", LONG), "File name too long; name another place"),
    (("report", LONG), "File name too long; name another place"),
    (("tasks", LONG), "File name too long; name another place"),
    (("infer", LONG), "File name too long; name another place"),
    ((*NOP, "--output", "mine.txt/x"), "mine.txt is no folder; name another one with --output"),
    ((*NOP, "--prices", "deep.toml"), "is not valid TOML"),
    (("run", WRITTEN, "-a", "loop", "-m", "scripted/deep.toml"), "the script deep.toml cannot be understood"),
    (("run", "--config", "deep.toml"), "not valid TOML"),
    (("runs", "--output", "mine.txt"), "mine.txt is no folder; name another one with --output"),
    (("demo", "--folder", "dangling"), "name a new one with --folder"),
]


MADE: dict[str, Callable[[Path], object]] = {
    "mine.txt": lambda path: path.write_text("mine"),
    "binary": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "empty": Path.mkdir,
    "dangling": lambda path: path.symlink_to("nowhere"),
    "mine.txt/x": lambda path: path.parent.write_text("mine"),
    "list.json": lambda path: path.write_text('[{"instance_id": "task-0000", "path": "empty"}]'),
    "long.jsonl": lambda path: path.write_text(f'{{"instance_id": "task-0000", "n": {"9" * 6000}}}'),
    "deep.toml": lambda path: path.write_text("a = " + "[" * 100_000),
}
"""What slips name that is there."""
NEEDED = {"--workers": "groundup_fleet", "auditt": "groundup_factory", "--host": "groundup_bridges"}
"""Words that only a package beside groundup answers so."""


@pytest.mark.parametrize(("arguments", "says"), SLIPS, ids=[" ".join(one)[:60] for one, _ in SLIPS])
def test_a_slip_is_answered_with_the_way_out(
    groundup: Groundup, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    """One line that names what is wrong and what to write; nothing is made."""
    for word, package in NEEDED.items():
        if word in arguments:
            need(package)
    for name in MADE.keys() & {word.removeprefix("scripted/") for word in arguments}:
        MADE[name](tmp_path / name)
    ended = groundup(*arguments)
    assert says in ended.err, ended.err
    assert ended.code == 2
    assert ended.out == ""
    waited = r"(looking at what there is to do, [^\n]+\n)*"  # a busy machine says so
    assert re.fullmatch(rf"{waited}groundup: [^\n]+\n", ended.err), ended.err
    assert "Traceback" not in ended.err
    assert not [*tmp_path.glob("runs/*")]


def test_two_forms_are_not_one(groundup: Groundup) -> None:
    """`--json` stands for a form; with another one beside it, nobody knows which is meant."""
    ended = groundup(*NOP, "--json", "--format", "markdown")
    assert (ended.code, ended.err) == (2, "groundup: --json is --format json; leave --format markdown out\n")


def test_a_name_that_is_taken_is_refused_before_a_run(groundup: Groundup) -> None:
    """Also by `--dry-run`, which says what a run would do."""
    assert groundup("run", TWO, "-a", "nop", "--run-id", "r", "-q").code == 0
    again = groundup("run", TWO, "-a", "nop", "--run-id", "r", "--dry-run")
    assert (again.code, again.out) == (2, "")
    assert "finish it with `groundup resume" in again.err


def test_a_folder_in_the_place_of_settings_is_told(groundup: Groundup, tmp_path: Path) -> None:
    """Passed over, it would leave somebody with the defaults."""
    (tmp_path / "groundup.toml").mkdir()
    ended = groundup("suites")
    assert ended.code == 2
    assert ended.err.startswith("groundup: groundup.toml is a folder, so no setting can be read from it; ")


@pytest.mark.parametrize("cut", ["config.json", "lock.json", "verdicts.jsonl", "attempts"])
@pytest.mark.parametrize("command", ["report", "why", "show", "runs check", "compare"])
def test_a_run_folder_that_was_cut_gives_no_zero(
    groundup: Groundup, tmp_path: Path, predict: Predict, cut: str, command: str
) -> None:
    """What cannot be known is told, by exit code 2 or 4, and nothing scores 0 for it."""
    predictions = predict({"task-0000": "pass", "task-0001": "pass"})
    assert groundup("evaluate", TWO, "-p", predictions, "--run-id", "r", "-q").code == 0
    place = tmp_path / "runs" / "r" / cut
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.write_bytes(place.read_bytes()[:40])
    ended = groundup(*command.split(), *(["r", "r"] if command == "compare" else ["r"]))
    assert ended.code == (2 if cut == "config.json" else 4), ended.err
    assert "Traceback" not in ended.err
    assert "0.0 %" not in ended.out
    assert ended.err.startswith("groundup: ")


@pytest.mark.parametrize("command", ["why", "show", "shell"])
def test_a_name_that_no_task_can_have_is_no_bug(groundup: Groundup, predict: Predict, command: str) -> None:
    """A pattern goes with `--tasks`, not here."""
    assert groundup("evaluate", TWO, "-p", predict({"task-0000": "pass"}), "--run-id", "r", "-q").code == 0
    ended = groundup(command, "r", "task-*")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "groundup: 'task-*' is no attempt; write TASK or TASK/NUMBER, such as sqlparse/0\n"


def test_a_submission_that_was_removed_is_graded_as_nothing_by_no_regrade(
    groundup: Groundup, tmp_path: Path, predict: Predict
) -> None:
    """It was there once, so what is left of it is no zero of whoever made it."""
    predictions = predict({"task-0000": "pass", "task-0001": "pass"})
    assert groundup("evaluate", TWO, "-p", predictions, "--run-id", "r", "-q").code == 0
    shutil.rmtree(tmp_path / "runs" / "r" / "attempts" / "task-0000")
    ended = groundup("regrade", "r")
    assert ended.code == 3
    assert "its submission was removed from the run" in ended.err
    assert "100.0 % so far" in ended.out
    assert "0.0 %" not in ended.out.replace("100.0 %", "")


@pytest.mark.parametrize("place", ["runs/r", "runs/r/attempts"])
def test_a_run_is_no_folder_of_predictions(groundup: Groundup, predict: Predict, place: str) -> None:
    """Its attempts hold records beside what was handed in, which would be graded as a repository: 0."""
    assert groundup("evaluate", TWO, "-p", predict({"task-0000": "pass"}), "--run-id", "r", "-q").code == 0
    ended = groundup("evaluate", TWO, "-p", place)
    assert (ended.code, ended.out) == (2, "")
    assert "`groundup regrade RUN` grades it again" in ended.err


def _needy() -> Iterator[str]:
    for name in every_command():
        if any(one.required for one in command_of(name).params):
            yield name


@pytest.mark.parametrize("name", every_command())
def test_no_command_takes_an_option_that_nobody_has(groundup: Groundup, name: str) -> None:
    """Each says in one line what it does not know."""
    ended = groundup(*name.split(), "--quite-bogus")
    assert (ended.code, ended.out) == (2, "")
    assert re.fullmatch(rf"groundup: groundup {name} has no option --quite-bogus[;:][^\n]+\n", ended.err), (
        ended.err
    )


@pytest.mark.parametrize("name", [*_needy()])
def test_each_command_says_what_it_needs_with_an_example(groundup: Groundup, name: str) -> None:
    """Nobody has to open the help for the first try."""
    ended = groundup(*name.split())
    assert (ended.code, ended.out) == (2, "")
    assert re.fullmatch(rf"groundup: groundup {name} needs [^\n]+, such as `groundup [^\n]+`\n", ended.err), (
        ended.err
    )


def test_a_run_ends_when_its_time_is_over(groundup: Groundup, tmp_path: Path) -> None:
    """What was not finished is pending, and a resume goes on."""
    for task, behaviour in (("task-0000", "sleep 30"), ("task-0001", "pass")):
        (tmp_path / "predictions" / task).mkdir(parents=True)
        (tmp_path / "predictions" / task / "behaviour").write_text(behaviour)
    ended = groundup("evaluate", TWO, "-p", tmp_path / "predictions", "--run-id", "r", "--time", "2s")
    assert ended.code == 3
    assert "the time of --time is over" in ended.err
    assert "finish with `groundup resume" in ended.err


def test_failed_tasks_of_a_run_are_named_by_it(groundup: Groundup, tmp_path: Path) -> None:
    """`--tasks failed:RUN` takes those that lost points; a pattern takes those that are like it."""
    for task, behaviour in (("task-0000", "pass"), ("task-0001", "half")):
        (tmp_path / "predictions" / task).mkdir(parents=True)
        (tmp_path / "predictions" / task / "behaviour").write_text(behaviour)
    assert groundup("evaluate", TWO, "-p", tmp_path / "predictions", "--run-id", "r", "-q").code == 0
    again = groundup("run", TWO, "-a", "nop", "--tasks", "failed:r", "--dry-run")
    assert "task-0001/0" in again.out
    assert "task-0000/0" not in again.out
    assert "task-0000/0" in groundup("run", TWO, "-a", "nop", "--tasks", "*0000", "--dry-run").out
