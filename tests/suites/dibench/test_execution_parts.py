"""Parts of executing DI-Bench that need no sandbox: commands, build files, validity."""

import ast
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError, SubmissionError, TaskError
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.grading.ci.records import Obstacle, OriginalTests, UnsupportedJobError
from groundup.inside.stopwatch import Reading, Stopwatch
from groundup.sandbox.deadlines import note
from groundup.suites.dibench.answers import Edited, original, submitted
from groundup.suites.dibench.dataset import Instance, InstanceProblem, InstanceSet, read_dataset
from groundup.suites.dibench.execution import ExecutionGrader
from groundup.suites.dibench.execution_files import executed_files, job_command
from groundup.suites.dibench.execution_validity import (
    Which,
    assess,
    keep_validity,
    known_originals,
    known_validity,
    read_validity,
    valid_ids,
)
from tests.suites.dibench.made import INSTANCES, diff, instance, write_dataset, write_tree


def asked(command: str) -> Instance:
    """Return an instance with this command."""
    return Instance.model_validate(instance("one_alpha", act_command=command))


@pytest.mark.parametrize(
    ("command", "job", "workflow", "matrix"),
    [
        ("act -j test", "test", ".github/workflows/ci.yml", {}),
        ("act -W '.github/workflows/x.yml' -j 'all' --pull=false", "all", ".github/workflows/x.yml", {}),
        ("act -j t --matrix python-version:3.9 --matrix os:ubuntu-latest", "t", ".github/workflows/ci.yml",
         {"python-version": "3.9", "os": "ubuntu-latest"}),
        ("./bin/act push --job=b --workflows=./.github/workflows/y.yaml -P ubuntu-latest=x", "b",
         ".github/workflows/y.yaml", {}),
        ("act -j test -W .github/workflows/", "test", ".github/workflows/ci.yml", {}),
        ("act", None, ".github/workflows/ci.yml", {}),
    ],
)  # fmt: skip
def test_commands_are_read(command: str, job: str | None, workflow: str, matrix: dict[str, str]) -> None:
    """Job, workflow and values of the matrix are taken from the published command line, in all its spellings."""
    found = job_command(asked(command))
    assert (found.job, found.workflow, found.matrix) == (job, workflow, matrix)


@pytest.mark.parametrize("command", ["", "make test", "act -j 'open"])
def test_other_commands_are_the_task_s_fault(command: str) -> None:
    """What does not call act is reported."""
    with pytest.raises(TaskError, match="act_command"):
        job_command(asked(command))


def problem(dataset: InstanceSet, name: str) -> InstanceProblem:
    """Return a problem of the tiny dataset."""
    return next(one for one in dataset.problems if one.id == name)


@pytest.mark.parametrize("name", INSTANCES)
def test_originals_are_executed_as_they_are(dataset: InstanceSet, name: str) -> None:
    """The original's build files are executed byte for byte, and so are the masked ones."""
    one = problem(dataset, name)
    whole = original(one)
    files = executed_files(one, Edited(whole))
    assert files.contents == {path: whole(path) for path in one.instance.build_files}
    assert not files.taken_back
    assert not executed_files(one, Edited(one.read)).taken_back


def test_plugins_of_test_runners_that_the_original_lacks_are_left_out(
    dataset: InstanceSet, tmp_path: Path
) -> None:
    """There is one that makes failing tests pass in CI; what the original declares anywhere stays."""
    one = problem(dataset, "one_alpha")
    text = (original(one)("pyproject.toml") or b"").decode()
    write_tree(
        tmp_path / "s",
        {"pyproject.toml": text.replace("dependencies = [", 'dependencies = ["Pytest_VW", "pytest", ')},
    )

    files = executed_files(one, submitted(one, tmp_path / "s"))

    executed = (files.contents["pyproject.toml"] or b"").decode()
    assert "pytest_vw" not in executed.lower()
    assert executed.count('"pytest"') == text.count('"pytest"') + 1
    assert files.taken_back == ("pyproject.toml",)


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("dependencies", "npm:lodash.noop@3.0.1"),
        ("dependencies", "file:."),
        ("overrides", "npm:lodash.noop@3.0.1"),
        ("overrides", {"inner": {"deep": "npm:lodash.noop@3.0.1"}}),
        ("resolutions", "link:."),
        ("dependencies", "git+file:///workspace"),
    ],
)
def test_nothing_stands_in_for_a_package_of_the_original(
    dataset: InstanceSet, tmp_path: Path, section: str, value: object
) -> None:
    """A test runner that is a function without effect lets every test pass; other names may be aliases."""
    one = problem(dataset, "three_gamma")
    declared: dict[str, dict[str, object]] = {"dependencies": {"pad": "npm:left-pad@1.3.0"}}
    declared.setdefault(section, {})["left-pad"] = value
    write_tree(tmp_path / "s", {"package.json": json.dumps({"name": "gamma", **declared})})
    files = executed_files(one, submitted(one, tmp_path / "s"))
    executed = json.loads(files.contents["package.json"] or b"")
    assert executed["dependencies"] == {"pad": "npm:left-pad@1.3.0"}
    assert not executed.get(section) or section == "dependencies"
    assert files.taken_back == ("package.json",)


