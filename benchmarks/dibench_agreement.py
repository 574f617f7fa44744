"""Compare `official` with the published code itself, side by side, on real manifests.

    python -m benchmarks.dibench_agreement --checkout DI-BENCH --interpreter VENV/bin/python [CACHE]

CHECKOUT is a checkout of the benchmark's repository, which is imported by VENV (Python 3.10 or 3.11 with toml,
tomlkit, requests, poetry-core<2, termcolor, tree-sitter 0.21, tree_sitter_languages, lxml, packaging, pip<25,
docker, tabulate, rich, alive-progress). CACHE is what `gather_manifests.py` filled; without it, the forty
predictions of the tests, and the hundred that arithmetic counts. Only the textual part is called; its
look-ups in registries are answered with no.

For each manifest there are up to six predictions: the original itself, the masked file, every third dependency
missing, every second version changed, one invented name more, and a file that ends in the middle.
"""

import argparse
import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypedDict

from tests.suites.dibench import changed_lists
from tests.suites.dibench.predictions import LANGUAGES, table

from groundup.languages.formats import FORMATS
from groundup.manifests.records import Dependency, DependencyKind, Language, ManifestError
from groundup.suites.dibench.published import PublishedFailureError, Reader, official_comparison

_FORMATS: dict[str, Language] = {
    "pyproject.toml": "python",
    "setup.py": "python",
    "setup.cfg": "python",
    "requirements.txt": "python",
    "Cargo.toml": "rust",
    "package.json": "javascript",
    "msbuild": "csharp",
}
_DRIVER = """
import io, json, sys, contextlib, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from types import SimpleNamespace
import tempfile
from dibench.evaluate.evaluator import BuildEvaluator
import dibench.utils.buildfile as b
python = (b.PEP621Compliant, b.Pip, b.Poetry, b.SetupTools)
for one in (*python, b.RustBuildFile, b.CSharpBuildFile, b.JavaScriptBuildFile):
    one.is_fake_lib = classmethod(lambda cls, dependency, **more: False)
def answer(case):
    with tempfile.TemporaryDirectory() as folder:
        roots = [Path(folder, "o"), Path(folder, "m")]
        for root, files in zip(roots, (case["original"], case["predicted"])):
            for path, text in files.items():
                place = root / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(bytes.fromhex(text))
        evaluator = object.__new__(BuildEvaluator)
        paths = list(case["original"])
        evaluator.instance = SimpleNamespace(language=case["language"], build_files=paths)
        evaluator.logger = None
        evaluator.oracle_root, evaluator.model_root = roots
        parse = evaluator._BuildEvaluator__parse_dependencies
        try:
            wanted = parse(roots[0])
            assert paths == list(wanted)
        except BaseException as error:
            return {"raises": f"{type(error).__name__}: {error}"[:200]}
        try:
            found = parse(roots[1])
        except Exception:
            found = {path: [] for path in paths}
        evaluator._text_eval(oracle_dependencies=wanted, model_dependencies=found)
        made = evaluator.text_result
        return {name: [made[name][key] for key in ("TP", "FP", "FN")] for name in ("exact", "name_only")}
BuildEvaluator.__del__ = lambda self: None
for line in sys.stdin:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        made = answer(json.loads(line))
    print(json.dumps(made), flush=True)
"""


class Case(TypedDict):
    """One prediction: contents by path, in hexadecimal digits."""

    format: str
    language: Language
    origin: str
    kind: str
    original: dict[str, str]
    predicted: dict[str, str]


