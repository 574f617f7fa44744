"""Several runs out of one file: what each is called and asks for, and every sentence about a wrong file."""

from pathlib import Path

import pytest

from groundup.api.matrix import matrix_requests, read_matrix
from groundup.domain.errors import UsageError
from groundup.settings import Settings
from groundup.store.records import Generated
from tests.runs.configurations import TWO

ONE = '[[run]]\nsuite = "toy"\nagent = "nop"\n'


def read(folder: Path, text: str) -> list[tuple[str, str, str, dict[str, object]]]:
    """Return the runs of a file with *text*."""
    (folder / "m.toml").write_text(text)
    return [(one.name, one.suite, one.agent, dict(one.flags)) for one in read_matrix(folder / "m.toml")]


def test_a_table_is_a_run_for_each_combination(tmp_path: Path) -> None:
    """Named by suite, agent and model, then by what else differs; a name of its own comes first."""
    assert read(tmp_path, ONE) == [("toy-nop", "toy", "nop", {})]
    found = read(
        tmp_path, '[[run]]\nsuite = ["a", "b"]\nagent = "loop"\nmodel = ["x/y", "z"]\nmax-turns = [1, 2]\n'
    )
    assert [(name, suite, flags) for name, suite, _, flags in found] == [
        ("a-loop-x-y-1", "a", {"model": "x/y", "max_turns": 1}),
        ("a-loop-x-y-2", "a", {"model": "x/y", "max_turns": 2}),
        ("a-loop-z-1", "a", {"model": "z", "max_turns": 1}),
        ("a-loop-z-2", "a", {"model": "z", "max_turns": 2}),
        ("b-loop-x-y-1", "b", {"model": "x/y", "max_turns": 1}),
        ("b-loop-x-y-2", "b", {"model": "x/y", "max_turns": 2}),
        ("b-loop-z-1", "b", {"model": "z", "max_turns": 1}),
        ("b-loop-z-2", "b", {"model": "z", "max_turns": 2}),
    ]
    ((name, _, _, _),) = read(tmp_path, f'{ONE}name = "mine/1"\n')
    assert name == "mine-1-toy-nop"
    ((name, _, _, _),) = read(tmp_path, f'{ONE}name = "{"m" * 130}"\n')
    assert name == "m" * 120


def test_names_and_options_are_one_value_each(tmp_path: Path) -> None:
    """Lists of them are no runs of their own; an option is written as in the file."""
    ((_, _, _, flags),) = read(
        tmp_path,
        f'{ONE}tasks = ["a", "b"]\nexclude = "c"\ntimeout = "5m"\nattempts = 2\n'
        '[run.agent-option]\nversion = 3.10\ndeep = [1]\nname = "x"\nsure = true\n',
    )
    assert flags == {
        "tasks": ["a,b"],
        "exclude": ["c"],
        "timeout": 300.0,
        "attempts": 2,
        "agent_option": ["version=3.10", "deep=[1]", "name=x", "sure=true"],
    }
    ((_, _, _, flags),) = read(tmp_path, f'{ONE}agent_option = ["a=1", "b=2"]\n')
    assert flags == {"agent_option": ["a=1", "b=2"]}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "--config {} has no [[run]] table (docs/runs.md)"),
        ("run = 1", "--config {} has no [[run]] table (docs/runs.md)"),
        ("run = []", "--config {} has no [[run]] table (docs/runs.md)"),
        (f"{ONE}[[run]]\nagent = 'x'", "{}, [[run]] table 2: it has no suite"),
        ("[[run]]\nsuite = 'x'", "{}, [[run]] table 1: it has no agent"),
        (f"{ONE}modell = 1", "{}, [[run]] table 1: unknown key 'modell'; did you mean 'model'?"),
        (f"{ONE}jobs = 1", "{}, [[run]] table 1: unknown key 'jobs'"),
        (f"{ONE}attempts = 0", "{}, [[run]] table 1: attempts: 0 is too little; it must be at least 1"),
        (ONE + ONE, "{}: two runs would be called 'toy-nop'; give their tables a `name`"),
        ("x", "--config {} is not valid TOML: "),
    ],
)
def test_what_is_wrong_is_named_with_its_table(tmp_path: Path, text: str, says: str) -> None:
    """Before anything is planned."""
    (tmp_path / "m.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        read_matrix(tmp_path / "m.toml")
    assert str(caught.value).startswith(says.format(tmp_path / "m.toml"))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """Says why."""
    with pytest.raises(UsageError) as caught:
        read_matrix(tmp_path / "none")
    assert str(caught.value) == f"--config {tmp_path}/none cannot be read: No such file or directory"


def test_each_run_could_begin(tmp_path: Path, settings: Settings) -> None:
    """With the settings of the file, its own flags and those that are given beside it; all are planned first."""
    config = tmp_path / "m.toml"
    lines = "".join(
        f'{name} = "{value}"\n'
        for name, value in (
            ("cache_dir", settings.cache_dir), ("sandbox", settings.sandbox), ("builder", settings.builder)
        )
    )  # fmt: skip
    config.write_text(
        f'[settings]\n{lines}jobs = 2\n[[run]]\nsuite = "{TWO}"\nagent = ["oracle", "nop"]\nattempts = 3\n'
    )
    requests = matrix_requests(config, output=tmp_path / "runs", keep=True)
    assert [request.run_id for request in requests] == [
        f"{TWO.replace(':', '-').replace('_', '-')}-{agent}" for agent in ("oracle", "nop")
    ]
    for request in requests:
        assert (request.configuration.suite, request.configuration.attempts) == (TWO, 3)
        assert not isinstance(request.configuration.submissions, Generated)
        assert (request.options.keep, request.options.jobs) == (True, 2)
        assert request.settings.output == tmp_path / "runs"
    assert [request.options.jobs for request in matrix_requests(config, jobs=1)] == [1, 1]
    config.write_text(f'[settings]\n{lines}[[run]]\nsuite = "{TWO}"\nagent = "nop"\ntasks = "absent"\n')
    with pytest.raises(UsageError, match="absent"):
        matrix_requests(config)
