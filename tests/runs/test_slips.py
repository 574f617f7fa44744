"""What people hand in by mistake: no zero without a sentence that names the slip, before anything runs."""

import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.subjects import AttemptKey
from groundup.runs.predictions import GivenSource, open_predictions
from groundup.store.records import Predictions
from groundup.trees.archives import extract_archive

TASKS = ["alpha", "beta", "gamma"]
CODE = {"pyproject.toml": b"[project]\n", "src/alpha.py": b"x = 1\n"}
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
Files = Mapping[str, bytes]


def zipped(files: Files, system: int = 3, name: Callable[[str], str] = str) -> bytes:
    """Return a zip of *files* as the system with that number writes it, with each name as *name* makes it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo("x")
            entry.filename, entry.create_system = name(path), system
            archive.writestr(entry, data)
    return buffer.getvalue()


def tarred(files: Files) -> bytes:
    """Return a packed tar of *files*."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for path, data in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def below(folder: str, files: Files) -> Files:
    """Return *files* one folder further down."""
    return {f"{folder}/{path}": data for path, data in files.items()}


def windows(path: str) -> str:
    """Return a path as Windows writes it."""
    return path.replace("/", "\\")


ALL = {**below("alpha", CODE), **below("beta", CODE), **below("gamma", CODE)}
LINES = [{"instance_id": "alpha", "path": "alpha", "model_name_or_path": name} for name in ("m", "n")]
SLIPS: dict[str, tuple[Files, str]] = {
    "absolute names": (
        {"alpha/submission.zip": zipped(CODE, 3, "/home/me/{}".format)},
        "nothing in it can be taken",
    ),
    "a drive": (
        {"alpha/submission.zip": zipped(CODE, 0, lambda path: f"C:\\me\\{windows(path)}")},
        "nothing in it",
    ),
    "absolute names in a tar": (
        {"alpha/submission.tar.gz": tarred({"/a/b.py": b""})},
        "nothing in it can be taken",
    ),
    "names that lead out": ({"alpha/submission.tar.gz": tarred({"../b.py": b""})}, "nothing in it can be taken"),
    "rar": ({"alpha/submission.rar": b"Rar!\x1a\x07"}, "submission.rar, an archive that is not read here"),
    "rar beside a document": (
        {"alpha/project.rar": b"Rar!\x1a\x07", "alpha/README.md": b"#", "alpha/LICENSE": b""},
        "project.rar and documents, an archive that is not read here",
    ),
    "a zip beside a document": (
        {"alpha/project.zip": zipped(CODE), "alpha/readme.txt": b"#"},
        "project.zip and documents; call it submission.zip",
    ),
    "7z": ({"alpha/alpha.7z": b"7z\xbc\xaf\x27\x1c"}, "alpha.7z, an archive that is not read here"),
    "a compressed file": ({"alpha/alpha.gz": b"\x1f\x8b"}, "alpha.gz, an archive that is not read here"),
    "another name of the archive": ({"alpha/alpha.zip": zipped(CODE)}, "call it submission.zip"),
    "another name of a tar": ({"alpha/project-main.tar.gz": tarred(CODE)}, "call it submission.tar.gz"),
    "half a zip": ({"alpha/submission.zip": zipped(CODE)[:90]}, "is cut off"),
    "a zip in name alone": ({"alpha/submission.tar.gz": zipped(CODE)[:3]}, "cannot be"),
    ".git alone": ({"alpha/.git/config": b""}, "alpha holds only .git; check the repository out again"),
    ".git and .github": ({"alpha/.git/config": b"", "alpha/.github/x": b""}, "alpha holds only .git, .github"),
    "pointers of Git LFS": (
        below("alpha", dict.fromkeys(CODE, POINTER)),
        "2 of its 2 files are pointers of Git LFS",
    ),
    "more pointers than files": (
        below("alpha", {"README.md": b"#", "a.py": POINTER, "b.py": POINTER}),
        "2 of its 3 files are pointers of Git LFS; run `git lfs pull`",
    ),
    "every folder empty": ({"alpha/": b"", "beta/": b"", "gamma/": b""}, "all 3 folders of"),
    "attempts called run-0": ({**below("alpha/run-0", CODE), **below("alpha/run-1", CODE)}, "look like attempts"),
    "attempts called attempt_1": (
        below("alpha/attempt_1", {"a.py": b""}),
        "look like attempts; call them 0, 1, 2",
    ),
    "attempts called Trial 2": (below("alpha/Trial 2", {"a.py": b""}), "look like attempts"),
    "attempts called k3": (below("alpha/k3", {"a.py": b""}), "look like attempts"),
    "one folder more": (below("alpha/alpha-main", CODE), "move what is in it up to alpha"),
    "a task spelt otherwise": ({**below("Alpha", CODE), **below("beta", CODE)}, "unknown task 'Alpha'"),
    "a typo": ({**below("alhpa", {"a.py": b""}), **below("beta", CODE)}, "unknown task 'alhpa'"),
    "a repository beside": ({**below("delta", CODE), **below("beta", CODE)}, "unknown task 'delta'"),
    "one level too high": (below("out", ALL), "give -p"),
    "nothing but logs": ({"logs/a.txt": b""}, "unknown task 'logs'"),
    "an archive beside": ({"alpha.zip": zipped(CODE)}, "put it at alpha/submission.zip"),
    "two archives": ({"alpha/submission.zip": zipped(CODE), "alpha/submission.tar": b""}, "leave one of them"),
    "a file for a task": ({"alpha": b"x"}, "alpha is a file"),
    "attempts from 1": (below("alpha/1", CODE), "attempts count from 0"),
    "nothing at all": ({}, "holds no predictions"),
}
"""What lies in the folder, and the words of the sentence."""
PACKED: dict[str, tuple[str, bytes, str | None, str]] = {
    "all of them in a zip": (
        "all.zip",
        zipped(ALL),
        None,
        "holds predictions for 3 tasks, such as alpha; unpack it",
    ),
    "the same, and --task": ("all.zip", zipped(ALL), "alpha", "holds predictions for 3 tasks"),
    "all in a folder in a tar": ("all.tar.gz", tarred(below("out", ALL)), "beta", "holds predictions for 3 tasks"),
    "one, without --task": ("alpha.zip", zipped(CODE), None, "is one archive; name its task with --task"),
    "two models": (
        "lines.jsonl",
        b"\n".join(json.dumps(one).encode() for one in LINES),
        None,
        "a second model (m, n)",
    ),
    "an empty file": ("lines.jsonl", b"", None, "holds no predictions"),
    "a table": ("lines.jsonl", b"instance_id,path\nalpha,alpha\n", None, "not JSON"),
    "a list": ("lines.jsonl", b'[{"instance_id": "alpha"}]', None, "a list; write one object on each line"),
    "a task that is none": ("lines.jsonl", b'{"instance_id": "delta"}', None, "unknown task 'delta'"),
    "a patch": ("lines.jsonl", b'{"instance_id": "alpha", "model_patch": "x"}', None, "takes whole repositories"),
}
"""A file, what it holds, the task that is named, and the words of the sentence."""