def test_an_override_of_a_version_is_taken(dataset: InstanceSet, tmp_path: Path) -> None:
    """It is no other package."""
    one = problem(dataset, "three_gamma")
    declared = {"dependencies": {"left-pad": "^1.3.0"}, "overrides": {"left-pad": "$left-pad", "x": {".": "2"}}}
    write_tree(tmp_path / "s", {"package.json": json.dumps({"name": "gamma", **declared})})
    files = executed_files(one, submitted(one, tmp_path / "s"))
    assert json.loads(files.contents["package.json"] or b"")["overrides"] == declared["overrides"]
    assert not files.taken_back


def test_hundreds_of_groups_are_refused_before_they_are_written(dataset: InstanceSet, tmp_path: Path) -> None:
    """Each new group has the file read again: 250 of them took a minute, a file of 2 MiB would take days."""
    one = problem(dataset, "one_alpha")
    extras = "".join(f'e{number} = ["a"]\n' for number in range(100))
    text = (original(one)("pyproject.toml") or b"").decode() + f"\n[project.optional-dependencies]\n{extras}"
    write_tree(tmp_path / "s", {"pyproject.toml": text})
    with pytest.raises(SubmissionError, match=r"10\d groups of dependencies, more than 64"):
        executed_files(one, submitted(one, tmp_path / "s"))


def test_layout_is_free(dataset: InstanceSet, tmp_path: Path) -> None:
    """A file may declare in another layout: its values are executed, in the masked file's layout."""
    text = json.dumps({"devDependencies": {"jest": "^29.0.0"}, "name": "gamma", "dependencies": {"x": "1"}})
    write_tree(tmp_path / "s", {"package.json": text})
    one = problem(dataset, "three_gamma")
    files = executed_files(one, submitted(one, tmp_path / "s"))
    executed = files.contents["package.json"] or b""
    assert executed != text.encode()
    assert json.loads(executed) == json.loads(text)
    assert not files.taken_back


@pytest.mark.parametrize(
    ("name", "path", "before", "after"),
    [
        ("three_gamma", "package.json", '"name": "gamma"', '"name": "gamma", "scripts": {"test": "true"}'),
        ("one_alpha", "pyproject.toml", "[project]", '[tool.pytest.ini_options]\naddopts = "--co"\n\n[project]'),
        ("two_beta", "Cargo.toml", "[package]", "[lib]\ntest = false\n\n[package]"),
    ],
)
def test_only_declarations_are_taken(
    dataset: InstanceSet, tmp_path: Path, name: str, path: str, before: str, after: str
) -> None:
    """What a prediction changes besides declarations is taken back; what it declares stays."""
    one = problem(dataset, name)
    wanted = original(one)(path)
    assert wanted is not None
    write_tree(tmp_path / "s", {path: wanted.decode().replace(before, after, 1)})
    files = executed_files(one, submitted(one, tmp_path / "s"))
    assert files.taken_back == (path,)
    executed = (files.contents[path] or b"").decode()
    added = after.replace(before, "").strip().splitlines()[0].strip(", ")
    assert added not in executed
    assert {"one_alpha": "requests", "two_beta": "serde", "three_gamma": "left-pad"}[name] in executed


_SETUP = "from setuptools import setup\n\nsetup(\n    name='epsilon',\n    install_requires={},\n)\n"


def setup_problem(folder: Path) -> InstanceProblem:
    """Return a problem whose build file is a program."""
    masked, whole = {"setup.py": _SETUP.format("[]")}, {"setup.py": _SETUP.format('["six"]')}
    fields = instance("one_alpha", build_files=["setup.py"], patch=diff(masked, whole))
    write_tree(folder, masked)
    return InstanceProblem(
        id="one_alpha", subset="regular", instance=Instance.model_validate(fields), repository=folder
    )


