"""RepoGenesis: API coverage and counts as groundup computes them, beside the published functions.

    python -m benchmarks.repogenesis_agreement --checkout PATH [--random 300]

PATH is a checkout of the published repository, or of its folder RepoGenesis. Compared are, for every README with
shipped references and a submission per framework and style, and for random READMEs with random submissions:
which endpoints the harness and the older scripts extract and find; for all hidden tests: how many tests, files,
lines and tokens they count; and for random results, how the harness's report averages and prints them. The
published functions are called as they are. Counting tests in Java needs the package javalang, as the published
script does.
"""

import argparse
import ast
import contextlib
import importlib
import io
import os
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from groundup.suites.repogenesis.legacy_rules import Language, code_metrics, count_tests, legacy_coverage
from groundup.suites.repogenesis.official_rules import official_coverage
from groundup.suites.repogenesis.report_format import PublishedRepositoryResult, averages, summary_table

_REFERENCES = Path(__file__).parent.parent / "src/groundup/suites/repogenesis/oracles"

_STYLES = {
    "a comment": ("app.py", "# @app.get(\n# @app.post(\n# {paths}\n"),
    "Flask, one quote": ("app.py", "@app.route('{path}', methods=['POST'])\ndef f(): ...\n"),
    "Flask, two quotes": ("app.py", '@app.route("{path}", methods=["GET", "POST"])\ndef f(): ...\n'),
    "FastAPI": ("app.py", '@router.get("{path}")\ndef f(): ...\n@router.delete("{path}")\ndef g(): ...\n'),
    "Django": ("urls.py", "router.register(r'{path}', ViewSet)\n"),
    "Spring": ("A.java", '@GetMapping("{path}")\n@RequestMapping(value = "{path}", method = RequestMethod.PUT)\n'),
    "JAX-RS": ("A.java", '@Path("{path}")\nclass A {{\n@GET\npublic void a() {{ }}\n}}\n'),
    "JAX-RS at the end": ("A.java", "// {paths}\n@GET\n"),
    "Micronaut": ("A.java", '@Post("{path}") void a() {{ }}\n'),
    "Javalin": ("A.java", 'app.put("{path}", ctx -> {{ }});\n'),
    "tests only": ("tests/app.py", '@app.get("{path}")\n'),
    "another language": ("app.rb", '@app.get("{path}")\n'),
    "nothing": ("README.txt", ""),
}
_FRAGMENTS = (
    *(
        "GET",
        "post",
        "/",
        "/api",
        "/items-all",
        "{id}",
        "|",
        " | ",
        "`",
        "```",
        "\n",
        "\n\n",
        " - ",
        ":",
        "**",
        "<b>",
    ),
    *(
        ".get(",
        ".POST (",
        "methods=[",
        "methods = [ ",
        '"GET"',
        "'GET'",
        "@RequestMapping(",
        "method = RequestMethod.",
    ),
    *(
        "@Get(",
        "@GetMapping",
        "@GET",
        "@app.get",
        "router.",
        "* User Login",
        "- Health Check",
        "- Send",
        "items",
        "PUT",
    ),
)


