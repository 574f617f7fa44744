"""A library whose hidden tests are run by nobody: a script says what each does. For trials of what runs follow."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal, cast

from groundup.grading.context import GradingContext
from groundup.grading.library.decision import Integrity
from groundup.grading.library.execution import run_to_the_end
from groundup.grading.library.hidden import FalseRecord, HiddenTests, LibraryUnderTest, NumberedTest
from groundup.sandbox.protocol import WORKSPACE, Command, CommandResult, Ending, SandboxSpec
from groundup_integrity.check import Check
from groundup_integrity.false_forms import suite_of
from tests.grading.library.laboratory import NO_ENVIRONMENT, asked_in, write_tree
from tests.sandbox.fake import FakeProvider, answer

HIDDEN = HiddenTests(packages=("calc",), arguments=("tests",), protected=("tests",))


@dataclass(frozen=True)
class Asked:
    """One test of one run. *whole*: it is a run of all tests."""

    name: str
    form: Literal["true", "false", "made to fail"]
    whole: bool
    run: int
    """How many runs were before it."""
    left_out: int
    """How many tests and files this run does without."""


Story = Callable[[Asked], str]
"""Returns the outcome of a test; "ends" where it ends the process, "died" where the sandbox dies with it.

"begins none" where the process of its run ends before any test.
"""


def named(number: int, files: int = 1) -> NumberedTest:
    """Return the name of one of the tests, which lie in so many *files* by turns."""
    return NumberedTest(f"tests/test_file_{number % files}.py::test_{number}")


@dataclass
class ScriptedLibrary:
    """So many tests and the *story* of what they do. *changed*: what the runner sees changed by the submission."""

    folder: Path
    story: Story
    tests: int = 40
    files: int = 1
    changed: tuple[str, ...] = ()
    hidden: HiddenTests = HIDDEN
    failing_s: float = 0.001
    """How long a test takes that fails."""
    runs: list[dict[str, Any]] = field(default_factory=list)
    """What each process of tests was asked."""

    def __post_init__(self) -> None:
        """Write it."""
        self.texts = {
            named(number, self.files): f"def test_{number}(): assert calc.f({number}) == {number + 200}"
            for number in range(self.tests)
        }
        sources = {"calc/__init__.py": ""}
        for test, text in self.texts.items():
            path = test.id.partition("::")[0]
            sources[path] = f"{sources.get(path, 'import calc')}\n{text}"
        self.original = write_tree(self.folder / "original", sources)
        self.submission = write_tree(self.folder / "submission", {"calc/__init__.py": ""})
        self.provider = FakeProvider(self._answered)
        self.expected = frozenset(self.texts)

    async def integrity(
        self,
        record: FalseRecord = FalseRecord(),  # noqa: B008 - a frozen record
        *,
        deep: bool = False,
    ) -> Integrity:
        """Run all tests, and check those that passed."""
        library = LibraryUnderTest(self.submission, self.original, self.hidden, NO_ENVIRONMENT)
        context = GradingContext(
            provider=cast(Any, self.provider), builder=cast(Any, None), scratch=self.folder / "scratch"
        )
        true = await run_to_the_end(library, context)
        suite = suite_of(self.original, self.hidden.protected, self.expected)
        return await Check(library, context, suite, record, true, self.expected).integrity(deep=deep)

    def _answered(self, spec: SandboxSpec, command: Command) -> CommandResult:
        assert command.stdin is not None
        asked = asked_in(command)
        self.runs.append(asked)
        chosen = asked["chosen"] or [[test.id, 1] for test in self.texts]
        names = [
            name
            for name, ordinal in chosen
            if [name, ordinal] not in asked["left_out_tests"]
            and name.partition("::")[0] not in asked["left_out_files"]
        ]
        lines: list[dict[str, object]] = [{"event": "collected", "count": len(names)}]
        outcomes = {name: self.story(self._asked(NumberedTest(name), spec, asked)) for name in names}
        if "begins none" in outcomes.values():
            return answer(1, report=_written(asked["token"], lines))
        for name, outcome in outcomes.items():
            lines.append({"event": "begin", "id": name, "ordinal": 1})
            if outcome in ("ends", "died"):
                ending = Ending.EXITED if outcome == "ends" else Ending.SANDBOX_DIED
                return answer(1, report=_written(asked["token"], lines), ending=ending)
            told: dict[str, object] = {"outcome": outcome, "message": "", "detail": ""}
            told["duration"] = self.failing_s if outcome == "failed" else 0.001
            lines.append({"event": "test", "id": name, "ordinal": 1, **told})
        place = f"{WORKSPACE}/calc/__init__.py"
        lines += [
            {"event": "signs", "changed": self.changed, "frames": (), "processes": 0, "clock_s": 0.0},
            {"event": "import", "name": "calc", "file": place, "error": None},
            {"event": "end", "exit_code": 1},
        ]
        return answer(report=_written(asked["token"], lines))

    def _asked(self, test: NumberedTest, spec: SandboxSpec, asked: dict[str, Any]) -> Asked:
        """Tell the forms apart by what was mounted, and by what the runner is asked."""
        path, _, name = test.id.partition("::")
        place = PurePosixPath(WORKSPACE, path)
        mounts = [mount for mount in spec.mounts if place.is_relative_to(mount.target)]
        (file,) = (mount.source / place.relative_to(mount.target) for mount in mounts)
        found = re.search(rf"^def {name}\(.*$", file.read_text(), re.MULTILINE)
        assert found is not None
        form: Literal["true", "false", "made to fail"] = "true" if found[0] == self.texts[test] else "false"
        if [test.id, 1] in asked["failing"] or found[0].startswith(f"{self.texts[test]};"):
            form = "made to fail"
        left_out = len(asked["left_out_tests"]) + len(asked["left_out_files"])
        return Asked(name, form, whole=asked["chosen"] is None, run=len(self.runs) - 1, left_out=left_out)


def _written(token: str, lines: list[dict[str, object]]) -> bytes:
    return "".join(f"{token} {json.dumps(line)}\n" for line in lines).encode()
