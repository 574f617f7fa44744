"""What is written on a command line is what is done: nothing is dropped in silence, nothing empty means all."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from groundup.api.requests import evaluation
from groundup.cli.main import create_app
from groundup.cli.options import Talk, one_format, time_option
from groundup.configuration import words_with_home
from groundup.domain.errors import UsageError
from groundup.reports.forms import Format
from groundup.settings import Settings, load
from tests.cli.conftest import TWENTY, TWO, Groundup, Predict


def planned(groundup: Groundup, *arguments: str) -> list[str]:
    """Return the attempts that a run would have."""
    ended = groundup("run", TWENTY, "-a", "nop", "--dry-run", "--json", *arguments)
    assert ended.code == 0, ended.err
    return [name.removesuffix("/0") for name in json.loads(ended.out)["attempts"]]


def test_tasks_given_several_times_add_up(groundup: Groundup) -> None:
    """Ten flags are ten tasks, separated by commas or not; so are exclusions."""
    given = ("--tasks", "task-0001", "--tasks", "task-0002,task-0003", "--tasks", "task-0001")
    assert planned(groundup, *given) == ["task-0001", "task-0002", "task-0003"]
    assert planned(groundup, *given, "--exclude", "task-0001", "--exclude", "task-0003") == ["task-0002"]


def test_task_and_tasks_are_the_same(groundup: Groundup) -> None:
    """Nobody has to remember which command takes which."""
    assert planned(groundup, "--task", "task-0001", "--task=task-0002") == ["task-0001", "task-0002"]
    for command in (("audit", TWO), ("curate", "validate", TWO), ("serve", TWO), ("judge", "absent")):
        for flag in ("--task", "--tasks"):
            assert "has no option" not in groundup(*command, flag, "task-9").err


@pytest.mark.parametrize("flag", ["--tasks", "--exclude", "--grader", "--run-id", "--output", "--lang"])
def test_an_empty_value_is_an_error(groundup: Groundup, flag: str) -> None:
    """A variable that was not set means neither the whole suite nor the current folder."""
    ended = groundup("run", TWENTY, "-a", "nop", "--dry-run", flag, "")
    assert ended.code == 2
    assert f"{flag} is empty" in ended.err
    assert groundup("evaluate", TWENTY, "-p", "").code == 2
    assert groundup("report", "").code == 2


def test_names_of_nothing_are_an_error(groundup: Groundup) -> None:
    """Commas alone name no task."""
    ended = groundup("run", TWENTY, "-a", "nop", "--dry-run", "--tasks", " , ")
    assert ended.code == 2
    assert "--tasks names nothing" in ended.err


def test_an_option_given_twice_is_refused(groundup: Groundup) -> None:
    """Where only one value would count, no other vanishes."""
    ended = groundup("run", TWENTY, "-a", "nop", "--dry-run", "--grader", "lax", "--grader", "strict")
    assert ended.code == 2
    assert "--grader is given 2 times; give it once" in ended.err
    ended = groundup("evaluate", TWENTY, "-p", "a", "-p", "b")
    assert ended.code == 2
    assert "each is a run of its own" in ended.err


@pytest.mark.parametrize("gone", [("--mcp", "tools.json"), ("--skills=skills",)])
def test_a_flag_that_is_gone_says_so(groundup: Groundup, gone: tuple[str, ...]) -> None:
    """One that only earlier versions had ends with one sentence and code 2."""
    ended = groundup("run", TWO, "-a", "nop", "--dry-run", *gone)
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert " is gone: " in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "r", "--format", "ctrf"),
        ("report", "r", "--format=parquet"),
        ("export", "r", "d", "--format", "sharegpt"),
        ("export", "r", "d", "--format=parquet"),
        ("run", TWO, "-a", "nop", "--sandbox", "none"),
        ("serve", TWO, "--sandbox=fake"),
        ("run", TWO, "-a", "loop", "--select", "judges"),
        ("run", TWO, "-a", "loop", "--select=votes"),
    ],
)
def test_a_value_that_is_gone_says_so(groundup: Groundup, arguments: tuple[str, ...]) -> None:
    """As a flag does."""
    ended = groundup(*arguments)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert f"{arguments[-1].rpartition('=')[2]} is gone: " in ended.err


def test_what_is_gone_says_so_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """So do a keyword argument and a setting."""
    with pytest.raises(UsageError, match="--mcp is gone: "):
        evaluation(TWO, "p", mcp="tools.json")  # type: ignore[call-arg]
    monkeypatch.setenv("GROUNDUP_SANDBOX", "none")
    with pytest.raises(UsageError, match="the sandbox none is gone: "):
        load()


def test_a_limit_draws_a_sample_that_is_always_the_same(groundup: Groundup) -> None:
    """A larger sample holds the smaller one; another seed draws another; the run records its tasks by name."""
    five, ten = planned(groundup, "--limit", "5"), planned(groundup, "--limit", "10")
    assert len(five) == 5
    assert five == planned(groundup, "--limit", "5") != planned(groundup, "--limit", "5", "--seed", "1")
    assert set(five) < set(ten)
    assert planned(groundup, "--limit", "5", "--tasks", "task-0001") == ["task-0001"]
    assert groundup("run", TWENTY, "-a", "nop", "--run-id", "r", "--limit", "2", "-q").code == 0
    assert groundup("resume", "r").code == 0
    assert groundup("resume", "r", "--limit", "2").code == 2


@pytest.mark.parametrize("by", ["flag", "variable", "file"])
def test_a_tilde_is_the_home_wherever_it_is_written(
    groundup: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """No shell replaces it in a file, in quotes, or behind `=`; a folder of that name invites `rm -r ~`."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("GROUNDUP_OUTPUT")
    flags = []
    if by == "flag":
        flags = ["--output=~/mine"]
    elif by == "variable":
        monkeypatch.setenv("GROUNDUP_OUTPUT", "~/mine")
    else:
        (tmp_path / "groundup.toml").write_text('[settings]\noutput = "~/mine"\n')
    assert groundup("run", TWO, "-a", "nop", "--run-id", "r", "-q", *flags).code == 0
    assert (tmp_path / "home" / "mine" / "r" / "config.json").is_file()
    assert not (tmp_path / "~").exists()


