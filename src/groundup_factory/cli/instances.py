"""`groundup curate locate`, `instance` and `validate`: DI-Bench's instances of repositories."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.api.flags import BaseUrl, Jobs, ModelName, Tasks, names
from groundup.cli.options import Examples, Json

if TYPE_CHECKING:
    from groundup.manifests.records import DependencyKind, Language
    from groundup_factory.instances.locating import JobCandidate, Located
    from groundup_factory.instances.validity import Validation

EXAMPLES: dict[str, Examples] = {
    "curate locate": (
        ("Which CI job runs the tests of this repository?", "groundup curate locate ."),
        ("Of a public repository", "groundup curate locate github.com/un33k/python-slugify"),
        ("With a model's second opinion", "groundup curate locate . -m openai/gpt-5-mini"),
        ("For programs, with all candidates", "groundup curate locate . --json"),
    ),
    "curate instance": (
        (
            "A DI-Bench instance of a public repository",
            "groundup curate instance github.com/un33k/python-slugify -l python -o my-set",
        ),
        (
            "Of one commit, with a job of your own choice",
            "groundup curate instance . -l rust --commit 6fd031c --workflow .github/workflows/ci.yml --job test "
            "--leg build:stable -o my-set",
        ),
        (
            "Only if it can be executed here, with another job if need be",
            "groundup curate instance github.com/un33k/python-slugify -l python -o my-set --validate",
        ),
    ),
    "curate validate": (
        ("Which Python instances can be executed here?", "groundup curate validate dibench --tasks python"),
        ("One of them, tried anew", "groundup curate validate dibench --tasks my-instance --again"),
        ("Then run those that can", "groundup run dibench -a static --grader execution --tasks valid"),
    ),
}


_SHOWN = 5
_Repository = Annotated[
    str, typer.Argument(metavar="REPOSITORY", help="A folder, a Git directory, an address, or host/owner/name.")
]
_Commit = Annotated[str | None, typer.Option(help="Which commit (default: HEAD).")]


@dataclass(frozen=True)
class JobChoice:
    """Which job is the instance's."""

    workflow: Annotated[str | None, typer.Option(help="The workflow file (default: as located).")] = None
    job: Annotated[str | None, typer.Option(help="The job in it (default: as located).")] = None
    leg: Annotated[
        list[str] | None,
        typer.Option(help="KEY:VALUE of the job's matrix; can be repeated (default: as located)."),
    ] = None


@dataclass(frozen=True)
class InstanceDetails:
    """What an instance is made of, and how it is called."""

    commit: _Commit = None
    name: Annotated[str | None, typer.Option(help="The instance's id (default: owner_name).")] = None
    kinds: Annotated[
        list[str] | None,
        typer.Option(metavar="KINDS", help="Kinds of dependencies to take out, such as `runtime,optional`."),
    ] = None
    validate: Annotated[
        bool,
        typer.Option(
            "--validate", help="Execute it first, and take a runner-up of its jobs where it shows nothing."
        ),
    ] = False
    times: Annotated[
        int,
        typer.Option("--times", "-k", min=1, help="With --validate: how often the original, and its masked form."),
    ] = 3


def locate(
    repository: _Repository,
    commit: _Commit = None,
    model: Annotated[ModelName, "PROVIDER/MODEL for a second opinion; its key comes from the environment."] = None,
    base_url: BaseUrl = None,
    json: Json = False,
) -> int:
    """Find the workflow file and the job that run the tests of REPOSITORY, and the leg of its matrix.

    Runs nothing, and fetches called workflows of other repositories. A folder is read as it lies there, unless
    --commit is given.
    """
    import asyncio

    from groundup.cli.console import print_document, say
    from groundup.settings import load
    from groundup_factory.instances.repositories import locate_in

    found = asyncio.run(locate_in(repository, commit, load(), model, base_url))
    for sentence in found.unread:
        say(f"groundup: {sentence}")
    if json:
        print_document(found)
    else:
        _print(found)
    return 0


def _print(found: "Located") -> None:
    from groundup.cli.console import print_table, say

    best = found.best
    opinion = found.opinion
    if opinion is not None:
        said = f"{opinion.workflow}: {opinion.job}" if opinion.job else "none"
        say(f"groundup: {opinion.model} {'agrees' if opinion.agrees else 'differs'}: {said}; {opinion.reason}")
    if best is None:
        say(f"groundup: {found.nothing}")
        return
    for sentence in found.unseen:
        say(f"groundup: {sentence}")
    typer.echo(f"{best.workflow}  job {best.job}  {_leg(best)}")
    if best.through:
        typer.echo(f"  calls {best.through}")
    for command in best.commands:
        typer.echo(f"  runs {command}")
    for hindrance in (*_refused(best), *best.lacks, *best.hindrances):
        typer.echo(f"  but {hindrance}")
    for reason in best.reasons:
        typer.echo(f"  {reason}")
    others = found.candidates[1:_SHOWN]
    if others:
        rows = [(f"{one.score:.1f}", one.workflow, one.job, _leg(one), _why(one)) for one in others]
        print_table("\nrunners-up", ("points", "workflow", "job", "leg", "what speaks against it"), rows)


def _leg(candidate: "JobCandidate") -> str:
    return ", ".join(f"{key}: {value}" for key, value in candidate.leg.items()) or "no matrix"


