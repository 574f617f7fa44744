"""Mistaken command lines: the right exit code, one sentence with the way out, nothing made, no traceback.

Every command is tried with an option that nobody has and without what it needs; the table has slips of people who
come from other programs, and of tired ones.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundup.cli.main import every_command
from tests.cli.conftest import TWENTY, TWO, Groundup, command_of
from tests.needs import need

WRITTEN = "tests.runs.toy:create_written"
NOP = ("run", TWENTY, "-a", "nop", "--dry-run")

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
    ((*NOP, "--max-seconds", "5x"), "such as 90s, 10m or 8h"),
    ((*NOP, "--max-seconds", "0"), "--max-seconds: must be at least 1"),
    ((*NOP, "--timeout", "soon"), "such as 90s, 10m or 8h"),
    ((*NOP, "--time", "tonight"), "such as 90s, 10m or 8h"),
    ((*NOP, "--time", "-1h"), "such as 90s, 10m or 8h"),
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
    (("data", "pull", "swe-bench"), "unknown suite"),
]


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
    ended = groundup(*arguments)
    assert says in ended.err, ended.err
    assert ended.code == 2
    assert ended.out == ""
    waited = r"(looking at what there is to do, [^\n]+\n)*"  # a busy machine says so
    assert re.fullmatch(rf"{waited}groundup: [^\n]+\n", ended.err), ended.err
    assert "Traceback" not in ended.err
    assert not [*tmp_path.glob("runs/*")]


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
