"""The published commands as they are really run: the seven tasks that need a shell, literal pip, failures."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.domain.steps import heard_by
from groundup.domain.verdicts import Stage
from groundup.grading.library.hidden import HiddenTests
from groundup.sandbox.protocol import CommandResult, Ending, SandboxSpec
from groundup.suites.nl2repobench.official import environment_request, published_spec
from groundup.suites.nl2repobench.official_rules import run_commands, said_of
from groundup.trees.digest import entry_digests
from tests.needs import lack
from tests.sandbox.fake import FakeProvider
from tests.suites.nl2repobench.images import Laboratory, Published, bundled_pip, rate

BACKEND = """
import pathlib
import zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    for name in pathlib.Path("needed.txt").read_text().split():
        pathlib.Path(name).read_text()
    name = "calc_lab-1.0-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w") as wheel:
        info = "calc_lab-1.0.dist-info"
        wheel.writestr("calc_lab.pth", "/workspace\\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: calc-lab\\nVersion: 1.0\\n")
        kind = "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
        wheel.writestr(f"{info}/WHEEL", kind)
        wheel.writestr(f"{info}/RECORD", "")
    return name
"""
"""A build backend that needs nothing from an index, and the files that `needed.txt` names."""
PYPROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
TESTS = """
from importlib.metadata import version

import calc

def test_value(): assert calc.VALUE == 1

