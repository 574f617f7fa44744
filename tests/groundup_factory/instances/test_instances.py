"""Instances of repositories: masked, with the patch that restores them, in data that the suite reads."""

import json
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup.domain.errors import TaskError, UsageError
from groundup.environments.checkouts import check_out
from groundup.manifests.records import DependencyKind
from groundup.settings import Settings
from groundup.suites.dibench.answers import Edited, answer, original, submitted
from groundup.suites.dibench.dataset import read_dataset
from groundup.suites.dibench.metrics import score_instance
from groundup.suites.dibench.patches import apply_to_file, parse_patch
from groundup.suites.dibench.published import official_comparison
from groundup_factory.instances.choosing import JobWish, chosen_job
from groundup_factory.instances.making import InstanceRequest, add_instance
from tests.needs import need

WORKFLOW = """
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    strategy:
      matrix: {python: ["3.11", "3.12"]}
    steps:
      - uses: actions/setup-python@v5
        with: {python-version: "${{ matrix.python }}"}
      - run: pip install -e . pytest
      - run: pytest
"""
PROJECT = b'[project]\r\nname = "x"\r\ndependencies = [\r\n    "requests>=2",  # the web\r\n]\r\n'
FILES = {
    ".github/workflows/ci.yml": WORKFLOW.encode(),
    "pyproject.toml": PROJECT,
    "requirements.txt": b"click",
    "uv.lock": b'[[package]]\nname = "requests"\n',
    "x.py": b"import requests\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with one commit."""
    return _committed(tmp_path / "somebody-x", FILES)


def _committed(root: Path, files: Mapping[str, bytes], author: str = "a") -> Path:
    need("git")
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    identity = ("-c", f"user.name={author}", "-c", "user.email=a@b", "-c", "core.autocrlf=false")
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), (*identity, "commit", "-q", "-m", "all")):
        subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)
    return root


def _settings(tmp_path: Path) -> Settings:
    return Settings(cache_dir=tmp_path / "cache")


async def test_an_instance_is_masked_and_its_patch_restores_it(repository: Path, tmp_path: Path) -> None:
    """Declarations are gone, line ends stay, the lock file is removed, and the patch gives the very bytes."""
    folder = tmp_path / "set"
    made = await add_instance(
        InstanceRequest(repository=str(repository), language="python"), folder, _settings(tmp_path)
    )

    instance = made.instance
    masked = folder / "set" / "python" / "somebody-x"
    assert instance.build_files == ("pyproject.toml", "requirements.txt")
    assert instance.act_command == "act -j test --matrix python:3.12 -W .github/workflows/ci.yml"
    assert instance.env_specs == {"OS": "ubuntu-latest", "SDK": "Python 3.12"}
    assert b"requests" not in (masked / "pyproject.toml").read_bytes()
    assert not (masked / "uv.lock").exists()
    assert (masked / "x.py").read_bytes() == FILES["x.py"]
    for patch in parse_patch(instance.patch.encode()):
        assert patch.new is not None
        assert apply_to_file(patch, (masked / patch.new).read_bytes()) == FILES[patch.new]


async def test_the_suite_reads_what_is_made_and_a_second_making_replaces(repository: Path, tmp_path: Path) -> None:
    """The folder is data of dibench; made again with other kinds, the instance stands there once, as the last."""
    folder = tmp_path / "set"
    wanted = InstanceRequest(repository=str(repository), language="python", name="x")
    await add_instance(wanted, folder, _settings(tmp_path))
    none = frozenset({DependencyKind.DEV})
    with pytest.raises(TaskError, match="nothing that could be masked"):
        await add_instance(wanted.but(kinds=none), folder, _settings(tmp_path))
    await add_instance(wanted, folder, _settings(tmp_path))

    (problem,) = read_dataset(folder).problems
    assert problem.id == "x"
    assert problem.subset == "set"
    assert problem.folder().is_dir()


