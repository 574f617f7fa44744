"""DI-Bench's Tables 2 to 7 and its figures for three scripted models, by one command.

    python -m benchmarks.paper_tables DATA --output FOLDER [--tasks NAMES] [--grader strict] [--jobs 2]

Each model knows the originals by heart and makes one kind of mistake in every second task of a language, in the
order of ids: *forgetful* leaves the first dependency of the first build file out, *careless* gives that one a
version that nobody published, *inventive* adds a name that nobody has. So what the tables must say is known:
textual figures follow from the counts of dependencies, and each ablation mends just one of the models. They are
asked over HTTP like any other, by the agent `all-in-one`, and graded by the repositories' own CI jobs. What is
handed in again, by another model or after an ablation, is not executed again: of 180 submissions about 50 differ.

DATA is a data set, such as `benchmarks.mini_set` makes. FOLDER gets a copy of it, the scripts, the runs, the
ablated predictions, `tables.md`, `report.json` and the plots. Interrupted, the same command goes on.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from unittest.mock import patch

from typing_extensions import override

import groundup
from groundup.agents.answers import fenced
from groundup.api.listings import statistics
from groundup.api.reports import report, write_plots
from groundup.domain.verdicts import Graded
from groundup.languages.formats import format_of
from groundup.manifests.records import Dependency, DependencySource
from groundup.runs.exporting import ablate
from groundup.settings import Settings, load
from groundup.store.folder import RunFolder
from groundup.store.verdict_cache import VerdictCache
from groundup.suites.dibench.ablations import ORACLE_METADATA, WITHOUT_FAKES
from groundup.suites.dibench.answers import declared, original
from groundup.suites.dibench.dataset import InstanceProblem, read_dataset
from groundup.suites.pulling import take_folder

ABSENT = "groundup-made-this-name-up"
UNPUBLISHED = {"python": "==99999.0", "rust": "=99999.0.0", "javascript": "99999.0.0", "csharp": "99999.0.0"}
"""Well-formed versions."""
Mistake = Callable[[Sequence[Dependency]], Sequence[Dependency]]


def forgetful(wanted: Sequence[Dependency]) -> Sequence[Dependency]:
    """Leave the first one out."""
    return wanted[1:]


def careless(wanted: Sequence[Dependency]) -> Sequence[Dependency]:
    """Give the first one from a registry a version that nobody published."""
    found = next((one for one in wanted if one.source is DependencySource.REGISTRY), None)
    if found is None:
        return wanted
    wrong = found.but(constraint=UNPUBLISHED[found.language], text="")
    return [wrong if one is found else one for one in wanted]


def inventive(wanted: Sequence[Dependency]) -> Sequence[Dependency]:
    """Add a name that nobody has."""
    first = wanted[0]
    constraint = "" if first.language == "python" else "1.0.0"
    return [
        *wanted,
        Dependency(
            language=first.language, name=ABSENT, normalised=ABSENT, constraint=constraint, kind=first.kind
        ),
    ]


MODELS: Mapping[str, Mistake] = {"forgetful": forgetful, "careless": careless, "inventive": inventive}


def mistaken(problems: Iterable[InstanceProblem]) -> set[str]:
    """Return the ids of every second problem of each language."""
    by_language: dict[str, list[str]] = {}
    for problem in sorted(problems, key=lambda one: one.id):
        by_language.setdefault(problem.instance.language, []).append(problem.id)
    return {name for names in by_language.values() for name in names[1::2]}


def script(problems: Sequence[InstanceProblem], mistake: Mistake) -> dict[str, object]:
    """Return a scripted model that answers each problem's question with its build files."""
    wrong = mistaken(problems)
    conversations = []
    for problem in problems:
        masked = max((problem.read(path) or b"" for path in problem.instance.build_files), key=len)
        said = "\n".join(_files(problem, mistake if problem.id in wrong else None))
        conversations.append({"when": re.escape(masked.decode().strip()), "turn": [{"content": said}]})
    return {"conversation": conversations, "turn": [{"content": "I do not know."}], "then": "repeat"}