def test_a_command_in_a_sandbox_keeps_its_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    """The home there is another one."""
    monkeypatch.setenv("HOME", "/home/me")
    given = ["shell", "r", "task", "-c", "~/bin/x", "--output=~/runs", "~", "a~/b"]
    assert words_with_home(given) == [
        "shell",
        "r",
        "task",
        "-c",
        "~/bin/x",
        "--output=/home/me/runs",
        "/home/me",
        "a~/b",
    ]


def test_quiet_says_why_there_is_no_verdict(groundup: Groundup, predict: Predict) -> None:
    """Once for each cause: an exit code of 3 alone would be a riddle."""
    predictions = predict({"task-0000": "machine", "task-0001": "machine"})
    ended = groundup("evaluate", TWO, "-p", predictions, "-q")
    assert ended.code == 3
    assert ended.err.count("no interpreter is on this machine") == 1


def test_quiet_is_quiet(groundup: Groundup) -> None:
    """One line with the score, and nothing on standard error where nothing went wrong."""
    ended = groundup("run", TWENTY, "-a", "nop", "--run-id", "r", "--tasks", "task-0001", "-q")
    assert ended == (0, "r: mean score 0.0 % (0/1)\n", "")


def test_runs_are_listed(groundup: Groundup) -> None:
    """Suite, subject, score, time and what is pending; a damaged run hides no other."""
    assert "there are no runs" in groundup("runs").err
    groundup("run", TWENTY, "-a", "nop", "--run-id", "first", "--tasks", "task-0001", "-q")
    groundup("run", TWENTY, "-a", "oracle", "--run-id", "second", "--tasks", "task-0001", "-q")
    (Path("runs") / "third").mkdir()
    (Path("runs") / "third" / "config.json").write_text("{}")
    document = json.loads(groundup("runs", "--json").out)
    printed = {one["run"]: one for one in document["runs"]}
    assert printed.keys() == {"first", "second", "third"}
    assert printed["second"]["subject"] == "oracle"
    assert printed["second"]["score"].startswith("100.0 %")
    assert printed["first"]["pending"] == 0
    shown = groundup("runs").out
    assert "third" in shown
    assert "pending" in shown  # people read this word; documents keep the key