async def test_another_repositorys_instance_is_never_replaced(repository: Path, tmp_path: Path) -> None:
    """Two repositories of one name are distinguished by their commits; a copy of one is the same repository."""
    folder, settings = tmp_path / "set", _settings(tmp_path)
    first = await add_instance(InstanceRequest(repository=str(repository), language="python"), folder, settings)
    other = _committed(tmp_path / "others" / "somebody-x", FILES, author="b")
    before = (folder / "set.jsonl").read_bytes()
    with pytest.raises(UsageError, match="another --name"):
        await add_instance(InstanceRequest(repository=str(other), language="python"), folder, settings)
    assert (folder / "set.jsonl").read_bytes() == before

    clone = tmp_path / "copies" / "somebody-x"
    shutil.copytree(repository, clone)
    again = await add_instance(InstanceRequest(repository=str(clone), language="python"), folder, settings)
    assert again.instance.instance_id == first.instance.instance_id


async def test_another_commit_or_an_edit_is_never_replaced(repository: Path, tmp_path: Path) -> None:
    """An instance of the same repository at another commit stays, as does one that somebody edited."""
    folder = tmp_path / "mini"
    wanted = InstanceRequest(repository=str(repository), language="python", name="x")
    made = await add_instance(wanted, folder, Settings())
    lines, place = folder / "mini.jsonl", folder / "mini" / "python" / "x"
    before = lines.read_bytes()

    newer = _committed(repository, {"x.py": b"import requests, click\n"})
    with pytest.raises(
        UsageError, match=r"was made of the commit \w{12}, not of \w{12}; give this one another --name"
    ):
        await add_instance(wanted.but(repository=str(newer)), folder, Settings())
    same = wanted.but(commit=made.instance.metadata.commit_sha)
    await add_instance(same, folder, Settings())
    assert lines.read_bytes() == before

    lines.write_bytes(before.replace(b"act -j test", b"act -v -j test"))
    with pytest.raises(UsageError, match="was edited"):
        await add_instance(same, folder, Settings())
    lines.write_bytes(before)
    (place / "x.py").write_text("import mine\n")
    with pytest.raises(UsageError, match="changed since"):
        await add_instance(same, folder, Settings())
    assert (place / "x.py").read_text() == "import mine\n"


async def test_lines_of_others_stay_as_they_are(repository: Path, tmp_path: Path) -> None:
    """An instance is added beside published ones, of which not a byte changes."""
    folder = tmp_path / "mini"
    folder.mkdir()
    await add_instance(
        InstanceRequest(repository=str(repository), language="python", name="x"), folder, Settings()
    )
    line = json.loads((folder / "mini.jsonl").read_bytes())
    line["instance_id"], line["metadata"]["stars_of_the_day"] = "published", 7
    (folder / "mini.jsonl").write_text(json.dumps(line, indent=None) + "\n")
    await add_instance(
        InstanceRequest(repository=str(repository), language="python", name="y"), folder, Settings()
    )
    assert json.dumps(line, indent=None) in (folder / "mini.jsonl").read_text().splitlines()


async def test_what_is_no_instance_is_never_replaced(repository: Path, tmp_path: Path) -> None:
    """A folder that somebody put where an instance would go stays, and a failure leaves the earlier instance."""
    folder, settings = tmp_path / "set", _settings(tmp_path)
    notes = folder / "set" / "python" / "x" / "notes"
    notes.parent.mkdir(parents=True)
    notes.write_text("mine")
    with pytest.raises(UsageError, match="belongs to no instance"):
        await add_instance(
            InstanceRequest(repository=str(repository), language="python", name="x"), folder, settings
        )
    assert notes.read_text() == "mine"

    wanted = InstanceRequest(repository=str(repository), language="python", name="y")
    await add_instance(wanted, folder, settings)
    with pytest.raises(TaskError):
        await add_instance(wanted.but(kinds=frozenset({DependencyKind.DEV})), folder, settings)
    assert (folder / "set" / "python" / "y" / "x.py").exists()