def main() -> None:
    """Print how often both say the same, and what differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, required=True)
    parser.add_argument("--interpreter", type=Path, required=True)
    parser.add_argument("--per-format", type=int, default=100)
    parser.add_argument("--show", type=int, default=10, help="differences")
    parser.add_argument("cache", type=Path, nargs="?")
    arguments = parser.parse_args()
    cases = list(cases_of(arguments.cache, arguments.per_format) if arguments.cache else cases_by_hand())
    theirs = published(cases, arguments.interpreter, arguments.checkout)
    counts: Counter[tuple[str, str]] = Counter()
    shown = 0
    for case, their in zip(cases, theirs, strict=True):
        our = ours(case)
        verdict = compared(our, their)
        counts[case["format"], verdict] += 1
        if verdict == "differs" and shown < arguments.show:
            shown += 1
            print(f"{case['origin']} ({case['kind']})\n  published {their}\n  official  {our}")
    verdicts = ("same counts", "both fail", "differs")
    print(f"{'format':<18}{'manifests':>10}{'cases':>8}" + "".join(f"{name:>14}" for name in verdicts))
    for name in dict.fromkeys(case["format"] for case in cases):
        of_format = [case for case in cases if case["format"] == name]
        manifests = len({case["origin"] for case in of_format})
        cells = "".join(f"{counts[name, verdict]:>14}" for verdict in verdicts)
        print(f"{name:<18}{manifests:>10}{len(of_format):>8}{cells}")


def cases_of(cache: Path, most: int) -> Iterator[Case]:
    """Yield original and predicted content of each manifest and kind of prediction."""
    for name, language in _FORMATS.items():
        files = sorted(path for path in (cache / name).rglob("*") if path.is_file())
        for file in files[:most]:
            relative = Path(*file.relative_to(cache / name).parts[1:]).as_posix()
            data = file.read_bytes()
            for kind, predicted in predictions(name, language, data, relative):
                yield {
                    "format": name,
                    "language": language,
                    "origin": str(file.relative_to(cache)),
                    "kind": kind,
                    "original": {relative: data.hex()},
                    "predicted": {relative: predicted.hex()},
                }


def cases_by_hand() -> Iterator[Case]:
    """Yield the predictions of the tests."""
    for language in LANGUAGES:
        about = table(language)
        for row in about.prediction:
            yield {
                "format": language,
                "language": language,
                "origin": language,
                "kind": row.what,
                "original": {path: text.encode().hex() for path, text in about.original.items()},
                "predicted": {path: text.encode().hex() for path, text in about.written(row).items()},
            }
    for name, number, handed_in, _ in changed_lists.CASES:
        of_list = changed_lists.LANGUAGES[name]
        original, predicted = (of_list.written(items).encode().hex() for items in (of_list.original, handed_in))
        yield {
            "format": f"{name}, lists",
            "language": name,
            "origin": name,
            "kind": f"list {number}",
            "original": {of_list.path: original},
            "predicted": {of_list.path: predicted},
        }


def predictions(name: str, language: Language, data: bytes, path: str) -> Iterator[tuple[str, bytes]]:
    """Yield predictions that somebody could make of this manifest."""
    known = FORMATS[name]
    yield "original", data
    yield "cut off", data[: len(data) // 2]
    try:
        present = list(known.read(data, path).dependencies)
        yield "masked", known.mask(data, path)
        yield "some missing", known.write(data, [item for at, item in enumerate(present) if at % 3], path)
        changed = [
            item.but(constraint="==9.9") if at % 2 and language == "python" else item
            for at, item in enumerate(present)
        ]
        yield "versions", known.write(data, changed, path)
        more = Dependency(
            language=language, name="made-up", normalised="made-up", constraint="1", kind=DependencyKind.RUNTIME
        )
        if language == "python":
            more = more.but(constraint=">=1")
        yield "invented", known.write(data, [*present, more], path)
    except ManifestError:
        return


def published(cases: list[Case], interpreter: Path, checkout: Path) -> list[dict[str, object]]:
    """Ask the published code about all cases."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    result = subprocess.run(
        [interpreter, "-c", _DRIVER, checkout], input=lines.encode(), capture_output=True, check=False
    )
    answers: list[dict[str, object]] = [json.loads(line) for line in result.stdout.splitlines()]
    if len(answers) != len(cases):
        raise SystemExit(f"the published code ended after {len(answers)} cases: {result.stderr.decode()[-600:]}")
    return answers


def ours(case: Case) -> dict[str, object]:
    """Return the official counts of a case."""

    def reader(files: Mapping[str, str]) -> Reader:
        def read(path: str) -> bytes:
            if path not in files:
                raise FileNotFoundError(path)
            return bytes.fromhex(files[path])

        return read

    try:
        found = official_comparison(
            case["language"], list(case["original"]), reader(case["original"]), reader(case["predicted"])
        )
    except PublishedFailureError as error:
        return {"raises": str(error)[:200]}
    assert found is not None
    return {
        name: [counts.true_positives, counts.false_positives, counts.false_negatives]
        for name, counts in (("exact", found.exact), ("name_only", found.name_only))
    }


def compared(our: dict[str, object], their: dict[str, object]) -> str:
    """Say how two answers relate."""
    if "raises" in our and "raises" in their:
        return "both fail"
    return "same counts" if our == their else "differs"


if __name__ == "__main__":
    main()