def main() -> int:
    """Compare everything, print a line each, and fail on any difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, required=True)
    parser.add_argument("--random", type=int, default=300, help="random READMEs and submissions")
    options = parser.parse_args()
    root = options.checkout / "RepoGenesis" if (options.checkout / "RepoGenesis").is_dir() else options.checkout
    sys.path.insert(0, str(root))
    with tempfile.TemporaryDirectory() as work:
        readmes = dict(_readmes(root, options.random))
        submissions = dict(_submissions(Path(work), options.random, readmes))
        differences = [
            *_compared("official API coverage", _official, readmes, submissions, Path(work)),
            *_compared("legacy, behind the tables", _legacy(features=False), readmes, submissions, Path(work)),
            *_compared("legacy, with features", _legacy(features=True), readmes, submissions, Path(work)),
            *_counts(root),
            *_reports(options.random),
        ]
    for difference in differences[:20]:
        print("differs:", difference)
    return 1 if differences else 0


Figures = tuple[object, ...]
Comparison = Callable[[Path, Path], tuple[Figures, Figures]]


def _readmes(root: Path, count: int) -> Iterator[tuple[str, str]]:
    for path in sorted((root / "repo").glob("*/README.md")):
        yield path.parent.name, path.read_text(encoding="utf-8", errors="ignore")
    chance = random.Random(4)
    for number in range(count):
        yield f"random {number}", _mixture(chance)


def _mixture(chance: random.Random) -> str:
    return "".join(chance.choice(_FRAGMENTS) for _ in range(chance.randint(1, 60)))


def _submissions(work: Path, count: int, readmes: dict[str, str]) -> Iterator[tuple[str, Path]]:
    for reference in sorted(_REFERENCES.iterdir()) if _REFERENCES.is_dir() else ():
        if reference.is_dir():
            yield f"reference {reference.name}", reference
    paths = ("/api/v1/users/{id}", "/people", "/api/translate", "/results", "/projects")
    for number, (name, (file, text)) in enumerate(_STYLES.items()):
        folder = work / f"style-{number}"
        (folder / file).parent.mkdir(parents=True)
        body = "".join(text.format(path=path, paths=" ".join(paths)) for path in paths)
        (folder / file).write_text(body, encoding="utf-8")
        yield name, folder
    chance = random.Random(5)
    suffixes = (".py", ".java", ".ts", ".txt")
    for number in range(count):
        folder = work / f"random-{number}"
        folder.mkdir()
        for part in range(chance.randint(1, 3)):
            (folder / f"a{part}{chance.choice(suffixes)}").write_text(_mixture(chance), encoding="utf-8")
        yield f"random {number}", folder


def _compared(
    what: str, compare: Comparison, readmes: dict[str, str], submissions: dict[str, Path], work: Path
) -> list[str]:
    """Compare every real README with every submission that is not random, and random ones pairwise."""
    done = 0
    differences: list[str] = []
    place = work / "README.md"
    for readme, text in readmes.items():
        place.write_text(text, encoding="utf-8")
        for submission, folder in submissions.items():
            if readme.startswith("random") != submission.startswith("random"):
                continue
            if readme.startswith("random") and readme != submission:
                continue
            done += 1
            ours, theirs = compare(place, folder)
            if ours != theirs:
                differences.append(f"{what}: {readme} / {submission}: {ours} here, {theirs} published")
    print(f"{what:<28} {done - len(differences):>6} of {done} equal")
    return differences


def _official(readme: Path, submission: Path) -> tuple[Figures, Figures]:
    published = importlib.import_module("eval_harness.api_coverage")
    figures = published.calculate_repo_api_coverage(submission, readme)
    ours = official_coverage(readme.read_text(encoding="utf-8", errors="ignore"), submission)
    named = figures["endpoints"] or {"implemented": []}
    found = sorted(f"{one['method']} {one['path']}" for one in named["implemented"])
    return (len(ours.extracted), ours.score, sorted(map(str, ours.found))), (
        figures["total_apis"],
        figures["score"],
        found,
    )


def _legacy(*, features: bool) -> Comparison:
    name = "calculate_api_coverage" if features else "calculate_api_coverage_agents"

    def compare(readme: Path, submission: Path) -> tuple[Figures, Figures]:
        published = importlib.import_module(name)
        endpoints = published.extract_api_endpoints_from_readme(str(readme))
        found = sum(published.search_implementation(str(submission), one) for one in endpoints)
        text = readme.read_text(encoding="utf-8", errors="ignore")
        ours = legacy_coverage(text, submission, features=features)
        return (ours.total, ours.implemented), (len(endpoints), found)

    return compare


def _counts(root: Path) -> list[str]:
    differences: list[str] = []
    python = importlib.import_module("evaluate_repos")
    java = _java_functions(root)
    done = 0
    for task in sorted(path for path in (root / "repo").iterdir() if path.is_dir()):
        language: Language = "java" if (task / "pom.xml").is_file() else "python"
        script = python if language == "python" else java
        if script is None:
            continue
        tests = task / ("tests" if language == "python" else "src/test")
        done += 1
        ours, theirs = _counted(language, tests), _published_counts(script, language, tests)
        if ours != theirs:
            differences.append(f"counts: {task.name}: {ours} here, {theirs} published")
    print(f"{'tests, files, lines, tokens':<28} {done - len(differences):>6} of {done} equal")
    if java is None:
        print("tests in Java were not compared: the published script needs the package javalang")
    return differences


def _java_functions(root: Path) -> ModuleType | None:
    """Return the published functions that count Java; importing their script would install packages."""
    try:
        javalang = importlib.import_module("javalang")
    except ImportError:
        return None
    tree = ast.parse((root / "evaluate_repos_java.py").read_text(encoding="utf-8"))
    tree.body = [
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("count_")
    ]
    module = ModuleType("evaluate_repos_java")
    vars(module).update(os=os, re=re, javalang=javalang)
    exec(compile(tree, "evaluate_repos_java.py", "exec"), vars(module))  # the published code is what is compared
    return module


def _counted(language: Language, tests: Path) -> Figures:
    metrics = code_metrics(tests, language)
    return count_tests(tests, language), metrics.files, metrics.loc, metrics.tokens


def _published_counts(script: ModuleType, language: Language, tests: Path) -> Figures:
    with contextlib.redirect_stdout(io.StringIO()):
        if language == "python":
            return script.count_tests_ast(str(tests)), *script.count_lines_and_tokens(str(tests))
        return script.count_tests_java(str(tests)), *script.count_lines_and_tokens_java(str(tests))


def _reports(count: int) -> list[str]:
    """Compare summaries and tables of reports on random results."""
    published = importlib.import_module("eval_harness.reporting")
    chance = random.Random(6)
    differences = []
    for number in range(count):
        entries = [_entry(chance) for _ in range(chance.randint(1, 12))]
        results = [PublishedRepositoryResult.model_validate(entry) for entry in entries]
        ours = averages(results).model_dump(), summary_table(results)
        if ours != (published.compute_summary(entries), published.format_summary_table(entries)):
            differences.append(f"report {number}: {entries}")
    print(f"{'reports: averages, tables':<28} {count - len(differences):>6} of {count} equal")
    return differences


def _entry(chance: random.Random) -> dict[str, object]:
    passed, failed, errors, endpoints = (chance.randint(0, 4) for _ in range(4))
    total, found = passed + failed + errors, chance.randint(0, endpoints)
    tests = {"passed": passed, "failed": failed, "errors": errors, "skipped": 0, "total": total}
    entry: dict[str, object] = {
        "repo_name": f"r{chance.randint(0, 10 ** chance.choice((2, 40)))}",
        "lang": chance.choice(("python", "java")),
        "exit_code": 0,
        "dsr": {"success": chance.random() < 0.5, "message": ""},
        "pass_at_1": {**tests, "score": round(passed / total, 4) if total else 0.0},
    }
    if chance.random() < 0.8:
        score = round(found / endpoints, 4) if endpoints else 0.0
        entry["api_coverage"] = {"total_apis": endpoints, "implemented_apis": found, "score": score}
    return entry


if __name__ == "__main__":
    sys.exit(main())