async def test_job_and_leg_of_ones_own_are_taken_and_checked(repository: Path, tmp_path: Path) -> None:
    """A leg that is named is pinned in full; one that the matrix does not have is refused."""
    tree = tmp_path / "tree"
    await check_out(str(repository), None, tree, tmp_path, None)
    wanted = JobWish(job="test", leg={"python": "3.11"})

    job = chosen_job(wanted, "r", tree)
    assert job.leg == {"python": "3.11"}
    assert job.runner == "ubuntu-latest"
    with pytest.raises(TaskError, match="no leg"):
        chosen_job(wanted.but(leg={"python": "2.7"}), "r", tree)
    with pytest.raises(UsageError, match=r"other\.yml"):
        chosen_job(wanted.but(workflow="other.yml"), "r", tree)
    with pytest.raises(TaskError, match="--workflow"):
        chosen_job(wanted.but(job="absent"), "r", tree)


async def test_a_repository_is_found_by_a_mirror_and_never_written_to(repository: Path, tmp_path: Path) -> None:
    """`host/owner/name` goes through the mirror's pattern; its name comes from the address."""
    before = sorted(path.name for path in (repository / ".git").iterdir())
    origin = await check_out(
        "example.org/somebody/x", None, tmp_path / "tree", tmp_path, str(repository.parent / "{owner}-{name}")
    )

    assert origin.full_name == "somebody/x"
    assert len(origin.commit) == 40
    assert (tmp_path / "tree" / "pyproject.toml").read_bytes() == PROJECT
    assert sorted(path.name for path in (repository / ".git").iterdir()) == before


@pytest.mark.needs("git")
async def test_what_is_no_repository_is_refused_with_a_sentence(tmp_path: Path) -> None:
    """Neither an empty folder nor an option of git passes for a repository."""
    (tmp_path / "empty").mkdir()

    with pytest.raises(UsageError, match="no Git repository"):
        await check_out(str(tmp_path / "empty"), None, tmp_path / "a", tmp_path / "w", None)
    with pytest.raises(UsageError, match="no repository"):
        await check_out("--upload-pack=x", None, tmp_path / "b", tmp_path / "v", None)


RUST_FILES = {
    ".github/workflows/ci.yml": b"on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n"
    b"      - run: cargo test --all-features\n",
    "Cargo.toml": b'[package]\nname = "x"\nversion = "0.1.0"\n\n[features]\ndefault = ["regex"]\n'
    b'diff = ["dep:difflib"]\n\n[dependencies]\nx-core = { version = "1", path = "core" }\n'
    b'difflib = { version = "0.4", optional = true }\nregex = { version="1", optional = true }\nanstyle = "1"\n',
    "core/Cargo.toml": b'[package]\nname = "x-core"\nversion = "1.0.0"\n',
    "core/src/lib.rs": b"",
    "src/lib.rs": b'#[cfg(feature = "diff")]\nuse difflib::ndiff;\n'
    b'#[cfg(feature = "regex")]\nuse regex::Regex;\nuse anstyle::Style;\nuse x_core::y;\n',
}


@pytest.mark.needs("groundup_infer")
async def test_both_graders_count_the_same_dependencies_of_a_crate(tmp_path: Path) -> None:
    """Optional dependencies are masked: `strict` and `official` have one denominator, and nop has 0."""
    from groundup_infer.written import INFERRED_KINDS, write_inferred

    root = _committed(tmp_path / "somebody-x", RUST_FILES)
    folder = tmp_path / "set"
    await add_instance(InstanceRequest(repository=str(root), language="rust"), folder, _settings(tmp_path))
    (problem,) = read_dataset(folder).problems
    (tmp_path / "nop").mkdir()
    (tmp_path / "oracle").mkdir()
    (tmp_path / "oracle/patch.diff").write_text(problem.instance.patch)
    (inferred,) = write_inferred(
        problem.folder(), "rust", problem.instance.build_files, problem.read, INFERRED_KINDS["rust"]
    )
    (tmp_path / "static").mkdir()
    (tmp_path / "static/Cargo.toml").write_bytes(inferred.content)
    right = {}
    wanted = original(problem)
    for subject in ("nop", "oracle", "static"):
        edited = submitted(problem, tmp_path / subject)
        strict = score_instance(answer(problem, edited)[0]).total.name_only

        def read(path: str, edited: Edited = edited) -> bytes:
            return edited.read(path) or b""

        official = official_comparison("rust", ["Cargo.toml"], lambda path: wanted(path) or b"", read)
        assert official is not None
        assert official.name_only == strict
        right[subject] = (strict.true_positives, strict.false_positives, strict.false_negatives)
    assert right == {"nop": (0, 0, 4), "oracle": (4, 0, 0), "static": (4, 0, 0)}
    written = tomllib.loads(inferred.content.decode())["dependencies"]
    assert {name for name, said in written.items() if isinstance(said, dict) and said.get("optional")} == {
        "difflib",
        "regex",
    }


