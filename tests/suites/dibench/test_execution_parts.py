"""Parts of executing DI-Bench that need no sandbox: commands, build files, validity."""

import ast
import json
from pathlib import Path

import pytest

from groundup.domain.errors import SubmissionError, TaskError
from groundup.suites.dibench.answers import Edited, original, submitted
from groundup.suites.dibench.dataset import Instance, InstanceProblem, InstanceSet
from groundup.suites.dibench.execution_files import executed_files, job_command
from tests.suites.dibench.made import INSTANCES, diff, instance, problem, write_tree


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