def executed_of(one: InstanceProblem, path: str, text: str, folder: Path) -> str:
    """Return what is executed of *text*, handed in as *path*."""
    write_tree(folder, {path: text})
    return (executed_files(one, submitted(one, folder)).contents[path] or b"").decode()


@pytest.mark.parametrize(
    "text",
    [
        '{"scripts": {"test": "true"}, "x": ' + "9" * 5000 + "}",
        '{"scripts": {"test": "true"}, "x": ' + "[" * 3000 + "]" * 3000 + "}",
        '{"scripts": {"test": "true"}, "dependencies": {"left-pad": "\\ud800"}}',
        '{"scripts": {"test": "true"}, // a comment\n "dependencies": {}}',
        '{"scripts": {"test": "true"}, "dependencies": {"a": "1\\n2"}}',
        "\x00",
    ],
    ids=["number", "arrays", "surrogate", "comment", "newline", "zero"],
)
def test_what_only_node_reads_is_refused(dataset: InstanceSet, tmp_path: Path, text: str) -> None:
    """A package.json that cannot be read here is the submission's fault, and never executed."""
    with pytest.raises(SubmissionError, match=r"package\.json"):
        executed_of(problem(dataset, "three_gamma"), "package.json", text, tmp_path / "s")


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("(lambda: ['six'])()", "computed"),
        ("['six', __import__('os').system('true')]", "computed"),
        ('[f\'six{__import__("os").system("true")}\']', "computed"),
        ("['six'] + cheat()", "computed"),
        ("+".join(["['six']"] * 1500), "nested"),
        ("(" * 1500 + "['six']" + ")" * 1500, "nested"),
        ("[" * 100_000, "nested|valid|read"),
        ("-" * 50_000 + "1", "nested"),
    ],
    ids=["lambda", "call", "f-string", "function", "sum", "parentheses", "open brackets", "signs"],
)
def test_code_in_values_is_refused(tmp_path: Path, value: str, complaint: str) -> None:
    """A setup.py whose declarations compute, or that no parser survives, is refused with a reason."""
    with pytest.raises(SubmissionError, match=complaint):
        executed_of(setup_problem(tmp_path / "data"), "setup.py", _SETUP.format(value), tmp_path / "s")


@pytest.mark.parametrize(
    "value",
    [
        "['six', 'attrs>=20']",
        "[x for x in ('six', 'attrs>=20') if __import__('os').system('true') or True]",
        "['six', 'attrs' + '>=20']",
        '[\'six\', "attrs>=20"]  # """',
    ],
)
def test_only_values_of_a_program_are_executed(tmp_path: Path, value: str) -> None:
    """What a setup.py declares is written into the masked one as literals: no expression of it is run."""
    text = "import cheat\n" + _SETUP.format(value) + "cheat.now()\n"
    executed = executed_of(setup_problem(tmp_path / "data"), "setup.py", text, tmp_path / "s")
    assert ast.dump(ast.parse(executed)) == ast.dump(ast.parse(_SETUP.format('["six", "attrs>=20"]')))


@pytest.mark.parametrize("version", ["$([System.IO.File]::ReadAllText('x'))", "@(Compile)", "$(A.Trim())"])
def test_msbuild_functions_are_refused(dataset: InstanceSet, tmp_path: Path, version: str) -> None:
    """A version that MSBuild would compute is refused; a plain property is a value."""
    one = problem(dataset, "four_delta")
    path = "App/App.csproj"
    text = (original(one)(path) or b"").decode()
    line = '<PackageReference Include="Evil" Version="{}" />'
    place = "<PackageReference"
    with pytest.raises(SubmissionError, match="computed"):
        executed_of(one, path, text.replace(place, line.format(version) + place, 1), tmp_path / "s")
    plain = text.replace(place, line.format("$(EvilVersion)") + place, 1)
    assert "$(EvilVersion)" in executed_of(one, path, plain, tmp_path / "s")


_CALL = "([System.IO.File]::ReadAllText('x'))"