def write(root: Path, files: Files) -> Path:
    """Write *files* below *root*; a name that ends with / is an empty folder."""
    root.mkdir()
    for path, data in files.items():
        if path.endswith("/"):
            (root / path).mkdir()
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
    return root


def held(source: GivenSource) -> set[str]:
    """Read everything that *source* holds, as a run does before it begins, and return the attempts."""
    every = [AttemptKey(task=task, index=index) for task in TASKS for index in range(3)]
    return set(source.identity([key for key in every if source.holds(key)]))


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_named_before_anything_runs(tmp_path: Path, slip: str) -> None:
    """A sentence says what lies there and what to do; nobody gets a zero for it."""
    files, words = SLIPS[slip]
    folder = write(tmp_path / "predictions", files)
    with pytest.raises(UsageError) as refused:
        held(open_predictions(Predictions(path=str(folder)), TASKS))
    assert words in str(refused.value)


@pytest.mark.parametrize("slip", PACKED)
def test_a_file_that_is_no_prediction_is_named(tmp_path: Path, slip: str) -> None:
    """All predictions in one archive are no submission for one task, and two models are two runs."""
    name, data, task, words = PACKED[slip]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError) as refused:
        held(open_predictions(Predictions(path=str(tmp_path / name), task=task), TASKS))
    assert words in str(refused.value)