def _why(candidate: "JobCandidate") -> str:
    against = (*_refused(candidate), *(reason for reason in candidate.reasons if reason.startswith("-")))
    return "; ".join(against) or "-"


def _refused(candidate: "JobCandidate") -> tuple[str, ...]:
    return (f"cannot be run here: {candidate.refused}",) if candidate.refused else ()


def instance(
    repository: _Repository,
    choice: JobChoice,
    language: Annotated[
        str, typer.Option("--language", "-l", help="python, rust, javascript or csharp: whose build files.")
    ],
    output: Annotated[Path, typer.Option("--to", "-o", metavar="FOLDER", help="Where the instance is added.")],
    details: InstanceDetails,
    json: Json = False,
) -> int:
    """Make a DI-Bench instance of REPOSITORY: dependencies masked, the patch that restores them, and its CI job.

    FOLDER gets the masked repository and a line in a JSONL file, for `groundup data pull dibench --from FOLDER`.
    With --validate only if the original passes here and the masked repository fails.
    """
    import asyncio

    from groundup.cli.console import print_document, say
    from groundup.settings import load
    from groundup_factory.instances.making import InstanceRequest, add_instance

    wanted = InstanceRequest(
        repository=repository,
        commit=details.commit,
        language=_language(language),
        name=details.name,
        workflow=choice.workflow,
        job=choice.job,
        leg=_pairs(choice.leg or []),
        kinds=_kinds(details.kinds),
        times=details.times if details.validate else 0,
    )
    made = asyncio.run(add_instance(wanted, output, load(), lambda line: say(f"groundup: {line}")))
    if json:
        print_document(made)
    for better in made.job.passed_over[:_SHOWN]:
        say(f"groundup: passed over {better}")
    if made.job.hindered:
        say(f"groundup: scored by its text only, because the job cannot be run here: {made.job.hindered}")
    masked = sum(len(file.dependencies) for file in made.report.masked)
    taken = f"{masked} {'dependency' if masked == 1 else 'dependencies'} taken out of"
    files = ", ".join(made.instance.build_files)
    say(f"groundup: {made.instance.instance_id}: {taken} {files}; {made.instance.act_command}")
    if made.lacking:
        say(f"groundup: without {', '.join(made.lacking[:_SHOWN])}, which the mirror does not hold")
    for removed in made.report.removed:
        say(f"groundup: {removed} was removed, because it gives the answer away; the job must not need it")
    for leak in made.report.leaks[:_SHOWN]:
        say(f"groundup: {leak.path}:{leak.line} still names {leak.name}")
    return 0


def _language(text: str) -> "Language":
    from groundup.domain.errors import UsageError
    from groundup.domain.names import unknown
    from groundup.suites.dibench.dataset import LANGUAGES

    for known in LANGUAGES:
        if text.lower() == known:
            return known
    raise UsageError(unknown("language", text, LANGUAGES))


def _pairs(given: list[str]) -> dict[str, str] | None:
    from groundup.domain.errors import UsageError

    pairs = {}
    for text in given:
        key, colon, value = text.partition(":")
        if not colon or not key:
            raise UsageError(f"{text!r} pins no key of a matrix; write KEY:VALUE, such as python-version:3.12")
        pairs[key] = value
    return pairs or None


def _kinds(given: list[str] | None) -> "frozenset[DependencyKind] | None":
    from groundup.domain.errors import UsageError
    from groundup.domain.names import unknown
    from groundup.manifests.records import DependencyKind

    found = names(given, "--kinds")
    if found is None:
        return None
    known = {kind.value: kind for kind in DependencyKind}
    for one in found:
        if one not in known:
            raise UsageError(unknown("kind of dependency", one, known))
    return frozenset(known[one] for one in found)


def validate(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="A suite that executes (dibench).")],
    tasks: Annotated[Tasks, "Tasks or groups; can be repeated."] = None,
    times: Annotated[
        int, typer.Option("--times", "-k", min=1, help="Times that each submission is executed.")
    ] = 3,
    jobs: Annotated[Jobs, "Tasks at once."] = None,
    again: Annotated[bool, typer.Option("--again", help="Also tasks that were validated before.")] = False,
    json: Json = False,
) -> int:
    """Execute each task's original, which must pass, and its empty submission, which must fail.

    Tasks that pass this form the group `valid`. A failure of the machine or the network proves nothing about a
    task: the exit code is 3, and the next call tries again.
    """
    import asyncio
    from collections import Counter

    from groundup.cli.console import print_document, say
    from groundup.settings import load
    from groundup_factory.instances.trials import validate as validated

    def tell(one: "Validation") -> None:
        say(f"{one.task}: {one.standing}" + (f": {one.why}" if one.why else ""))

    wanted = names(tasks, "--tasks") or ()
    found = asyncio.run(validated(suite, wanted, load({"jobs": jobs}), times=times, again=again, progress=tell))
    counts = Counter(one.standing for one in found)
    if json:
        print_document({"counts": dict(counts), "tasks": [one.model_dump(mode="json") for one in found]})
    say("groundup: " + ", ".join(f"{count} {standing}" for standing, count in sorted(counts.items())))
    return 3 if counts["infrastructure"] else 0