@pytest.mark.parametrize(
    ("item", "complaint"),
    [
        (
            f'<PackageReference Include="E"><Version Condition="&#36;{_CALL}">1</Version></PackageReference>',
            "computed",
        ),
        (
            f'<PackageReference Include="E"><Any Condition="">$<!-- x -->{_CALL}</Any></PackageReference>',
            "computed",
        ),
        (
            f'<PackageReference Include="E"><Any Condition="">$<![CDATA[{_CALL}]]></Any></PackageReference>',
            "computed",
        ),
        (f'<PackageReference Include="E" Condition="&#x24;{_CALL}" />', "computed"),
        ('<ProjectReference Include="../E.csproj" AdditionalProperties="A=b" />', "another project"),
        (
            '<ProjectReference Include="../E.csproj"><targets Condition="">T</targets></ProjectReference>',
            "another",
        ),
        ('<ProjectReference Include="../E.csproj"><Properties>A=b</Properties></ProjectReference>', "another"),
    ],
)
def test_code_hidden_in_items_of_msbuild_is_refused(
    dataset: InstanceSet, tmp_path: Path, item: str, complaint: str
) -> None:
    """Functions in metadata, however they are spelt, and metadata that say how another project is built."""
    one = problem(dataset, "four_delta")
    text = (original(one)("App/App.csproj") or b"").decode()
    with pytest.raises(SubmissionError, match=complaint):
        executed_of(
            one, "App/App.csproj", text.replace("<PackageReference", f"{item}<PackageReference", 1), tmp_path / "s"
        )


@pytest.mark.parametrize(
    "change",
    [
        ("</Project>", '<Target Name="T" BeforeTargets="Build"><Exec Command="cheat" /></Target></Project>'),
        ("</Project>", '<Import Project="cheat.targets" /></Project>'),
        ("</Project>", '<Sdk Name="cheat" Version="1" /></Project>'),
        (
            "</Project>",
            "<PropertyGroup><A>$([System.IO.File]::ReadAllText('cheat'))</A></PropertyGroup></Project>",
        ),
        (
            "</Project>",
            '<Target Name="cheat"><ItemGroup><PackageReference Include="E" /></ItemGroup></Target></Project>',
        ),
        ("<Project ", '<Project InitialTargets="cheat" '),
    ],
    ids=["exec", "import", "sdk", "property function", "items of a target", "initial targets"],
)
def test_only_references_of_a_project_are_executed(
    dataset: InstanceSet, tmp_path: Path, change: tuple[str, str]
) -> None:
    """Targets, imports, SDKs and properties of a prediction are left out; its references count."""
    one = problem(dataset, "four_delta")
    text = (original(one)("App/App.csproj") or b"").decode().replace(*change)
    item = '<PackageReference Include="E" Version="1" GeneratePathProperty="true" />'
    executed = executed_of(
        one, "App/App.csproj", text.replace("<PackageReference", f"{item}<PackageReference", 1), tmp_path / "s"
    )
    assert "cheat" not in executed
    assert 'Include="E"' in executed


def test_metadata_on_several_lines_are_executed(dataset: InstanceSet, tmp_path: Path) -> None:
    """Conditional metadata are written as they stand, line ends and all."""
    one = problem(dataset, "four_delta")
    text = (original(one)("App/App.csproj") or b"").decode()
    version = "<Version Condition=\"'$(A)' == ''\">1</Version>"
    item = f'<PackageReference Include="E">\n{version}\n<Other>x</Other>\n</PackageReference>'
    executed = executed_of(
        one, "App/App.csproj", text.replace("<PackageReference", f"{item}<PackageReference", 1), tmp_path / "s"
    )
    assert "<Other>x</Other>" in executed


def test_too_large_a_file_is_not_read(dataset: InstanceSet, tmp_path: Path) -> None:
    """A build file that is larger than any manifest is not looked at: the masked one is executed."""
    one = problem(dataset, "three_gamma")
    text = '{"scripts": {"test": "true"}, "x": "' + "x" * 3_000_000 + '"}'
    assert executed_of(one, "package.json", text, tmp_path / "s") == (one.read("package.json") or b"").decode()


def graded(passed: bool | None) -> Verdict:
    """Return a verdict of an execution."""
    reasons = () if passed else (Reason(stage=Stage.INSTALL, message="why"),)
    return Verdict(
        status=Status.GRADED,
        score=Score(numerator=float(bool(passed)), denominator=float(passed is not None)),
        facts={} if passed else {"failure": "missing dependency in test"},
        reasons=reasons,
        grader=GraderIdentity(name="execution", version="1"),
    )


