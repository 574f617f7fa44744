"""Layouts of predictions, right and wrong ones: what is found in each, and the sentence that refuses it.

`python -m tests.runs.test_layouts` writes golden/layouts.txt anew: read what changed, for users will see it.
"""

import gzip
import io
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from groundup.domain.errors import UsageError
from groundup.domain.subjects import AttemptKey
from groundup.runs.predictions import GivenSource, PredictionLayout, model_named_in, open_predictions
from groundup.store.records import Predictions

GOLDEN = Path(__file__).parent / "golden" / "layouts.txt"
TASKS = ("alpha", "beta", "gamma", "delta-library")
PATCHES = PredictionLayout(groups=("python", "rust"), patches=True)
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
PACKED = "packed: alpha/a.py beta/b.py"
Files = Mapping[str, str]
"""Path -> text; `link: TARGET`, `packed: FILES`, and no text at all for a folder."""
FOLDERS: Mapping[str, Files] = {
    "plain": {"alpha/setup.py": "x", "beta/a.py": "x", "notes.txt": "x", "logs/x": "x", ".git/config": "x"},
    "attempts": {"alpha/0/a.py": "x", "alpha/2/a.py": "x", "beta/a.py": "x", "beta/0/a.py": "x"},
    "attempts from one": {"alpha/1/a.py": "x", "beta/2/a.py": "x"},
    "attempts of another name": {"alpha/run_1/a.py": "x", "alpha/run_2/a.py": "x", "alpha/RUN-3/a.py": "x"},
    "attempts that are a file": {"alpha/0": "x", "beta/a.py": "x"},
    "an attempt of four digits": {"alpha/1000/a.py": "x", "alpha/00/a.py": "x"},
    "packed": {
        "alpha/submission.tar": "packed: a.py",
        "beta/0/submission.zip": "no archive",
        "beta/0/README": "x",
    },
    "packed twice": {"alpha/submission.tar.gz": "packed: a.py", "alpha/submission.tar": "packed: a.py"},
    "packed under another name": {
        "alpha/mine.tar.gz": "packed: a.py",
        "beta/mine.tar.gz": "x",
        "beta/README.md": "x",
    },
    "packed by something else": {"alpha/mine.rar": "x", "beta/mine.tar.lzma": "x", "beta/LICENSE": "x"},
    "packed beside": {"alpha.tar.gz": "packed: a.py", "beta/a.py": "x"},
    "packed beside without a task": {"whatever.tgz": "packed: a.py"},
    "links": {
        "alpha": "link: real",
        "beta": "link: nowhere",
        "gamma": "link: gamma",
        "delta-library": "link: /etc",
        "real/a.py": "x",
    },
    "files": {"alpha": "x", "beta/a.py": "x"},
    "pointers": {
        "alpha/a.bin": POINTER,
        "alpha/a.py": "x",
        "beta/a.bin": POINTER,
        "beta/a.py": "x",
        "beta/b.py": "x",
    },
    "empty ones": {"alpha": "", "beta": ""},
    "one empty": {"alpha": "", "beta/a.py": "x"},
    "nothing": {},
    "notes alone": {"notes.txt": "x", "logs/a": "x"},
    "hidden alone": {"alpha/.git/config": "x", "alpha/.a": "x", "alpha/.b": "x", "alpha/.c": "x"},
    "too deep": {"alpha/alpha-main/setup.py": "x", "beta/only/a.py": "x"},
    "a slip": {"alpah/a.py": "x", "beta/a.py": "x"},
    "a slip by one letter": {"gama/a.py": "x", "beta/a.py": "x"},
    "a stranger": {"zebra/a.py": "x", "beta/a.py": "x"},
    "strangers alone": {"zebra/a.py": "x"},
    "one level down": {"mine/alpha/a.py": "x"},
    "a repository among them": {"zebra/pom.xml": "x", "beta/a.py": "x"},
    "one repository": {"setup.py": "x", "src/a.py": "x"},
    "one repository with a package": {"pyproject.toml": "x", "alpha/a.py": "x"},
    "a repository with several": {"package.json": "x", "alpha/a.py": "x", "beta/a.py": "x"},
    "groups": {
        "python/alpha/a.py": "x",
        "rust/beta/patch.diff": "x",
        "rust/gamma/fix.patch": "x",
        "python/python/alpha": "x",
    },
    "patches": {
        "alpha/patch.diff": "x",
        "alpha/a.py": "x",
        "beta/fix.patch": "x",
        "gamma/0/patch.diff": "link: x",
    },
    "an attempt of a run": {"alpha/submission.json": "{}", "alpha/submission/a.py": "x", "beta/a.py": "x"},
}
ONE: Mapping[str, tuple[str, Files]] = {
    "one named": ("alpha", {"a.py": "x"}),
    "one named with attempts": ("alpha", {"0/a.py": "x", "1/a.py": "x"}),
    "one named among others": ("alpha", {"alpha/setup.py": "x", "beta/setup.py": "x"}),
    "one named and only others": ("gamma", {"alpha/setup.py": "x", "beta/a.txt": "x"}),
    "one named and its package": ("alpha", {"alpha/a.py": "x"}),
    "one named and its package with tests": ("alpha", {"alpha/a.py": "x", "alpha/tests/t.py": "x"}),
    "one named and empty": ("alpha", {}),
    "one named as none": ("alpah", {"a.py": "x"}),
}
ALPHA = '{"instance_id": "alpha", "path": "there"}'
LINES: Mapping[str, str] = {
    "lines": f'{ALPHA}\n\n{{"instance_id": "alpha", "path": "there", "model_name_or_path": "m"}}\n',
    "an empty path": f'{{"instance_id": "beta", "path": ""}}\n{ALPHA}',
    "two models": '{"instance_id": "alpha", "path": "there", "model_name_or_path": "m"}\n'
    '{"instance_id": "beta", "path": "there", "model_name_or_path": "n"}\n',
    "a patch": '{"instance_id": "alpha", "model_patch": "diff"}\n{"instance_id": "alpha", "model_patch": null}\n',
    "a file": '{"instance_id": "alpha", "path": "x.jsonl"}',
    "an archive": '{"instance_id": "alpha", "path": "some.tar"}',
    "nowhere": '{"instance_id": "alpha", "path": "nowhere"}\n{"instance_id": "beta", "path": "../out"}',
    "no path": '{"instance_id": "alpha", "path": "a\\u0000b"}\n{"instance_id": "beta", "path": "\\ud800"}',
    "unknown": '{"instance_id": "alpah", "path": "there"}',
    "a list": "[1]",
    "a number": "1",
    "no name": '{"path": "there"}',
    "a wrong type": '{"instance_id": "alpha", "path": 3}',
    "not JSON": f"{ALPHA}\n{{nope",
    "nothing": "\n\n",
}