def test_installed(): assert version("calc-lab") == "1.0"
"""
PIP = "pip install -e ."
PYTEST = "pytest --continue-on-collection-errors tests"


@dataclass(frozen=True)
class Shelled:
    """A task whose commands were written for a shell: what they do without one, to a library that needs them."""

    commands: tuple[str, ...]
    exit_codes: str
    passed: int
    said: Mapping[int, str]
    calc: str = "VALUE = 1\n"
    needed: str = ""
    hidden: str = TESTS


TASKS = {
    "asteval": Shelled(
        commands=("echo \"version = '0.0.1'\" > asteval/version.py", PIP, PYTEST),
        exit_codes="0 0 1",
        passed=0,
        said={1: "version = '0.0.1' > asteval/version.py", 3: "No module named 'asteval'"},
        calc="from asteval.version import version\nVALUE = 1\n",
    ),
    "boto": Shelled(
        commands=("echo 'This is sample RST text.' >> README.rst", "pip install  -e .", PYTEST),
        exit_codes="0 1 1",
        passed=1,
        said={1: "This is sample RST text. >> README.rst", 2: "README.rst"},
        needed="README.rst",
    ),
    "jinja": Shelled(
        commands=(
            "echo 'This is sample license text.' >> LICENSE.txt",
            "echo 'This is sample README text.' >> README.md",
            "pip install  -e .",
            PYTEST,
        ),
        exit_codes="0 0 1 1",
        passed=1,
        said={1: ">> LICENSE.txt", 2: ">> README.md", 3: "LICENSE.txt"},
        needed="LICENSE.txt README.md",
    ),
    "parse": Shelled(
        commands=(
            "pip install -e . & pip install -r tests/requirements.txt",
            "pytest --continue-on-collection-errors",
        ),
        exit_codes="1 1",
        passed=1,
        said={1: "Invalid requirement: '&'"},
    ),
    "tqdm": Shelled(
        commands=(
            "echo \"__version__ = '0.0.1'\" > tqdm/version.py",
            "SETUPTOOLS_SCM_PRETEND_VERSION_FOR_TQDM=0.0.1 pip install -e .",
            PYTEST,
        ),
        exit_codes="0 127 1",
        passed=1,
        said={1: "__version__ = '0.0.1' > tqdm/version.py", 2: "SETUPTOOLS_SCM_PRETEND_VERSION_FOR_TQDM=0.0.1"},
    ),
    "binaryalert": Shelled(
        commands=("set AWS_DEFAULT_REGION=us-east-1", PYTEST),
        exit_codes="127 1",
        passed=1,
        said={1: "set"},
        hidden="import os\nimport calc\ndef test_value(): assert calc.VALUE == 1\n"
        "def test_region(): assert 'AWS_DEFAULT_REGION' in os.environ\n",
    ),
    "arxiv-mcp-server": Shelled(
        commands=("touch README.md && pip install -e .", PYTEST),
        exit_codes="1 1",
        passed=1,
        said={1: "touch"},
        needed="README.md",
    ),
}


def _published(task: Shelled) -> Published:
    return Published(
        original={"pyproject.toml": PYPROJECT, "tests/test_calc.py": task.hidden},
        hidden=HiddenTests(packages=("calc",), arguments=("tests",), protected=("tests",)),
        expected=frozenset({"tests/test_calc.py::test_value"}),
        declared=2,
        commands=task.commands,
    )


def _files(task: Shelled, **more: str) -> dict[str, str]:
    return {"calc/__init__.py": task.calc, "backend.py": BACKEND, "needed.txt": task.needed, **more}


@pytest.fixture
def pip() -> None:
    """Skip where the interpreter comes without pip."""
    if bundled_pip() is None:
        lack("bundled pip", "this interpreter has none, and the published commands call it")


@pytest.mark.end_to_end
@pytest.mark.usefixtures("pip")
@pytest.mark.parametrize("name", TASKS)
async def test_a_task_whose_commands_need_a_shell(laboratory: Laboratory, name: str) -> None:
    """No shell is there: what it would have made is not made, and the commands after it run all the same."""
    task = TASKS[name]
    graded = await laboratory.official(_published(task), laboratory.submission(_files(task)))

    assert graded.verdict.facts["exit_codes"] == task.exit_codes
    assert graded.verdict.facts["passed"] == task.passed
    assert rate(graded) == task.passed / 2
    for number, words in task.said.items():
        assert words in graded.logs[f"command-{number}.txt"].decode().partition("\n")[2]


@pytest.mark.end_to_end
@pytest.mark.usefixtures("pip")
async def test_pip_installs_by_the_declaration_of_the_image(laboratory: Laboratory) -> None:
    """A submission's own declaration is deleted; the original's builds it, and what is installed stays."""
    task = Shelled(commands=(PIP, PYTEST), exit_codes="0 0", passed=2, said={})
    files = _files(task, **{"pyproject.toml": "[build-system]\nrequires = ['no-such-thing']\n"})
    graded = await laboratory.official(_published(task), laboratory.submission(files))

    assert (graded.verdict.facts["exit_codes"], rate(graded)) == ("0 0", 1)
    assert graded.logs["deleted.txt"] == b"pyproject.toml\n"


@pytest.mark.end_to_end
@pytest.mark.usefixtures("pip")
async def test_an_install_that_fails_changes_nothing(laboratory: Laboratory) -> None:
    """Tests still find the library by PYTHONPATH, so a repository that does not install can score, with a note."""
    task = Shelled(commands=(PIP, PYTEST), exit_codes="1 1", passed=1, said={}, needed="absent.md")
    graded = await laboratory.official(_published(task), laboratory.submission(_files(task)))

    assert rate(graded) == 0.5
    assert [reason.stage for reason in graded.verdict.reasons] == [Stage.INSTALL, Stage.TEST, Stage.TEST]
    assert "absent.md" in graded.verdict.reasons[0].message
    assert "--grader strict" in graded.verdict.reasons[-1].message


@pytest.mark.end_to_end
async def test_a_command_that_does_not_end_is_ended(laboratory: Laboratory) -> None:
    """The published evaluator would wait for ever; here what was printed until then counts, and is not cached."""
    task = Shelled(commands=(PYTEST,), exit_codes="", passed=0, said={})
    slow = "import os, time\nos.write(1, b'1 passed\\n')\ntime.sleep(600)\n"
    submission = laboratory.submission({**_files(task), "sitecustomize.py": slow})
    graded = await laboratory.official(_published(task), submission, timeout_s=2)

    assert (rate(graded), graded.verdict.cacheable) == (0.5, False)
    assert graded.verdict.reasons[0].stage is Stage.TIMEOUT


@pytest.mark.end_to_end
async def test_grading_changes_neither_the_submission_nor_the_layer(laboratory: Laboratory) -> None:
    """pip and the tests write into a workspace and an environment of their own, whatever they try."""
    wicked = (
        "import contextlib, pathlib\n"
        "for path in pathlib.Path('/opt/env/lib').rglob('*.py'):\n"
        "    with contextlib.suppress(OSError): path.chmod(0o777)\n"
        "    with contextlib.suppress(OSError): path.write_text('')\n"
        "for path in pathlib.Path('/opt/env/bin').iterdir(): path.unlink()\n"
    )
    before = entry_digests(laboratory.environment)
    submission = laboratory.submission({"calc/__init__.py": wicked + "VALUE = 1\n", "setup.py": ""})
    task = Shelled(commands=(PYTEST,), exit_codes="1", passed=1, said={})
    await laboratory.official(_published(task), submission)

    assert (submission / "setup.py").exists()
    assert entry_digests(laboratory.environment) == before


@pytest.mark.end_to_end
async def test_the_environment_is_not_copied_where_guests_cannot_write_it(laboratory: Laboratory) -> None:
    """A submit does not wait until thousands of files are copied, only until they have a second name."""
    published = _published(Shelled(commands=(PIP, PYTEST), exit_codes="", passed=0, said={}))
    context = laboratory.context(published)
    environment = await context.builder.python(environment_request(published.recipe))
    spec = published_spec(context.scratch, published.recipe, 2, environment, context)

    (writable,) = (mount.source for mount in spec.mounts if mount.writable)
    shared = (writable / "bin/pip").samefile(laboratory.environment / "bin/pip")
    assert shared == laboratory.provider.guests_are_others


@pytest.mark.end_to_end
async def test_a_builder_without_an_index_is_distinguished(laboratory: Laboratory) -> None:
    """Where pip may fetch and nothing lends it an index, the error names the setting to change."""
    task = _published(Shelled(commands=(PIP, PYTEST), exit_codes="", passed=0, said={}))
    with pytest.raises(InfrastructureError, match="official_installs"):
        await laboratory.official(task, laboratory.submission({}), installs="open")


@pytest.mark.parametrize(
    ("code", "ending", "expected"),
    [(5, Ending.EXITED, 5), (-9, Ending.EXITED, 137), (None, Ending.TIMEOUT, 137), (127, Ending.EXITED, 127)],
)
def test_a_failing_command_is_quoted_with_its_code(code: int | None, ending: Ending, expected: int) -> None:
    """What the evaluator reads of a failure holds both streams and the code as an engine tells it."""
    result = CommandResult(exit_code=code, ending=ending, stdout=b"3 passed", stderr=b"2 errors", duration_s=1)
    said = said_of("pytest tests", ["pytest", "tests"], result)

    assert said.exit_code == expected
    assert {f"It returned with code {expected}", "The content of stdout is '3 passed'"} <= set(
        said.output.split("\n")
    )
    assert "2 errors" in said.output


def test_a_command_that_succeeds_is_its_standard_output() -> None:
    """Standard error is lost, what is not UTF-8 is replaced, one newline at the end goes."""
    result = CommandResult(
        exit_code=0, ending=Ending.EXITED, stdout=b"\xff 3 passed\n\n", stderr=b"9 passed", duration_s=1
    )
    assert said_of("pytest", ["pytest"], result).output == "\ufffd 3 passed\n"


async def test_progress_tells_which_command_runs(tmp_path: Path) -> None:
    """They may take an hour, and what is at work before them is the environment."""
    said: list[str] = []
    sandbox = await FakeProvider().open(SandboxSpec(workspace=tmp_path))
    with heard_by(said.append):
        await run_commands(sandbox, ("pip install -e .", "pytest"), {}, 9.0)
    assert said == ["published command 1 of 2", "published command 2 of 2"]
