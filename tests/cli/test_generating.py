"""`groundup run` with agents, and what can be done with such a run: show, export, import, a file of runs."""

import json
import re
from pathlib import Path

import pytest

from groundup.api.matrix import read_matrix
from groundup.api.requests import running
from groundup.api.subjects import read_assignments
from groundup.domain.errors import UsageError
from groundup.runs import api
from groundup.runs.generation import model_settings
from groundup.runs.plan import RunOptions
from groundup.runs.submissions import AgentSource
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.store.records import Generated
from tests.cli.conftest import Groundup
from tests.runs.toy import BEHAVIOUR

WRITTEN = "tests.runs.toy:create_written"
EDITS = "tests.runs.toy:create_edits"
TOY = "tests.runs.toy_agent:create"


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A model whose every reply hands in what passes half."""
    script = tmp_path / "half.json"
    content = f"\x1b[31mHere\n```path={BEHAVIOUR}\nhalf\n```\n"
    script.write_text(json.dumps({"turn": [{"content": content, "output_tokens": 100}], "then": "repeat"}))
    return f"scripted/{script}"


def test_a_model_does_the_tasks(groundup: Groundup, model: str, tmp_path: Path) -> None:
    """One command generates and grades; the report names the model."""
    ended = groundup("run", WRITTEN, "-a", "oneshot", "-m", model, "--run-id", "one", "--json")
    assert ended.code == 0
    report = json.loads(ended.out)
    assert report["runs"][0]["figures"][0]["score"]["value"] == 0.5
    assert model in ended.out


def test_flags_reach_the_configuration(groundup: Groundup, model: str, tmp_path: Path) -> None:
    """What was asked for can be read in the run's folder."""
    ended = groundup(
        "run", WRITTEN, "-a", "oneshot", "-m", model, "--run-id", "one", "--generate-only", "--temperature", "0.5",
        "--reasoning-effort", "low", "--context-tokens", "9000", "--model-option", 'extra={"top_k": 1}',
        "--max-turns", "7", "--max-tokens", "8000", "--max-attempt-cost", "2", "--price", "1:1",
        "--max-seconds", "99", "--end-at-submit",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    submissions = RunFolder(tmp_path / "runs/one").config().configuration.submissions
    assert isinstance(submissions, Generated)
    assert submissions.model_settings == {
        "temperature": 0.5,
        "context_tokens": 9000,
        "extra": {"top_k": 1},
        "reasoning_effort": "low",
    }
    assert submissions.limits.model_dump() == {
        "turns": 7, "tokens": 8000, "cost_usd": 2.0, "wall_clock_s": 99.0,
    }  # fmt: skip
    assert submissions.feedback == "end"


def test_an_option_can_be_a_file_s_text(tmp_path: Path) -> None:
    """The run keeps the text, so that it goes on without the file; a file that is not there is named."""
    (tmp_path / "prompt.txt").write_text("Be brief.\n{rules}")
    assert read_assignments([f"system=@{tmp_path}/prompt.txt"], "--agent-option") == {
        "system": "Be brief.\n{rules}"
    }
    with pytest.raises(UsageError, match="--agent-option: the file absent cannot be read: No such file"):
        read_assignments(["system=@absent"], "--agent-option")


def test_options_reach_whom_they_are_for_as_they_were_written(
    groundup: Groundup, model: str, tmp_path: Path
) -> None:
    """`python=3.10` is a version, not 3.1; time-outs, patience and streams are settable as the docs say."""
    assert read_assignments(
        ["python=3.10", "turns=5", 'arguments="a b"', "null=null", "a={\"x\": 0.50}", "big=1e400", "yes=true"], "-"
    ) == {
        "python": "3.10", "turns": "5", "arguments": '"a b"', "null": None, "a": {"x": 0.5}, "big": "1e400",
        "yes": True,
    }  # fmt: skip
    options = ("--agent-option", "python=3.10", "--agent-option", "turns=5", "--agent-option", "command_s=2.5")
    assert groundup("run", WRITTEN, "-a", "loop", "-m", model, *options, "--dry-run").code == 0
    patience = ("timeout_s=7.5", "patience_s=0", "first_pause_s=0.5", "stream=true")
    flags = [word for option in patience for word in ("--model-option", option)]
    ended = groundup("run", WRITTEN, "-a", "oneshot", "-m", model, *flags, "--run-id", "one")
    assert ended.code == 0, ended.err
    plan = api.NewRun(RunFolder(tmp_path / "runs/one").config().configuration, RunOptions(), Settings()).plan()
    assert isinstance(plan.source, AgentSource)
    asked = model_settings(plan.source, RunOptions(), Settings())
    assert (asked.timeout_s, asked.patience_s, asked.first_pause_s, asked.stream) == (7.5, 0, 0.5, True)


def test_a_file_of_runs_keeps_versions_as_they_are_written(tmp_path: Path) -> None:
    """TOML reads 3.10 as a number; an agent gets what stands in the file."""
    text = "[[run]]\nsuite = 's'\nagent = 'loop'\nagent-option = {python = 3.10, command_s = 2.50}\ntimeout = 1.50"
    (entry,) = read_matrix(write_matrix(tmp_path, text))
    assert entry.flags["agent_option"] == ["python=3.10", "command_s=2.50"]
    assert entry.flags["timeout"] == 1.5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-a", "lop", "-m", "scripted/x"), "did you mean 'loop'"),
        (("-a", "loop"), "needs a model"),
        (("-a", "loop", "-m", "nothing"), "PROVIDER/MODEL"),
        (("-a", "loop", "-m", "opnai/gpt-4.1"), "did you mean 'openai'"),
        (("-a", "nop", "--no-exec"), "leave out --no-exec"),
        (("-a", "nop", "--lang", "cobol"), "'cobol'; choose from: "),
        (("-a", "nop", "-m", "scripted/x"), "made by the suite itself"),
        (("-a", "loop", "-m", "scripted/x", "--agent-option", "turn=3"), "did you mean 'turns'"),
        (("-a", "loop", "-m", "scripted/x", "--agent-option", "turns"), "NAME=VALUE"),
        (("-a", "loop", "-m", "scripted/x", "--model-option", "colour=3"), "setting of a model"),
        (("-a", "loop", "-m", "scripted/x", "--base-url", "http://u:secret@h/v1"), "credentials"),
        (("-a", "loop", "-m", "scripted/x", "--hide-scores", "--end-at-submit"), "leave --hide-scores out"),
        (("-a", "oneshot", "-m", "scripted/x", "--max-cost", "0"), "--max-cost 0 is no limit to spend up to"),
        (("-a", "oneshot", "-m", "scripted/x", "--max-cost", "nan"), "must be a finite number"),
        (("-a", "oneshot", "-m", "scripted/x", "--max-attempt-cost", "0"), "--max-attempt-cost 0 is no limit"),
        (("-a", "oneshot", "-m", "scripted/x", "--model-option", "timeout_s=0"), "model setting timeout_s"),
        ((), "name a suite and an agent"),
        (("-a", "loop", "--config", "x.toml"), "write it there"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_done(
    groundup: Groundup, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    """Exit code 2 and a sentence; no run folder."""
    ended = groundup("run", WRITTEN, *arguments)
    assert ended.code == 2
    assert said in ended.err
    assert "secret" not in ended.err
    assert not list((tmp_path / "runs").glob("*/config.json"))


def test_generating_first_and_grading_later(groundup: Groundup, model: str) -> None:
    """`--generate-only` ends well without verdicts, says what to do next, and `resume` grades."""
    made = groundup("run", WRITTEN, "-a", "oneshot", "-m", model, "--run-id", "one", "--generate-only")
    assert made.code == 0, made.err
    assert "[2/2]" in made.err
    assert "made and not graded: 2 submissions" in made.err
    assert groundup("report", "one").code == 0
    graded = groundup("resume", "one", "--json")
    assert graded.code == 0
    assert json.loads(graded.out)["runs"][0]["figures"][0]["score"]["value"] == 0.5


def test_a_dry_run_guesses_tokens_and_money(groundup: Groundup, model: str) -> None:
    """Before anything is paid one learns about how much it will be."""
    arguments = ("run", WRITTEN, "-a", "oneshot", "-m", model, "--dry-run")
    document = json.loads(groundup(*arguments, "--price", "0:10", "--json").out)
    assert document["estimate"]["usage"]["output_tokens"] == 16000
    assert document["estimate"]["cost_usd"] == pytest.approx(0.16)
    assert "the model has no price" in groundup(*arguments).err


@pytest.mark.parametrize(("flag", "says"), [("--price", "is no price"), ("--prices", "cannot be read")])
def test_a_wrong_price_is_wrong_where_no_model_is_asked(groundup: Groundup, flag: str, says: str) -> None:
    """Before anything runs."""
    ended = groundup("run", WRITTEN, "-a", "oracle", flag, "none", "--run-id", "one")
    assert (ended.code, Path("runs").exists()) == (2, False)
    assert says in ended.err


def test_show_tells_what_happened(groundup: Groundup, model: str) -> None:
    """A person reads the prompts, the reply and the end; control characters of the model are escaped."""
    groundup("run", WRITTEN, "-a", "oneshot", "-m", model, "--run-id", "one")
    ended = groundup("show", "one", "task-0000")
    assert ended.code == 0
    for part in ("Write task-0000.", "\\x1b[31mHere", "turn 1: the model", "ended: submitted"):
        assert part in ended.out
    assert "\x1b[31m" not in ended.out
    assert "graded 1/2" in ended.err
    document = json.loads(groundup("show", "one", "task-0000/0", "--json").out)
    assert document["steps"][0]["kind"] == "began"
    assert groundup("show", "one", "task-0000/5").code == 2
    listed = groundup("show", "one")
    assert "task-0000/0" in listed.out
    assert "1/2" in listed.out
    assert "`groundup show one TASK` shows what one did, `groundup why one` what all lost" in listed.err
    attempts = json.loads(groundup("show", "one", "--json").out)["attempts"]
    assert [one["attempt"] for one in attempts] == ["task-0000/0", "task-0001/0"]


def test_show_of_an_attempt_without_an_agent_says_so_and_how_it_was_graded(groundup: Groundup) -> None:
    """What was handed in, the verdict and why it is no full score are there to be shown all the same."""
    groundup("run", WRITTEN, "-a", "nop", "--run-id", "one")
    ended = groundup("show", "one", "task-0000")
    assert ended.code == 0
    assert "no agent worked on it" in ended.err
    assert "handed in 0 files" in ended.err
    assert "graded 0/2: " in ended.err


@pytest.mark.parametrize("attempts", [1, 2])
def test_an_export_can_be_evaluated_again(groundup: Groundup, model: str, tmp_path: Path, attempts: int) -> None:
    """What is exported gets the same score again, and its record says who made it."""
    groundup("run", WRITTEN, "-a", "oneshot", "-m", model, "--run-id", "one", "-k", attempts)
    assert groundup("export", "one", tmp_path / "out").code == 0
    evaluated = json.loads(groundup("evaluate", WRITTEN, "-p", tmp_path / "out", "--json").out)
    assert evaluated["runs"][0]["figures"][0]["score"]["value"] == 0.5
    ended = groundup(
        *("evaluate", WRITTEN, "-p", tmp_path / "out"),
        *("--agent-name", "cursor", "--model-name", "m", "--run-id", "in"),
    )
    assert ended.code == 0, ended.err
    record = (
        RunFolder(tmp_path / "runs/in").attempt(RunFolder(tmp_path / "runs/in").config().planned.keys[-1]).record()
    )
    assert record is not None
    assert record.provenance.model_dump()["source"] == "predictions"
    assert (record.provenance.agent_name, record.provenance.model_name) == ("cursor", "m")
    assert groundup("export", "one", tmp_path / "out").code == 2


def test_trajectories_are_exported(groundup: Groundup, model: str, tmp_path: Path) -> None:
    """As documents of the interchange format, one per attempt."""
    groundup("run", WRITTEN, "-a", "oneshot", "-m", model, "--run-id", "one")
    assert groundup("export", "one", tmp_path / "out", "--format", "atif").code == 0
    document = json.loads((tmp_path / "out/task-0001/0/trajectory.json").read_text())
    assert document["schema_version"].startswith("ATIF-v1.")
    assert [step["source"] for step in document["steps"]] == ["system", "user", "agent"]


def test_patches_are_for_suites_of_edits(groundup: Groundup, model: str, tmp_path: Path) -> None:
    """Other suites refuse, with what to do."""
    groundup("run", WRITTEN, "-a", "oneshot", "-m", model, "--run-id", "one")
    ended = groundup("export", "one", tmp_path / "out", "--format", "patch")
    assert ended.code == 2
    assert "whole repositories" in ended.err


# --- files of runs


def write_matrix(tmp_path: Path, text: str) -> Path:
    """Write a file of runs."""
    path = tmp_path / "matrix.toml"
    path.write_text(text)
    return path


def test_a_file_describes_several_runs(groundup: Groundup, model: str, tmp_path: Path) -> None:
    """Lists multiply; each run has its folder; the report holds them all; the same command finds nothing to do."""
    path = write_matrix(
        tmp_path,
        f"""
        [settings]
        jobs = 1
        [[run]]
        suite = "{WRITTEN}"
        agent = "{TOY}"
        tasks = ["task-0000", "task-0001"]
        max-turns = [3, 4]
        agent-option = {{ behaviour = "half" }}
        [[run]]
        name = "one-shot"
        suite = "{WRITTEN}"
        agent = "oneshot"
        model = "{model}"
        """,
    )
    ended = groundup("run", "--config", path, "--json")
    assert ended.code == 0, ended.err
    runs = json.loads(ended.out)["runs"]
    assert [run["figures"][0]["score"]["value"] for run in runs] == [0.5, 0.5, 0.5]
    folders = sorted(folder.name for folder in (tmp_path / "runs").iterdir())
    assert len(folders) == 3
    again = groundup("run", "--config", path)
    assert again.code == 0
    assert sorted(folder.name for folder in (tmp_path / "runs").iterdir()) == folders


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no [[run]] table"),
        ("[[run]]\nagent = 'nop'", "has no suite"),
        (f"[[run]]\nsuite = '{WRITTEN}'\nagent = 'nop'\nmodle = 'x'", "did you mean 'model'"),
        (f"[[run]]\nsuite = '{WRITTEN}'\nagent = 'oneshot'\nmodel='scripted/x'\nmax-turns = 'many'", "max_turns"),
        (
            f"[[run]]\nsuite = '{WRITTEN}'\nagent = 'nop'\n[[run]]\nsuite = '{WRITTEN}'\nagent = 'nop'",
            "give their",
        ),
        ("[[run", "not valid TOML"),
    ],
)
def test_a_wrong_file_names_what_is_wrong(groundup: Groundup, tmp_path: Path, text: str, said: str) -> None:
    """Before anything is done."""
    ended = groundup("run", "--config", write_matrix(tmp_path, text))
    assert ended.code == 2
    assert said in ended.err


def test_a_file_that_changed_refuses_its_runs(groundup: Groundup, tmp_path: Path) -> None:
    """A run that was made under another configuration is not mixed with this one."""
    text = f"[[run]]\nname = 'n'\nsuite = '{WRITTEN}'\nagent = '{TOY}'\nagent-option = {{ behaviour = 'half' }}"
    assert groundup("run", "--config", write_matrix(tmp_path, text)).code == 0
    ended = groundup("run", "--config", write_matrix(tmp_path, text.replace("half", "pass")))
    assert ended.code == 2
    assert "submissions" in ended.err


def test_the_end_of_a_run_says_how_to_see_what_was_lost(groundup: Groundup) -> None:
    """A command to copy, which works; a run that lost nothing needs none."""
    (command,) = re.findall(r"`groundup (why [^`]+)`", groundup("run", WRITTEN, "-a", "nop").err)
    assert groundup(*command.split()).code == 0
    assert "groundup why" not in groundup("run", WRITTEN, "-a", "oracle").err


def test_a_program_is_an_agent_by_its_name(groundup: Groundup, model: str, tmp_path: Path) -> None:
    """`-a codex` is the agent `cli` with the version that is listed; the run keeps that version."""
    listed = {one["name"]: one for one in json.loads(groundup("agents", "--json").out)["agents"]}
    assert {"loop", "oneshot", "codex", "claude-code"} <= set(listed)
    given = running(WRITTEN, "codex", model=model).configuration.submissions
    assert isinstance(given, Generated)
    assert (given.agent, given.options) == ("cli", {"preset": f"codex@{listed['codex']['version']}"})
    ended = groundup("run", WRITTEN, "-a", "kodex", "-m", model)
    assert (ended.code, "did you mean 'codex'" in ended.err) == (2, True)
    ended = groundup("run", WRITTEN, "-a", "codex", "--agent-option", "preset=codex@1.0", "-m", model)
    assert (ended.code, "leave --agent-option preset=... out" in ended.err) == (2, True)
