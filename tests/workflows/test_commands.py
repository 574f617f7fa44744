"""Scripts taken apart."""

import pytest

from groundup.workflows.commands import options_of, program_of, simple_commands


@pytest.mark.parametrize(
    ("script", "commands"),
    [
        ("cd x && pytest -q | tee log", [["cd", "x"], ["pytest", "-q"], ["tee", "log"]]),
        ("uv run --group test -- pytest", [["pytest"]]),
        ("uvx --with tox-uv tox -e py312", [["tox", "-e", "py312"]]),
        ("python -Im tox --parallel=auto", [["tox", "--parallel=auto"]]),
        (
            "python -X dev -W error -m coverage run -m unittest discover",
            [["python", "-m", "unittest", "discover"]],
        ),
        ("coverage run --branch -m pytest tests", [["pytest", "tests"]]),
        ("CI=1 sudo xvfb-run -a npm test", [["npm", "test"]]),
        ("if npm -ps ls nyc; then npm run test-ci; else npm test; fi", None),
        ("pip install \\\n  pytest", [["pip", "install", "pytest"]]),
        ("# pytest\n\ntimeout 10s make check", [["make", "check"]]),
        ("dotnet tool run dotnet-cake --target=Test", [["dotnet-cake", "--target=Test"]]),
        ("poetry run ./scripts/test", [["./scripts/test"]]),
    ],
)
def test_wrappers_keywords_and_variables_are_taken_away(script: str, commands: list[list[str]] | None) -> None:
    """What is left of a line is the program that runs in the end."""
    found = list(simple_commands(script))

    if commands is None:
        assert ["npm", "run", "test-ci"] in found
        assert ["npm", "test"] in found
    else:
        assert found == commands


def test_options_and_programs_are_understood_however_written() -> None:
    """`-e x`, `-ex` and `--env=x` say the same; `python3.11` is python."""
    assert options_of(["tox", "-e", "a", "-eb", "--env=c"], "-e", "--env") == ["a", "b", "c"]
    assert program_of("/usr/bin/python3.11") == "python"
    assert program_of("$(PYTHON)") == "python"
    assert program_of("node_modules/.bin/jest") == "jest"