@pytest.mark.parametrize(
    ("oracle", "nop", "standing", "tries"),
    [
        ([True, True, True], [False, False, False], "valid", 6),
        ([False], [], "invalid", 1),
        ([True], [True], "invalid", 2),
        ([True, True, False], [False, False], "invalid", 5),
        ([None], [], "not executed", 1),
    ],
)
async def test_validity_is_three_times_each(
    dataset: InstanceSet, oracle: list[bool | None], nop: list[bool | None], standing: str, tries: int
) -> None:
    """One pass of the masked repository, or one failure of the original, disproves an instance and ends it."""
    answers = {"oracle": iter(oracle), "nop": iter(nop)}

    async def try_once(which: Which, number: int) -> Verdict:
        return graded(next(answers[which]))

    found = await assess(problem(dataset, "one_alpha"), 3, try_once)
    assert (found.standing, len(found.tries)) == (standing, tries)
    assert bool(found.why) is (standing != "valid")


async def test_originals_say_how_many_tests_must_pass(dataset: InstanceSet, tmp_path: Path) -> None:
    """The fewest of its tries, by each line; where no line is on record, in all. It decides a verdict."""

    async def counted(name: str, *counts: int | None, lines: str | None = None) -> Mapping[str, OriginalTests]:
        left = iter(counts)

        async def try_once(which: Which, number: int) -> Verdict:
            verdict = graded(which == "oracle")
            if which == "nop":
                return verdict
            return verdict.but(facts={"tests passed": next(left), "tests by line": lines})

        keep_validity(tmp_path / "v.jsonl", await assess(problem(dataset, name), len(counts), try_once))
        return known_originals(tmp_path / "v.jsonl", [problem(dataset, name)])

    one = next(each for each in dataset.problems if each.instance.language == "csharp")
    assert await counted(one.id, 12, 11, 12) == {one.id: OriginalTests(passed=11)}
    assert await counted(one.id, 12, None) == {one.id: OriginalTests()}
    lines = {"2 jest": (4, 1), "3 node --test": (7,)}
    assert await counted("one_alpha", 12, lines="2 jest: 4 1; 3 node --test: 7") == {
        "one_alpha": OriginalTests(passed=12, lines=lines)
    }
    task = Task(id=one.id, suite="dibench", instruction=None)
    graders = (
        ExecutionGrader({one.id: one}, "none", 60.0, None, least)
        for least in ({one.id: OriginalTests(passed=11)}, None)
    )
    known, unknown = (grader.identity(task) for grader in graders)
    assert known != unknown


@pytest.mark.parametrize(
    ("obstacles", "standing"),
    [
        ([("toolchain", "dotnet is not on this machine; install a .NET SDK")], "infrastructure"),
        ([("runs-on", "windows-latest"), ("toolchain", "node is not on this machine")], "infrastructure"),
        ([("sandbox", "CI jobs need this machine's programs in a sandbox: bubblewrap")], "infrastructure"),
        ([("runs-on", "windows-latest")], "not executed"),
    ],
)
async def test_what_this_machine_has_not_disproves_nothing(
    dataset: InstanceSet, obstacles: list[tuple[str, str]], standing: str
) -> None:
    """Without the toolchain an instance is pending: it is tried again where somebody installed one."""
    error = UnsupportedJobError(tuple(Obstacle(kind=kind, what=what) for kind, what in obstacles))
    reason = Reason(stage=Stage.ENVIRONMENT, message=f"not executed: {error}")

    async def try_once(which: Which, number: int) -> Verdict:
        return graded(None).but(reasons=(reason,))

    found = await assess(problem(dataset, "one_alpha"), 3, try_once)
    assert (found.standing, len(found.tries)) == (standing, 1)


async def test_machine_faults_say_nothing_of_a_task(dataset: InstanceSet, tmp_path: Path) -> None:
    """A failure of the machine or the network is kept apart, and looked at again the next time."""

    async def try_once(which: Which, number: int) -> Verdict:
        raise InfrastructureError("no network")

    one = problem(dataset, "one_alpha")
    found = await assess(one, 3, try_once)
    keep_validity(tmp_path / "v.jsonl", found)
    assert found.standing == "infrastructure"
    assert known_validity(tmp_path / "v.jsonl", one) is None


LATE = "failing tests: FAILED tests/test_a.py::test_b - subprocess.TimeoutExpired: timed out (step 'x' failed)"
YOUNG = "dependency not found in build: 404 ms [packages until 2023-01-01: ms has releases from 2024-04-25 on]"
WRONG = "failing tests: FAILED tests/test_a.py::test_b - assert 1 == 2 (step 'pytest --timeout 9' failed)"


