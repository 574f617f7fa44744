"""Scripts taken apart."""

import pytest

from groundup.workflows.commands import commands_of, needed_programs, options_of, program_of, simple_commands


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


@pytest.mark.parametrize(
    ("script", "commands"),
    [
        ("timeout -k 5 10m make check", "make check"),
        ("timeout", "timeout"),
        ("retry 3 npm test", "npm test"),
        ("retry npm test", "npm test"),
        ("nice -n 5 make", "make"),
        ("nice --adjustment=5 make", "make"),
        ("conda run -n x pytest", "pytest"),
        ("conda install x", "conda install x"),
        ("coverage run --source a t.py", "python t.py"),
        ("coverage report", "coverage report"),
        ("python -m", "python -m"),
        ("python -mpytest -q", "pytest -q"),
        ("python -W error x.py -m pytest", "python -W error x.py -m pytest"),
        ("python x.py -m tox", "python x.py -m tox"),
        ("python -X dev -m tox", "tox"),
        ("python -m pip install pytest", "python -m pip install pytest"),
        ("python -c 'import tox'", "python -c import tox"),
        ("env -u B A=1 make", "make"),
        ("sudo -E make", "make"),
        ("sudo -u me -- make -j", "make -j"),
        ("npx", "npx"),
        ("npx -p a mocha", "mocha"),
        ("uv run", "uv run"),
        ("uv sync", "uv sync"),
        ("uv tool run --python 3.9 tox", "tox"),
        ("poetry -C x run -q pytest", "pytest"),
        ("${PY:-python3.9} -m pytest", "pytest"),
        ("$(command -v node) --test", "node --test"),
        ("command make", "make"),
        ("command -v make", "command -v make"),
        ("(cd x && npm test)", "cd x; npm test"),
        ("( pytest )", "pytest"),
        ("if (pytest -q); then (a; (b)); fi", "pytest -q; a; b; fi"),
        ("(echo $(date); npm test) || true", "echo $(date); npm test; true"),
        ("a) pytest", "a) pytest"),
        ("echo \"it's", "echo \"it's"),
    ],
)
def test_what_runs_in_the_end_is_found(script: str, commands: str) -> None:
    """Behind options with values of their own, repetitions, interpreters, and in subshells."""
    assert "; ".join(" ".join(words) for words in simple_commands(script)) == commands


@pytest.mark.parametrize(
    ("script", "lost"),
    [
        ("a || true\nb", "a"),
        ("a || echo failed", "a"),
        ("a || echo $x", ""),
        ("a || exit 1", ""),
        ("a || b\nc", ""),
        ("set +e\na\nb", "a"),
        ("set +e\na\nset -e\nb\nc", "a"),
        ("set +e\nset -o errexit\na\nb", ""),
        ("set -e\nset +o errexit\na\nb", "a"),
        ("a && b\nc", "a"),
        ("a && b", ""),
        ("a & b", "a"),
        ("a &\nwait $!", ""),
        ("a &\nwait", "a"),
        ("a | tee log", "a"),
        ("a | b | tee log", "a b"),
        ("set -o pipefail\na | tee log\nb", ""),
        ("a | grep -v x", "a"),
        ("a | grep x", ""),
        ("a | tee log\nexit $code", ""),
        ("if a; then b; fi", "a"),
        ("! a\nb", "a"),
        ("while a; do b; done", "a"),
        ("trap 'exit 0' EXIT\na", "a"),
        ("trap 'clean' EXIT\na", ""),
        ("for x in 1; do a; done || true\nb", "a"),
        ("(a; b) || true\nc", "a b"),
        ("(a; b)\nc", ""),
        ("{ a; b; } || :\nc", "a b"),
        ("bash -c 'a; b'", "a"),
        ("bash -c 'a | tee log; b' || true", "a b"),
        ("script -c 'a' log", "a"),
        ("script -e -c 'a' log", ""),
        ("grunt a --force", "grunt"),
        ("grunt a", ""),
        ("find . -name t -exec a {} \\;", "a"),
        ("find . -name t -exec a {} +", ""),
        ("find . -exec a {} + || true", "a"),
    ],
)
def test_commands_that_may_fail_unseen_are_told(script: str, lost: str) -> None:
    """Only where the script's exit code is the same when one fails: the tests it runs count for nothing then."""
    own = {"set", "trap", "true", "tee", "for", "done", "}"}
    found = [words[0] for words, may_fail, _ in commands_of(script) if may_fail and words[0] not in own]
    assert " ".join(found) == lost


def test_a_shell_that_goes_on_loses_all_but_its_last_list() -> None:
    """So do shells other than those of workflows."""
    found = list(commands_of("a\nb && c\nd; e | f", stops=False))
    assert [command.may_fail for command in found] == [True, True, True, True, False, False]


@pytest.mark.parametrize(
    ("script", "needed"),
    [
        ("git clone x || true; npm test", "npm true"),
        ("a || b", "a b"),
        ("command -v dotnet && dotnet test", ""),
        ("which go; go test", ""),
        ("type -p jq || apt-get install jq", "apt-get"),
        ("hash cargo 2>/dev/null", ""),
        ("command -v -- jq", ""),
        ("./build.ps1 -x", "pwsh"),
        ("uv run pytest", "pytest uv"),
        ('echo "$(cat v)" `hostname`', "cat echo hostname"),
        ("bash -c 'cd x && make'", "bash cd make"),
        ("env -u X FOO=1 timeout -k 5 10 make", "make timeout"),
        ("(cd x; make)", "cd make"),
    ],
)
def test_the_programs_that_a_script_needs_are_named(script: str, needed: str) -> None:
    """Wrappers included; not what it looks for first, or may fail at."""
    assert " ".join(sorted(needed_programs(script))) == needed


@pytest.mark.parametrize(
    ("word", "program"),
    [
        ("C:\\x\\Python.EXE", "python"),
        ("mvnw.cmd", "mvnw"),
        ("python3.13t", "python"),
        ("pypy3.9", "python"),
        ("${PYTHON}", "python"),
        ("${MAKE}", "make"),
        ("pip3.11", "pip"),
        ("pytest-3", "pytest"),
        ("pytest-xdist", "pytest-xdist"),
        ("coveralls", "coveralls"),
        ("pythonx", "pythonx"),
    ],
)
def test_programs_go_by_one_name(word: str, program: str) -> None:
    """Whatever folder, ending, case and version stand around it."""
    assert program_of(word) == program


def test_options_and_programs_are_understood_however_written() -> None:
    """`-e x`, `-ex` and `--env=x` say the same; `python3.11` is python."""
    assert options_of(["tox", "-e", "a", "-eb", "--env=c"], "-e", "--env") == ["a", "b", "c"]
    assert options_of(["tox", "--envs", "-e=", "--env", "-e"], "-e", "--env") == ["", "-e"]
    assert program_of("/usr/bin/python3.11") == "python"
    assert program_of("$(PYTHON)") == "python"
    assert program_of("node_modules/.bin/jest") == "jest"
