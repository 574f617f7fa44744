"""The published evaluator's rules, with the faults that make `strict` necessary."""

from pathlib import Path

import pytest

from groundup.suites.nl2repobench.official_rules import (
    CommandOutput,
    PytestCounts,
    count,
    delete_package_files,
    delete_test_files,
    failing_tests,
    first_error,
    needs_shell,
    passed_by_file,
    split_command,
    success_rate,
)


def _pytest(output: str) -> list[CommandOutput]:
    return [CommandOutput(command="pytest tests", output=output)]


def test_package_files_go_anywhere_in_the_tree(tmp_path: Path) -> None:
    """Fault kept: a library's own data file named setup.cfg is deleted too."""
    for name in ("setup.py", "lib/data/setup.cfg", "lib/core.py", "conftest.py", ".pytest.ini"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert delete_package_files(tmp_path) == ["lib/data/setup.cfg", "setup.py"]
    assert (tmp_path / "conftest.py").exists()
    assert (tmp_path / ".pytest.ini").exists()


def test_a_linked_test_folder_survives_deletion(tmp_path: Path) -> None:
    """Fault kept: a symbolic link named `tests` is not deleted."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "tests").symlink_to("mine", target_is_directory=True)
    (tmp_path / "other").mkdir()
    assert delete_test_files(tmp_path, ["tests", "other", "absent"]) == ["other"]
    assert (tmp_path / "tests").is_symlink()


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("touch README.md && pip install -e .", ["touch", "README.md", "&&", "pip", "install", "-e", "."]),
        (
            "pip install -e . & pip install -r tests/requirements.txt",
            ["pip", "install", "-e", ".", "&", "pip", "install", "-r", "tests/requirements.txt"],
        ),
        (
            "echo \"version = '0.0.1'\" > asteval/version.py",
            ["echo", "version = '0.0.1'", ">", "asteval/version.py"],
        ),
        (
            "echo \"__version__ = '0.0.1'\" > tqdm/version.py",
            ["echo", "__version__ = '0.0.1'", ">", "tqdm/version.py"],
        ),
        (
            "SETUPTOOLS_SCM_PRETEND_VERSION_FOR_TQDM=0.0.1 pip install -e .",
            ["SETUPTOOLS_SCM_PRETEND_VERSION_FOR_TQDM=0.0.1", "pip", "install", "-e", "."],
        ),
        ("set AWS_DEFAULT_REGION=us-east-1", ["set", "AWS_DEFAULT_REGION=us-east-1"]),
        (
            "echo 'This is sample license text.' >> LICENSE.txt",
            ["echo", "This is sample license text.", ">>", "LICENSE.txt"],
        ),
        (
            "echo 'This is sample RST text.' >> README.rst",
            ["echo", "This is sample RST text.", ">>", "README.rst"],
        ),
    ],
)
def test_commands_that_need_a_shell_get_none(command: str, arguments: list[str]) -> None:
    """Fault kept, one case per task that needs a shell: operators become plain arguments."""
    assert split_command(command) == arguments


def test_counts_come_from_printed_text() -> None:
    """Fault kept: printing a number scores it."""
    assert count(_pytest("118 passed")) == PytestCounts(passed=118)


def test_nested_pytest_output_is_counted() -> None:
    """Fault kept: the output of a pytest inside a test adds to the sum."""
    assert count(_pytest("...\n1 passed in 0.1s\n==== 2 failed, 187 passed, 1 error in 9s ====")) == PytestCounts(
        passed=188, failed=2, errors=1
    )


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_number_of_any_length_is_a_score(digits: int) -> None:
    """A submission that prints one is judged, and takes its grader down in no way."""
    assert success_rate(count(_pytest(f"{'1' * digits} passed")).passed, 9) == 1


def test_only_the_first_match_of_a_line_counts() -> None:
    """Two summaries on one line count once, as published."""
    assert count(_pytest("3 passed, 4 passed")).passed == 3


def test_any_command_that_names_pytest_is_counted() -> None:
    """`pip install pytest` counts too; `python test.py` never does."""
    outputs = [
        CommandOutput(command="pip install PYTEST-cov", output="1 passed"),
        CommandOutput(command="python test.py", output="9 passed"),
    ]
    assert count(outputs).passed == 1


def test_the_rate_is_capped() -> None:
    """More passed than declared is 1."""
    assert success_rate(233, 184) == 1
    assert success_rate(1, 4) == 0.25
    assert success_rate(1, 0) == 0.0


def test_counts_by_file_are_read_from_progress() -> None:
    """Lines that wrap belong to the file before them; verbose ones name it; all else ends it."""
    output = (
        "collected 9 items\n\ntests/test_a.py ..F.                    [ 40%]\n..s.           [ 80%]\n"
        "tests/test_b.py x.                   [100%]\nsomething\n..... [100%]\n"
        "mine.py::test_x[1 2] PASSED              [ 50%]\nmine.py::test_y FAILED   [100%]\n"
    )
    assert passed_by_file(_pytest(output)) == {"tests/test_a.py": 6, "tests/test_b.py": 1, "mine.py": 1}
    assert passed_by_file([CommandOutput(command="python x.py", output=output)]) == {}


def test_failing_tests_and_errors_are_read_from_what_commands_print() -> None:
    """The runner's summary names tests; of another command the line that tells of an error counts, or its last."""
    summary = (
        "x\n=== short test summary info ===\nFAILED tests/test_a.py::test_x - assert 1 == 2\nERROR tests/b.py\n"
    )
    pytest_run = CommandOutput(command="pytest tests", output=summary, exit_code=1)
    assert failing_tests(pytest_run) == ["tests/test_a.py::test_x - assert 1 == 2", "tests/b.py"]
    touched = CommandOutput(command="touch a -e b", output="head\ntouch: invalid option -- 'e'\nTry --help\n")
    assert first_error(touched) == "touch: invalid option -- 'e'"
    installed = "finished with status 'error'\nTraceback:\nOSError: no a.md\nerror: metadata failed"
    assert first_error(touched.but(output=installed)) == "OSError: no a.md"
    assert first_error(touched.but(output="one\ntwo\n")) == "two"
    assert first_error(touched.but(output="")) == ""


@pytest.mark.parametrize(
    ("command", "does"),
    [("pip install -e .", False), ("cd src && pytest", True), ("echo a > b", True), ("pip install 'x[y]'", False)],
)
def test_what_needs_a_shell_is_known(command: str, *, does: bool) -> None:
    """Operators, redirections, variables and built-ins."""
    assert needs_shell(command) is does