@pytest.mark.parametrize(
    ("subject", "kind", "idle_s", "reasons", "standing", "tries"),
    [
        ("oracle", "failing tests", 10.0, [WRONG], "invalid", 1),
        ("oracle", "failing tests", 4.6, [WRONG], "invalid", 1),
        ("oracle", "missing dependency in test", 0.0, ["why"], "invalid", 1),
        ("oracle", "failing tests", 0.0, [WRONG, WRONG], "invalid", 2),
        ("oracle", "failing tests", 0.0, [WRONG, WRONG.replace("test_b", "test_c")], "infrastructure", 2),
        ("oracle", "failing tests", 0.0, [WRONG, None], "valid", 3),
        ("oracle", "failing tests", 4.6, [LATE, LATE], "invalid", 2),
        ("oracle", "failing tests", 0.0, [LATE, LATE], "infrastructure", 2),
        ("oracle", "other", 0.0, ["died at 0x7f12", "died at 0x9a3"], "invalid", 2),
        ("oracle", "timeout", 10.0, ["why"], "not executed", 1),
        ("nop", "timeout", 10.0, ["why"], "not executed", 2),
        ("oracle", "timeout", 0.0, ["why", "why"], "not executed", 2),
        ("nop", "timeout", 0.0, ["why", "why"], "not executed", 3),
        ("oracle", "network", 10.0, ["no route"], "not executed", 1),
        ("oracle", "program that the machine has not", 10.0, ["svn: not found"], "not executed", 1),
        ("oracle", "missing system package", 10.0, ["no curl.h"], "not executed", 1),
        ("oracle", "toolchain that does not start", 10.0, ["rustc panicked"], "infrastructure", 1),
        ("nop", "toolchain that does not start", 10.0, ["no rustc"], "valid", 2),
        ("oracle", "dependency not found in build", 10.0, [YOUNG], "not executed", 1),
    ],
)
async def test_a_busy_machine_disproves_nothing(
    dataset: InstanceSet,
    tmp_path: Path,
    subject: Which,
    kind: str,
    idle_s: float,
    reasons: list[str | None],
    standing: str,
    tries: int,
) -> None:
    """What fails beside others is tried again, and what fails in the same way twice has a cause of its own.

    A test that speaks of time may fail twice for the machine. What others decided is owed, and names the cause.
    """
    answers = iter(reasons)

    async def try_once(which: Which, number: int) -> Verdict:
        if which != subject or (said := next(answers)) is None:
            return graded(which == "oracle")
        moments = iter([Reading(0.0, 0.0, 0.0), Reading(10.0, idle_s, 1.0)])
        note(Stopwatch(lambda: next(moments)))
        why = (Reason(stage=Stage.TEST, message=said),)
        return graded(passed=False).but(facts={"failure": kind}, reasons=why)

    one = problem(dataset, "one_alpha")
    found = await assess(one, 1, try_once)
    assert (found.standing, len(found.tries)) == (standing, tries)
    assert standing == "valid" or (reasons[-1] or "") in found.why
    keep_validity(tmp_path / "v.jsonl", found)
    assert (known_validity(tmp_path / "v.jsonl", one) is None) is (standing == "infrastructure")


async def test_a_job_that_was_stopped_before_it_had_its_time_is_owed(dataset: InstanceSet) -> None:
    """On a machine that kept it waiting for twenty times its limit, nobody knows how long it takes."""

    async def try_once(which: Which, number: int) -> Verdict:
        moments = iter([Reading(0.0, 0.0, 0.0), Reading(200.0, 0.0, 1.0)])
        note(Stopwatch(lambda: next(moments)), limit_s=10.0)
        return graded(passed=False).but(facts={"failure": "timeout"}, by_time=True)

    found = await assess(problem(dataset, "one_alpha"), 1, try_once)
    assert (found.standing, len(found.tries)) == ("infrastructure", 2)


async def test_results_hold_for_the_very_instance(dataset: InstanceSet, tmp_path: Path) -> None:
    """A changed repository is not valid because an earlier one was; torn and strange lines are passed over."""

    async def try_once(which: Which, number: int) -> Verdict:
        return graded(which == "oracle")

    one, path = problem(dataset, "one_alpha"), tmp_path / "v.jsonl"
    path.write_text('{"task": "other"}\n{"torn')
    keep_validity(path, await assess(one, 1, try_once))
    assert valid_ids(path, [one]) == {"one_alpha"}
    assert set(read_validity(path)) == {"one_alpha"}
    changed = read_dataset(write_dataset(tmp_path / "changed"))
    other = problem(changed, "one_alpha")
    (other.folder() / "pyproject.toml").write_text("[project]\n")
    assert not valid_ids(path, [other])