@pytest.mark.parametrize("system", [0, 10, 11, 14])
def test_a_zip_made_on_windows_is_unpacked_like_any_other(tmp_path: Path, system: int) -> None:
    """Some programs there write names with backslashes, folders among them."""
    made = zipped({**CODE, "empty/": b""}, system, windows)
    (tmp_path / "submission.zip").write_bytes(made)
    extract_archive(tmp_path / "submission.zip", tmp_path / "tree")
    found = {str(path.relative_to(tmp_path / "tree")) for path in (tmp_path / "tree").rglob("*") if path.is_file()}
    assert found == set(CODE)
    assert (tmp_path / "tree" / "empty").is_dir()


def test_folders_by_backslashes_alone_are_folders_of_any_system(tmp_path: Path) -> None:
    """Some programs write Windows' names and say that they are Unix."""
    made = zipped({"alpha/__init__.py": b"", "alpha/b/c.py": b"", "setup.py": b""}, 3, windows)
    (tmp_path / "submission.zip").write_bytes(made)
    extract_archive(tmp_path / "submission.zip", tmp_path / "tree")
    assert (tmp_path / "tree" / "alpha" / "b" / "c.py").is_file()


def test_a_backslash_in_a_name_of_unix_stays(tmp_path: Path) -> None:
    """It is a character like others there, and hidden tests may want it."""
    (tmp_path / "submission.zip").write_bytes(zipped({"odd\\name.py": b""}, 3))
    extract_archive(tmp_path / "submission.zip", tmp_path / "tree")
    assert [path.name for path in (tmp_path / "tree").iterdir()] == ["odd\\name.py"]


@pytest.mark.parametrize("stray", ["logs", "__MACOSX", "results", "cache"])
def test_a_stray_folder_is_named_and_left_alone(tmp_path: Path, stray: str) -> None:
    """What tools leave beside predictions does not stop the run; --strict-names refuses it."""
    folder = write(tmp_path / "predictions", {**below("alpha", CODE), f"{stray}/x.txt": b""})
    source = open_predictions(Predictions(path=str(folder)), TASKS)
    assert (held(source), source.strays) == ({"alpha/0"}, (stray,))
    with pytest.raises(UsageError, match=f"unknown task '{stray}'"):
        open_predictions(Predictions(path=str(folder), strict_names=True), TASKS)


def test_names_of_tools_are_no_slips_of_a_task(tmp_path: Path) -> None:
    """RepoGenesis has a task Blog, and whoever has a folder logs did not mean it; swapped letters are a slip."""
    folder = write(tmp_path / "predictions", {**below("eve", CODE), "logs/x.txt": b""})
    assert open_predictions(Predictions(path=str(folder)), ["eve", "Blog"]).strays == ("logs",)
    (folder / "logs").rename(folder / "bolg")
    with pytest.raises(UsageError, match="unknown task 'bolg'"):
        open_predictions(Predictions(path=str(folder)), ["eve", "Blog"])


def test_one_empty_folder_is_a_submission(tmp_path: Path) -> None:
    """Whoever hands in nothing for one task among others gets nothing for it."""
    folder = write(tmp_path / "predictions", {**below("alpha", CODE), "beta/": b""})
    assert held(open_predictions(Predictions(path=str(folder)), TASKS)) == {"alpha/0", "beta/0"}


def test_some_data_by_pointers_is_no_slip(tmp_path: Path) -> None:
    """A repository whose large files were not fetched is graded as it is."""
    folder = write(tmp_path / "predictions", below("alpha", {**CODE, "data/large.bin": POINTER}))
    assert held(open_predictions(Predictions(path=str(folder)), TASKS)) == {"alpha/0"}