async def test_what_is_declared_instead_is_named(tmp_path: Path) -> None:
    """A package with development dependencies only is told so, with the option that takes those out."""
    package = b'{"name": "x", "devDependencies": {"ava": "1", "xo": "2"}, "scripts": {"test": "ava"}}'
    workflow = (
        b"on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps: [{run: npm install}, {run: npm test}]\n"
    )
    root = _committed(tmp_path / "x", {".github/workflows/ci.yml": workflow, "package.json": package})
    wanted = InstanceRequest(repository=str(root), language="javascript")
    with pytest.raises(TaskError, match=r"there are: 2 dev.*--kinds dev"):
        await add_instance(wanted, tmp_path / "set", _settings(tmp_path))
    dev = wanted.but(kinds=frozenset({DependencyKind.DEV}))
    assert (await add_instance(dev, tmp_path / "set", _settings(tmp_path))).instance.build_files == (
        "package.json",
    )


def _lose(repository: Path, path: str) -> None:
    """Remove the object of a file from a history."""
    found = subprocess.run(["git", "rev-parse", f"HEAD:{path}"], cwd=repository, capture_output=True, check=True)
    blob = found.stdout.decode().strip()
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()


async def test_a_copy_without_a_large_file_is_one_sentence(repository: Path, tmp_path: Path) -> None:
    """A mirror that holds no large files is told by the file that it lacks."""
    _lose(repository, "x.py")
    with pytest.raises(TaskError, match=r"this copy lacks x\.py, a large file perhaps; name another mirror"):
        await check_out(str(repository / ".git"), None, tmp_path / "tree", tmp_path, None)


async def test_a_picture_that_a_copy_lacks_is_left_out_and_named(tmp_path: Path) -> None:
    """What only people read keeps nobody from making an instance of the rest."""
    root = _committed(tmp_path / "x", {"x.py": b"", "docs/a.pdf": b"%PDF 1", "docs/b.PNG": b"picture"})
    _lose(root, "docs/a.pdf")
    _lose(root, "docs/b.PNG")
    origin = await check_out(str(root / ".git"), None, tmp_path / "tree", tmp_path, None)
    assert origin.lacking == ("docs/a.pdf", "docs/b.PNG")
    assert [path.name for path in (tmp_path / "tree").iterdir()] == ["x.py"]


def _head(repository: Path) -> str:
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, check=True)
    return found.stdout.decode().strip()


async def test_a_workflow_of_another_repository_is_fetched_and_pinned(tmp_path: Path) -> None:
    """The instance holds what the called workflow was at the commit that its reference named, and calls nobody."""
    called = (
        b"on: {workflow_call: {}}\njobs:\n  unit:\n    runs-on: ubuntu-latest\n    "
        b"steps: [{run: pip install .}, {run: pytest}]\n"
    )
    other = _committed(tmp_path / "mirror" / "else+shared", {".github/workflows/tests.yml": called})
    caller = b"on: push\njobs:\n  all:\n    uses: else/shared/.github/workflows/tests.yml@main\n"
    root = _committed(tmp_path / "x", {**FILES, ".github/workflows/ci.yml": caller})
    settings = Settings(cache_dir=tmp_path / "cache", git_mirror=f"{tmp_path}/mirror/{{owner}}+{{name}}")
    wanted = InstanceRequest(repository=str(root), language="python")
    made = await add_instance(wanted, tmp_path / "set", settings)

    assert made.instance.act_command == "act -j unit -W .github/workflows/groundup-unit.yml"
    written = (tmp_path / "set" / "set" / "python" / "x" / ".github/workflows/groundup-unit.yml").read_text()
    assert f"(commit {_head(other)})" in written