def _files(problem: InstanceProblem, mistake: Mistake | None) -> Iterator[str]:
    """Yield the build files as blocks of a reply; *mistake* is made in the first one with something masked."""
    whole = original(problem)
    for path in problem.instance.build_files:
        data, known = whole(path) or b"", format_of(path)
        masked = {one.identity for one in declared(path, problem.read, problem)}
        present = known.read(data, path).dependencies if known else ()
        wanted = [one for one in present if one.identity not in masked]
        if mistake is not None and known is not None and wanted:
            kept = [one for one in present if one.identity in masked]
            data = known.write(data, [*kept, *mistake(wanted)], path)
            mistake = None
        yield fenced(path, data.decode())


class SharedVerdicts(VerdictCache):
    """Keeps what groundup would execute again, such as timeouts: here a submission has one verdict."""

    def __init__(self, folder: Path, _root: Path, warn: Callable[[str], None]) -> None:
        """Keep it in *folder*, with the tables."""
        super().__init__(folder, warn)

    @override
    def keep(self, key: Mapping[str, object], graded: Graded) -> None:
        """Keep every verdict that settles its attempt."""
        super().keep(key, graded.but(verdict=graded.verdict.but(cacheable=True)))


def settled(folder: Path, begin: Callable[[], groundup.Run], settings: Settings) -> None:
    """Begin the run in *folder*, or finish what it owes. Ends the program where it still owes something."""
    run = groundup.resume(folder, settings=settings) if folder.is_dir() else begin()
    if left := run.pending + run.ungraded:
        raise SystemExit(f"{folder} owes {left} attempts: run the same command again")


def make(
    data: Path, output: Path, tasks: Sequence[str] | None, grader: str, settings: Settings, jobs: int = 2
) -> list[Path]:
    """Run the three models, ablate what they handed in, grade that, and return the folders of the runs."""
    if not (settings.data / "dibench").is_dir():
        take_folder("dibench", data, settings, unpack=True)
    problems = read_dataset(data).problems
    chosen = [one for one in problems if tasks is None or one.id in tasks]
    ids = [one.id for one in chosen]
    found = []
    for name, mistake in MODELS.items():
        model = output / f"{name}.json"
        model.write_text(json.dumps(script(chosen, mistake)), encoding="utf-8")
        run = settings.output / name
        asked = partial(groundup.run, "dibench", "all-in-one", model=f"scripted/{model}", run_id=name)
        settled(run, partial(asked, tasks=ids, grader=grader, jobs=jobs, settings=settings), settings)
        found.append(run)
        for ablation in (ORACLE_METADATA, WITHOUT_FAKES):
            changed, again = output / f"{name}-{ablation}", settings.output / f"{name}-{ablation}"
            if not changed.is_dir():
                ablate(RunFolder(run), ablation, changed, settings)
            judged = partial(groundup.evaluate, "dibench", changed, run_id=again.name)
            settled(again, partial(judged, tasks=ids, grader=grader, jobs=jobs, settings=settings), settings)
            found.append(again)
    return found


def main() -> int:
    """Make the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--tasks", help="ids, separated by commas (default: all)")
    parser.add_argument("--grader", default="execution")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", type=Path, help="groundup's cache, for what the jobs download")
    given = parser.parse_args()
    output = given.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    changes = {"data_dir": output / "data", "output": output / "runs", "git_mirror": None}
    settings = load(changes | ({"cache_dir": given.cache.resolve()} if given.cache else {}))
    tasks = given.tasks.split(",") if given.tasks else None
    with patch("groundup.runs.execution.VerdictCache", partial(SharedVerdicts, output / "verdicts")):
        runs = make(given.data, output, tasks, given.grader, settings, given.jobs)
    _, numbers = statistics("dibench", settings=settings)
    made = report(*runs, layout="paper", settings=settings)
    rows = [numbers.columns, ("---",) * len(numbers.columns), *numbers.rows]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    notes = "\n".join(f"- {note}" for note in numbers.notes)
    text = f"## {numbers.headline}\n\n{table}\n\n{notes}\n\n{made.markdown()}"
    (output / "tables.md").write_text(text, encoding="utf-8")
    (output / "report.json").write_text(made.model_dump_json(indent=1), encoding="utf-8")
    plots = write_plots(made, output / "plots")
    print(f"{text}\n{len(plots)} plots in {output / 'plots'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
