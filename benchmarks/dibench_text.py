"""How long textual evaluation takes: a made dataset of 400 instances, evaluated with a registry snapshot.

    python benchmarks/dibench_text.py [--instances 400] [--jobs 2] [--manifests CACHE]

With CACHE (filled by `gather_manifests.py`) build files are real manifests; otherwise they are made. Each
repository also has 60 source files. Predictions are what the `oracle` hands in, and, in a second run, the same
with every third dependency missing. Prints the time that passed and, for busy machines, that of the processor.
"""

import argparse
import difflib
import json
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from groundup.languages.formats import FORMATS
from groundup.manifests.records import Language, ManifestError
from groundup.registries.names import Listing, snapshot_lines
from groundup.runs import api
from groundup.runs.plan import RunOptions
from groundup.settings import Settings
from groundup.store.records import Predictions, References, RunConfiguration, SubmissionsFrom
from groundup.suites.dibench.registry_check import package_name
from groundup.suites.pulling import take_folder

_KINDS: tuple[tuple[str, Language, str], ...] = (
    ("pyproject.toml", "python", ".py"),
    ("Cargo.toml", "rust", ".rs"),
    ("package.json", "javascript", ".js"),
    ("msbuild", "csharp", ".cs"),
    ("setup.py", "python", ".py"),
)
_MADE = {
    "pyproject.toml": '[project]\nname = "p"\ndependencies = [\n    "requests>=2",\n    "numpy",\n]\n',
    "Cargo.toml": '[package]\nname = "p"\nversion = "1.0.0"\n\n[dependencies]\nserde = "1"\nlibc = "0.2"\n',
    "package.json": '{\n  "dependencies": {\n    "left-pad": "^1.3.0",\n    "react": "^18"\n  }\n}\n',
    "msbuild": '<Project>\n  <ItemGroup>\n    <PackageReference Include="A" Version="1" />\n'
    "  </ItemGroup>\n</Project>\n",
    "setup.py": 'from setuptools import setup\nsetup(name="p", install_requires=["requests", "numpy>=1"])\n',
}


def main() -> None:
    """Make, pull, run, and print seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--manifests", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="groundup-dibench-") as folder:
        work = Path(folder)
        names = make(work, arguments.instances, arguments.manifests)
        (work / "names.jsonl").write_bytes(snapshot_lines(names))
        settings = Settings(
            cache_dir=work / "cache", output=work / "runs", registry=str(work / "names.jsonl"), jobs=arguments.jobs
        )
        take_folder("dibench", work / "data", settings)
        predictions = Predictions(path=str(work / "predictions"))
        for name, source in (("oracle", References(which="oracle")), ("predictions", predictions)):
            for grader in ("strict", "official"):
                evaluate(f"{name}, {grader}", source, grader, settings)


def evaluate(name: str, source: SubmissionsFrom, grader: str, settings: Settings) -> None:
    """Run once and print how long it took."""
    configuration = RunConfiguration(suite="dibench", submissions=source, grader=grader)
    options = RunOptions(jobs=settings.jobs, use_cache=False)
    started, worked = time.monotonic(), time.process_time()
    result = api.NewRun(configuration, options, settings, run_id=name.replace(", ", "-")).work()
    passed, busy = time.monotonic() - started, time.process_time() - worked
    print(f"{name:<24}{result.standing.settled:>6} graded in {passed:6.1f} s, processor {busy:6.1f} s")


def make(work: Path, count: int, cache: Path | None) -> list[Listing]:
    """Write the dataset and predictions; return what a registry would say."""
    from datetime import UTC, datetime

    lines, names = [], {}
    for number, (path, kind, language, suffix, text) in enumerate(islice(contents(cache), count)):
        known = FORMATS[kind]
        data = text.encode()
        present = known.read(data, path).dependencies
        masked = known.mask(data, path).decode()
        partly = known.write(data, [item for at, item in enumerate(present) if at % 3], path).decode()
        own = f"made_{number:04}"
        repository = work / "data/repo-data" / language / own
        for file in range(60):
            place = repository / f"src/part{file}{suffix}"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"line {file}\n" * 120)
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_bytes(masked.encode())
        prediction = work / "predictions" / language / own
        prediction.mkdir(parents=True)
        (prediction / "patch.diff").write_bytes(patch(path, masked, partly).encode())
        row = {"instance_id": own, "metadata": {}, "language": language, "act_command": "act", "ci_file": "ci.yml"}
        row |= {"patch": patch(path, masked, text), "build_files": [path], "env_specs": {}}
        lines.append(json.dumps(row))
        for item in present:
            asked = package_name(item)
            if asked is not None:
                listing = {"ecosystem": asked.ecosystem, "name": asked.name, "exists": True, "versions": ["1.0.0"]}
                names[asked] = Listing.model_validate(listing | {"fetched_at": datetime.now(UTC)})
    (work / "data/dataset-dibench-regular.jsonl").write_text("\n".join(lines))
    return list(names.values())


def contents(cache: Path | None) -> Iterator[tuple[str, str, Language, str, str]]:
    """Yield path, format, language, source suffix and content of build files, again and again."""
    found = []
    for kind, language, suffix in _KINDS:
        files = sorted((cache / kind).rglob("*")) if cache else []
        for file in [file for file in files if file.is_file()]:
            path = Path(*file.relative_to(cache / kind).parts[1:]).as_posix() if cache else ""
            data = file.read_bytes()
            if usable(kind, data, path):
                found.append((path, kind, language, suffix, data.decode()))
        if not files:
            path = "App.csproj" if kind == "msbuild" else kind
            found.append((path, kind, language, suffix, _MADE[kind]))
    spread = sorted(range(len(found)), key=lambda at: at * 7919 % len(found))
    return cycle([found[at] for at in spread])


def usable(kind: str, data: bytes, path: str) -> bool:
    """Whether a manifest declares something that masking takes out, and is plain text with line feeds."""
    try:
        text = data.decode()
        masked = FORMATS[kind].mask(data, path)
        present = FORMATS[kind].read(data, path).dependencies
        FORMATS[kind].write(data, [item for at, item in enumerate(present) if at % 3], path)
    except (ManifestError, UnicodeDecodeError):
        return False
    return masked != data and "\r" not in text and text.endswith("\n")


def patch(path: str, before: str, after: str) -> str:
    """Return a unified diff."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{path}")
    )


if __name__ == "__main__":
    main()