def test_help_calls_values_by_words(groundup: Groundup) -> None:
    """No type of Python's stands in a help, and an option that takes no value shows none."""
    for command in ("run", "evaluate", "curate set", "fleet up"):
        shown = groundup(*command.split(), "--help").out
        assert not [kind for kind in ("<str>", "<bool>", "<int", "<float", "<path>", "list[") if kind in shown]


def test_init_writes_settings_that_change_nothing(groundup: Groundup) -> None:
    """Every setting is there with its default, as a comment; the file is read, and never overwritten."""
    before = load()
    assert groundup("init").code == 0
    text = Path("groundup.toml").read_text()
    assert all(f"\n# {name} =" in text for name in Settings.model_fields)
    assert load() == before
    assert groundup("init").code == 2
    assert Path("groundup.toml").read_text() == text
    assert tomllib.loads(text.replace("# jobs", "jobs"))["settings"]["jobs"] >= 1


def test_completion_is_offered(groundup: Groundup) -> None:
    """Shells can complete commands."""
    assert "--install-completion" in groundup("--help").out


@pytest.mark.parametrize(
    ("flag", "value", "says"),
    [
        ("--jobs", "many", "must be a whole number"),
        ("--jobs", "0", "must be at least 1"),
        ("--fail-under", "2", "must be at most 1"),
        ("--format", "pdf", "'pdf' is not one of"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_in_plain_words(
    groundup: Groundup, flag: str, value: str, says: str
) -> None:
    """The libraries that convert values speak of inputs and value errors."""
    ended = groundup("run", TWENTY, "-a", "nop", flag, value)
    assert ended.code == 2
    assert f"groundup: {flag}: " in ended.err
    assert says in ended.err
    assert "Value error" not in ended.err
    assert "Input should" not in ended.err


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "1e999"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", TWO, "-a", "nop", "--timeout"),
        ("run", TWO, "-a", "nop", "--jobs"),
        ("run", TWO, "-a", "nop", "--max-cost"),
        ("run", TWO, "-a", "nop", "--max-seconds"),
        ("run", TWO, "-a", "nop", "--temperature"),
        ("run", TWO, "-a", "nop", "--fail-under"),
        ("serve", TWO, "--idle"),
        ("compare", "one", "two", "--power"),
        ("leaderboard", "verify", "bundle", "--timeout"),
        ("leaderboard", "verify", "bundle", "--tolerance"),
        ("export", "run", "rows", "--min-score"),
    ],
)
def test_a_number_without_end_is_refused(groundup: Groundup, arguments: tuple[str, ...], value: str) -> None:
    """No such number can be written into a run's records; it was called a bug."""
    ended = groundup(*arguments, value)
    assert ended.code == 2
    assert "must be" in ended.err
    assert f"groundup: {arguments[-1]}: " in ended.err


@pytest.mark.parametrize("value", ["inf", "nan"])
def test_a_setting_without_end_is_refused(groundup: Groundup, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """Settings and keyword arguments are numbers, too."""
    with pytest.raises(UsageError, match=r"timeout: must be a finite number"):
        evaluation(TWO, "predictions", timeout=float(value))
    monkeypatch.setenv("GROUNDUP_RETRY_DELAY_S", value)
    ended = groundup("runs")
    assert ended.code == 2
    assert "the variable GROUNDUP_RETRY_DELAY_S: must be" in ended.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[settings]\njobs = "many"', "groundup.toml, setting jobs: must be a whole number"),
        ("[settings]\njbos = 2", "groundup.toml, setting jbos: unknown setting 'jbos'; did you mean 'jobs'"),
        ('[settings]\ncache_dir = ""', "groundup.toml, setting cache_dir is empty"),
        ("settings = 3", "groundup.toml: settings must be a table"),
        ("jobs = 2", "groundup.toml: 'jobs' stands in no table; settings stand below a line [settings]"),
        ("[setings]\njobs = 2", "groundup.toml: 'setings' stands in no table"),
    ],
)
def test_a_wrong_setting_names_its_file(
    groundup: Groundup, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    """Who did not write the file today still finds what to mend."""
    monkeypatch.delenv("GROUNDUP_JOBS")
    Path("groundup.toml").write_text(text)
    ended = groundup("runs")
    assert ended.code == 2
    assert says in ended.err


def test_a_wrong_setting_names_its_variable(groundup: Groundup, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable is stronger than the file, so it is the one to blame."""
    Path("groundup.toml").write_text("[settings]\njobs = 2\n")
    monkeypatch.setenv("GROUNDUP_JOBS", "many")
    assert "the variable GROUNDUP_JOBS: must be a whole number" in groundup("runs").err


@pytest.mark.parametrize("name", ["CACHE_DIR", "DATA_DIR", "OUTPUT", "IMAGE", "JOBS", "GIT_MIRROR"])
def test_an_empty_variable_sets_nothing(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """`GROUNDUP_CACHE_DIR= groundup ...` would have made the current folder the cache."""
    monkeypatch.delenv(f"GROUNDUP_{name}", raising=False)
    unset = load()
    monkeypatch.setenv(f"GROUNDUP_{name}", "")
    assert load() == unset


def test_only_what_is_written_is_converted() -> None:
    """No checker is made for the forty options that a command line does not have."""
    app = create_app()
    command: Any = app.get_command(typer.Context(app), "run")
    parsed = command.make_context("run", [TWO, "-a", "nop", "--attempts", "3"])
    assert (parsed.params["attempts"], parsed.params["grader"], parsed.params["tasks"]) == (3, None, ())
    made = {one.name for one in command.params if one._runtime_param is not None}
    assert {"attempts", "agent"} <= made
    assert made.isdisjoint({"grader", "tasks", "limit", "model", "workers"})


@pytest.mark.parametrize(
    ("given", "unit", "found"),
    [("10m", "s", 600), ("90", "s", 90), ("1.5", "h", 1.5), ("90m", "h", 1.5), (" 2 ", "s", 2), (5, "s", 5)],
)
def test_a_time_is_a_number_with_or_without_a_unit(given: object, unit: str, found: float) -> None:
    """A number alone is of the option's own unit."""
    assert time_option(given, unit=unit) == found


@pytest.mark.parametrize(
    ("given", "how", "said"),
    [
        ("30", {"with_unit": True}, "30 of what? Write 30h, 30m or 30s"),
        ("1.5", {"with_unit": True}, "1.5 of what? Write 1.5h, 1.5m or 1.5s"),
        ("0.5", {"least": 1.0}, "must be at least 1s"),
        ("1", {"least": 2.5, "unit": "h"}, "must be at least 2.5h"),
    ],
)
def test_a_time_that_is_none_is_refused(given: str, how: dict[str, Any], said: str) -> None:
    """With what to write; nothing has to have a unit, and the least is enough."""
    with pytest.raises(typer.BadParameter) as refused:
        time_option(given, **how)
    assert refused.value.message == said
    assert time_option("0", with_unit=True) == 0
    assert time_option("30s", with_unit=True) == 30
    assert time_option("1", least=1.0) == 1


def test_what_contradicts_itself_is_refused() -> None:
    """A format and another, much and little."""
    assert (one_format(Format.TABLE, json=True), one_format(Format.JSON, json=True)) == (Format.JSON, Format.JSON)
    assert one_format(Format.MARKDOWN, json=False) is Format.MARKDOWN
    assert Talk(json=True).report_format is Format.JSON
    assert Talk(format=Format.MARKDOWN).report_format is Format.MARKDOWN
    for given, said in (
        ({"json": True, "format": Format.MARKDOWN}, "--json is --format json; leave --format markdown out"),
        ({"quiet": True, "verbose": True}, "--quiet and --verbose contradict each other; leave one out"),
    ):
        with pytest.raises(UsageError) as refused:
            Talk(**given)
        assert str(refused.value) == said
    bare = Talk()
    assert (bare.fail_under, bare.verbose, bare.quiet, bare.log_file) == (None, False, False, None)
