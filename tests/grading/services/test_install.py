"""Installing what a submission declares before its service starts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from typing_extensions import override

from groundup.domain.errors import SubmissionError
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.failures import OutOfTimeError
from groundup.environments.requests import AnySource, Layer, PythonEnvironment, PythonRequest, ResolvedRequest
from groundup.grading.context import GradingContext
from groundup.grading.services.install import FILE, Declared, importing, install_declared, read_declared
from groundup.grading.services.records import InstallOutcome, Lifecycle
from tests.grading.library.laboratory import NO_ENVIRONMENT, write_tree


class Builder(EnvironmentBuilder):
    """Says of declared requirements what it was told to, and notes what it was asked for."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[PythonRequest | ResolvedRequest] = []
        self._error = error

    @override
    async def python(self, request: PythonRequest) -> PythonEnvironment:
        self.asked.append(request)
        return NO_ENVIRONMENT

    @override
    async def submission_environment(self, request: ResolvedRequest) -> PythonEnvironment:
        self.asked.append(request)
        if self._error is not None and request.on_behalf_of != "recipe":
            raise self._error
        return NO_ENVIRONMENT

    @override
    async def source(self, request: AnySource) -> Layer:
        raise AssertionError("no source is asked for")

    @override
    def identity(self) -> Mapping[str, str]:
        return {}


FALLBACK = f"flask==3.0.0 --hash=sha256:{'0' * 64}"


@pytest.mark.parametrize(
    ("text", "error", "outcome", "message"),
    [
        (None, None, InstallOutcome.UNDECLARED, ""),
        ("django\n", None, InstallOutcome.SUCCEEDED, ""),
        ("django\n", OutOfTimeError("late"), InstallOutcome.TIMEOUT, "not installed within 7 s"),
        ("django\n", SubmissionError("no such version\n" + "x" * 400), InstallOutcome.FAILED, "no such version"),
        ("a @ file:///a\n", None, InstallOutcome.FAILED, "'a' is required by address, which no package index has"),
    ],
)
@pytest.mark.parametrize("extra", [(), ("coverage==7",)])
async def test_what_cannot_be_installed_is_a_fact_and_the_fallback_stands_in(
    tmp_path: Path,
    text: str | None,
    error: Exception | None,
    outcome: InstallOutcome,
    message: str,
    extra: tuple[str, ...],
) -> None:
    """What the tests need besides is there in any case."""
    tree = write_tree(tmp_path, {"app.py": "import flask\n"} if text is None else {FILE: text, "app.py": "x"})
    builder = Builder(error)
    lifecycle = Lifecycle(install_s=7, python="3.9", fallback=(FALLBACK,))
    context = GradingContext(cast(Any, None), builder, tmp_path)
    found = await install_declared(tree, lifecycle, context, with_pip=True, extra=extra)

    assert found.outcome is outcome
    assert found.message.startswith(message)
    assert len(found.message) == 300 or len(found.message) < len(message) + 2
    assert {(asked.python, asked.with_pip) for asked in builder.asked} == {("3.9", True)}
    if text == "django\n":
        first = builder.asked.pop(0)
        assert isinstance(first, ResolvedRequest)
        assert (first.requirements, first.work_s) == (("django", *extra), 7)
    wanted = [] if outcome is InstallOutcome.SUCCEEDED else [("flask==3.0.0", *extra) if extra else (FALLBACK,)]
    assert [asked.requirements for asked in builder.asked] == wanted


def test_who_requires_itself_is_imported_from_where_it_lies() -> None:
    """Below the workspace, in place of an import path that the environment has; others keep theirs."""
    given = NO_ENVIRONMENT.but(environment={"PYTHONPATH": "/before", "A": "1"})
    found = importing(given, Declared(import_folders=(".", "src")), "/workspace")

    assert found.environment == {"PYTHONPATH": "/workspace/.:/workspace/src", "A": "1"}
    assert importing(given, Declared(), "/workspace") == importing(given, None, "/workspace") == given


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({FILE: "-r more.txt\n", "more.txt": "six\n"}, None),
        ({FILE: "-r more.txt\n", "more.txt": "-r requirements.txt\nsix\n"}, None),
        ({FILE: "-r more.txt\n"}, "more.txt is included and is no file of the submission"),
        ({FILE: "-r 1\n", **{str(at): f"-r {at + 1}\n" for at in range(1, 19)}, "19": "six\n"}, None),
        (
            {FILE: "-r 1\n", **{str(at): f"-r {at + 1}\n" for at in range(1, 20)}, "20": "six\n"},
            "20 is included and is no file of the submission",
        ),
        ({FILE: "six\n" + "#" * (2**20 - 4)}, None),
        ({FILE: "six\n" + "#" * (2**20 - 3)}, "requirements.txt has more than 1048576 bytes"),
        ({FILE: "--hash=x six\n"}, "'--hash=x six' is not a requirement by name"),
        ({FILE: f"-r {'y/' * 200}y\n"}, "y/" * 150),
    ],
)
def test_files_that_are_included_are_read_to_a_bound(
    tmp_path: Path, files: dict[str, str], problem: str | None
) -> None:
    """Each once, at most twenty of at most a megabyte; else nothing is installed, and a sentence says why."""
    declared = read_declared(write_tree(tmp_path, files))

    assert declared is not None
    assert declared.problem == problem
    assert declared.requirements == (() if problem else ("six",))