def _packed(names: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in names.split():
            tar.addfile(tarfile.TarInfo(name))
    return buffer.getvalue()


def _write(folder: Path, files: Files) -> None:
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("link: "):
            place.symlink_to(text.removeprefix("link: "))
        elif text.startswith("packed: "):
            data = _packed(text.removeprefix("packed: "))
            place.write_bytes(gzip.compress(data) if place.suffix == ".gz" else data)
        elif text:
            place.write_text(text)
        else:
            place.mkdir()


def _told(
    path: Path, task: str | None = None, layout: PredictionLayout | None = None, *, strict: bool = False
) -> str:
    """Return what is found at *path*, attempt by attempt, or why nothing can be."""
    try:
        spec = Predictions(path=str(path), task=task, strict_names=strict)
        source = open_predictions(spec, TASKS, layout=layout)
    except UsageError as error:
        return f"refused: {error}"
    return "\n".join([f"{source.attempts()} attempts, strays {source.strays}", *_found(source)])


def _found(source: GivenSource) -> Iterator[str]:
    for key in (AttemptKey(task=task, index=index) for task in TASKS for index in range(1001)):
        if source.holds(key):
            try:
                yield f"{key}: {source.identity([key])[str(key)][:17]}"
            except UsageError as error:
                yield f"{key}: {error}"


def _all(folder: Path) -> Iterator[str]:
    for name, files in FOLDERS.items():
        place = folder / "folders" / name
        place.mkdir(parents=True)
        _write(place, files)
        yield f"##### {name}\n{_told(place)}"
        if name in ("groups", "patches", "packed under another name"):
            yield f"##### {name}, where the suite takes patches\n{_told(place, layout=PATCHES)}"
        if name == "a stranger":
            yield f"##### {name}, by strict names\n{_told(place, strict=True)}"
    for name, (task, files) in ONE.items():
        place = folder / "one" / name
        place.mkdir(parents=True)
        _write(place, files)
        yield f"##### {name}\n{_told(place, task)}"
    for name, text in LINES.items():
        place = folder / "lines" / name
        _write(place, {"there/a.py": "x", "some.tar": "packed: a.py", "x.jsonl": text})
        yield f"##### {name}\n{_told(place / 'x.jsonl')}"
        if "patch" in name:
            yield f"##### {name}, where the suite takes patches\n{_told(place / 'x.jsonl', layout=PATCHES)}"
    _write(folder, {"several.tar.gz": PACKED, "mine.tar.gz": "packed: mine/alpha/a.py mine/beta/b.py"})
    for archive in ("several.tar.gz", "mine.tar.gz", "absent.tar.gz", "https://example.org/x"):
        yield f"##### {archive}\n{_told(folder / archive)}\n{_told(folder / archive, 'alpha')}"
    file, packed = folder / "lines/lines/x.jsonl", folder / "mine.tar.gz"
    yield f"##### model\n{model_named_in(file)}, {model_named_in(packed)}"


def _text(folder: Path) -> str:
    return "\n\n".join(_all(folder)).replace(str(folder), "FOLDER") + "\n"


def test_layouts_are_read_as_ever(tmp_path: Path) -> None:
    """Attempts with their digests, folders beside them, and each refusal to the letter."""
    assert _text(tmp_path) == GOLDEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        GOLDEN.write_text(_text(Path(made)), encoding="utf-8")
