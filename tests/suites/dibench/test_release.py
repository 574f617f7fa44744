"""A release as the published code writes it: names of files, fields, masks, commands; and the older schema."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.suites.dibench.answers import answer, submitted
from groundup.suites.dibench.dataset import InstanceProblem, read_dataset
from groundup.suites.dibench.execution_files import job_command
from groundup.suites.dibench.metrics import score_instance
from tests.suites.dibench.conftest import Groundup
from tests.suites.dibench.made import diff, write_tree

_CRLF = "\r\n"
_WORKFLOW = ".github/workflows/ci.yml"
_CSHARP = _CRLF.join((
    '<Project Sdk="Microsoft.NET.Sdk">', "", "  <ItemGroup>",
    '    <PackageReference Include="Serilog" Version="3.1.1" />', "  </ItemGroup>", "</Project>", "",
))  # fmt: skip
ORIGINALS = {
    "Python": ("pyproject.toml", '[project]\nname = "a"\ndependencies = [\n    "requests>=2",\n]\n'),
    "Rust": (
        "Cargo.toml",
        '[package]\nname = "a"\n\n[dependencies]\nlog = "0.4"\n\n[dev-dependencies]\nx = "1"\n',
    ),
    "CSharp": ("A/A.csproj", _CSHARP),
    "JavaScript": (
        "package.json",
        '{\n  "name": "a",\n  "dependencies": {\n    "ms": "^2"\n  },\n  "main": "a.js"\n}\n',
    ),
}
MASKED = {  # as tomlkit, tomlkit, the removed lines and json.dumps(indent=2) leave them
    "Python": '[project]\nname = "a"\ndependencies = []\n',
    "Rust": '[package]\nname = "a"\n\n[dependencies]\n\n[dev-dependencies]\nx = "1"\n',
    "CSharp": _CSHARP.replace(_CSHARP[_CSHARP.index(_CRLF) + 2 : _CSHARP.index("</Project>")], ""),
    "JavaScript": '{\n  "name": "a",\n  "main": "a.js"\n}\n',
}
FIELDS = ("instance_id", "metadata", "language", "act_command", "ci_file", "patch", "build_files", "env_specs")
"""Of `RepoInstance` in the published code, in its order."""


def row(language: str) -> dict[str, object]:
    """Return what the published curation writes for one repository."""
    path, whole = ORIGINALS[language]
    # Python's text mode takes the carriage returns out of what `git diff` prints.
    patch = diff({path: MASKED[language].replace(_CRLF, "\n")}, {path: whole.replace(_CRLF, "\n")})
    metadata: dict[str, object] = {
        "name": "a", "repo_name": "own/a", "full_name": "own/a", "html_url": "https://github.com/own/a",
        "description": None, "stargazers_count": 100, "default_branch": "main", "language": language, "topics": [],
        "pushed_at": "2024-08-21T14:16:43+00:00", "created_at": "2020-01-01T00:00:00+00:00",
        "updated_at": "2024-08-22T01:24:20+00:00", "commit_sha": "37338ba",
    }  # fmt: skip
    found: dict[str, object] = {
        "instance_id": f"own_{language.lower()}",
        "metadata": metadata,
        "language": language,
        "act_command": f"act -j 'unit' --matrix os:ubuntu-latest --matrix sdk:3.9 --pull=false -W '{_WORKFLOW}'",
        "ci_file": _WORKFLOW,
        "patch": patch.replace("--- a/", "index 1d06344..d0a936f 100644\n--- a/", 1),
        "build_files": [path],
        "env_specs": {"SDK": f"{language} 3.9", "OS": "ubuntu-22.04"},
    }
    assert tuple(found) == FIELDS
    return found


def write_release(root: Path, inside: str = "{language}/{name}") -> Path:
    """Write the files of the release's page: a JSON lines file of a subset, and an archive of each language."""
    root.mkdir()
    rows = [row(language) for language in ORIGINALS]
    (root / "dataset-dibench-regular.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    for language, (path, _) in ORIGINALS.items():
        with tarfile.open(root / f"dibench-regular-{language.lower()}.tar.gz", "w:gz") as archive:
            place = inside.format(language=language.lower(), name=f"own_{language.lower()}")
            for name, text in ((path, MASKED[language]), (_WORKFLOW, "on: push\njobs: {}\n")):
                member = tarfile.TarInfo(f"{place}/{name}")
                member.size = len(text.encode())
                archive.addfile(member, io.BytesIO(text.encode()))
    return root


@pytest.mark.parametrize(
    "inside", ["{language}/{name}", "{name}", "./{language}/{name}", "dibench-regular-{language}/{name}"]
)
def test_a_release_is_read_whole(groundup: Groundup, tmp_path: Path, inside: str) -> None:
    """All four languages, packed in whatever way: the original has everything, the masked repository nothing."""
    source = write_release(tmp_path / "downloads", inside)
    assert groundup("data", "pull", "dibench@whole", "--from", source).code == 0
    for subject, share in (("oracle", 1), ("nop", 0)):
        ended = groundup("run", "dibench@whole", "-a", subject, "--json")
        rows = ended.document["runs"][0]["attempts"]
        assert [one["score"]["value"] for one in rows] == [share] * 4, ended.err


def test_each_field_is_what_was_written(tmp_path: Path) -> None:
    """The eight fields; of the metadata what anything uses; the job of the command, whatever `--pull` says."""
    (tmp_path / "repo-regular.json").write_text("".join(json.dumps(row(one)) + "\n" for one in ORIGINALS))
    problems = {one.id: one for one in read_dataset(tmp_path).problems}
    for language in ORIGINALS:
        written, found = row(language), problems[f"own_{language.lower()}"]
        kept = found.instance.model_dump(mode="json")
        metadata = kept.pop("metadata")
        assert kept == {name: written[name] for name in FIELDS if name != "metadata"} | {
            "language": language.lower()
        }
        assert (metadata["full_name"], metadata["commit_sha"]) == ("own/a", "37338ba")
        assert (found.subset, found.instance.known_date) == ("regular", "2024-08-21")
        command = job_command(found.instance)
        assert (command.job, command.workflow) == ("unit", _WORKFLOW)
        assert command.matrix == {"os": "ubuntu-latest", "sdk": "3.9"}


@pytest.mark.parametrize("field", [name for name in FIELDS if name not in ("metadata", "env_specs")])
@pytest.mark.parametrize("wrong", [None, 7, "missing"])
def test_an_error_names_line_and_field(tmp_path: Path, field: str, wrong: object) -> None:
    """Each field that is missing or of another type, in a file of several lines."""
    broken = row("Rust")
    broken[field] = wrong
    if wrong == "missing":
        del broken[field]
    lines = [json.dumps(row("Python")), json.dumps(broken), json.dumps(row("CSharp"))]
    file = tmp_path / "dataset-dibench-large.jsonl"
    file.write_text("\n".join(lines))
    with pytest.raises(UsageError, match=rf"dataset-dibench-large\.jsonl, line 2: {field}: "):
        read_dataset(tmp_path)


MARKER = "#<buildmark-packages>#"
MARKED = {
    "requirements.txt": f"{MARKER}\n",
    "pyproject.toml": f'[project]\nname = "a"\ndependencies = [\n    {MARKER}\n]\n',
    "setup.cfg": f"[options]\ninstall_requires =\n    {MARKER}\nzip_safe = no\n",
    "setup.py": f"from setuptools import setup\n\nsetup(\n    install_requires=[\n        {MARKER}\n    ],\n)\n",
}


@pytest.mark.parametrize("path", MARKED)
def test_the_older_schema_with_its_marks_is_read_whole(groundup: Groundup, tmp_path: Path, path: str) -> None:
    """A comment stands where packages were: it declares nothing, may stay, and a patch may replace it."""
    wanted = '"requests>=2",' if path in ("pyproject.toml", "setup.py") else "requests>=2"
    whole = MARKED[path].replace(MARKER, wanted)
    older = {
        "instance_id": "own_marked", "metadata": {"full_name": "own/marked", "id": 7, "license": {"key": "mit"}},
        "build_script": "#!/bin/bash\n", "test_script": "pytest", "language": "Python", "pip_requirements": [],
        "act_cmd": f'act -W "{_WORKFLOW}" -j run-pytest --pull=false', "ci_file": _WORKFLOW,
        "dependency_file": path, "model_name_or_path": "gold", "patch": diff({path: MARKED[path]}, {path: whole}),
    }  # fmt: skip
    (tmp_path / "old.jsonl").write_text(json.dumps(older) + "\n")
    write_tree(tmp_path / "new/python/own_marked", {path: MARKED[path]})
    converted = groundup("data", "convert", "dibench", "old.jsonl", "-o", "new/regular.jsonl", "--json")
    assert converted.code == 0, converted.err
    assert json.loads(converted.out) == {"file": "new/regular.jsonl", "instances": 1}
    (problem,) = read_dataset(tmp_path / "new").problems
    command = job_command(problem.instance)
    assert (command.job, command.workflow) == ("run-pytest", _WORKFLOW)
    blanks = MARKED[path].partition(MARKER)[0].rpartition("\n")[2]
    beside = MARKED[path].replace(MARKER, f"{MARKER}\n{blanks}{wanted}")
    for text, share in ((MARKED[path], 0), (whole, 1), (beside, 1)):
        assert _share(problem, write_tree(tmp_path / f"s{share}{len(text)}", {path: text})) == share


def _share(problem: InstanceProblem, submission: Path) -> float | None:
    found, broken = answer(problem, submitted(problem, submission))
    assert not broken
    return score_instance(found).total.exact.f1.value


@pytest.mark.parametrize("field", ["instance_id", "language", "act_cmd", "ci_file", "dependency_file", "patch"])
def test_an_older_error_names_line_and_field(groundup: Groundup, tmp_path: Path, field: str) -> None:
    """What cannot be converted is named by the field of its own schema."""
    older = {"instance_id": "a", "language": "Python", "act_cmd": "act -j a", "ci_file": _WORKFLOW}
    older |= {"dependency_file": "setup.py", "patch": "--- a\n"}
    lines = [json.dumps(older), json.dumps({key: value for key, value in older.items() if key != field})]
    (tmp_path / "old.jsonl").write_text("\n".join(lines))
    ended = groundup("data", "convert", "dibench", "old.jsonl", "-o", "new.jsonl")
    assert ended.code == 2
    assert f"old.jsonl, line 2: {field}: " in ended.err
