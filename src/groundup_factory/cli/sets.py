"""`groundup curate set`, `yield`, `why`, `pack` and `refresh`: sets of tasks from lists of repositories."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.api.flags import (
    BaseUrl,
    Jobs,
    MaxCost,
    ModelName,
    PriceOfTokens,
    Prices,
    Workers,
    money,
    refuse_wrong_prices,
)
from groundup.api.flags import names as listed_names
from groundup.cli.options import Examples, Json, time_option

if TYPE_CHECKING:
    from groundup_factory.filters import FilterRules
    from groundup_factory.sets import SetRequest, SetYield
    from groundup_factory.spending import SetModel
    from groundup_factory.yields import SetReport

EXAMPLES: dict[str, Examples] = {
    "curate set": (
        (
            "From packages, a folder and a repository",
            "groundup curate set inflection ./my-lib github.com/Suor/funcy -o my-set",
        ),
        (
            "Services of RepoGenesis' kind",
            "groundup curate set github.com/owner/name --kind service -o my-services",
        ),
        (
            "Instances of DI-Bench from a repository",
            "groundup curate set github.com/un33k/python-slugify --kind dibench -o my-set",
        ),
        (
            "On a fleet's nodes",
            "groundup curate set --list found.jsonl --kind dibench -o my-set --workers fleet.json",
        ),
        ("From a list; the same command continues", "groundup curate set --list libraries.txt -o my-set --jobs 2"),
        (
            "Only new ones with a free licence, from a list that a search printed",
            "groundup curate set --list found.jsonl --kind dibench --since 2026-01-01 --licence MIT,ISC -o my-set",
        ),
        (
            "Try a rejected one again, with half of its tests",
            "groundup curate set natsort -o my-set --again --left-out 0.5",
        ),
        (
            "Let a model write the specifications",
            "groundup curate set inflection -o my-set -m openai/gpt-5-mini --rounds 4",
        ),
        (
            "... for at most 2 dollars in all",
            "groundup curate set inflection -o my-set -m openai/gpt-5-mini --price 0.25:2 --max-cost 2",
        ),
        ("Record the digest of a specification that you edited", "groundup curate set -o my-set"),
        ("For programs", "groundup curate set --list libraries.txt -o my-set --json"),
    ),
    "curate yield": (
        ("How many passed each step, and why did the others not?", "groundup curate yield my-set"),
        ("The survivors of each step as a picture", "groundup curate yield my-set --plot yield.svg"),
        ("For programs", "groundup curate yield my-set --json"),
    ),
    "curate why": (("Why is it not in the set?", "groundup curate why my-set natsort"),),
    "curate pack": (("Write an archive to give away", "groundup curate pack my-set -o my-set-1.tar.gz"),),
    "curate refresh": (
        ("Make next month's version", "groundup curate refresh my-set -o my-set-2"),
        ("With one library more", "groundup curate refresh my-set toolz -o my-set-2 --version 2026.12"),
    ),
}
NOTHING_ACCEPTED = 4
_FILTERS = "Which repositories"


@dataclass(frozen=True)
class SetRules:
    """How entries become tasks."""

    left_out: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="The share of a library's tests that may fail, be skipped or not be collected."
        ),
    ] = 0.2
    python: Annotated[
        str | None, typer.Option(help="Python version of all libraries, such as 3.11 (default: one that fits).")
    ] = None
    times: Annotated[
        int,
        typer.Option("--times", "-k", min=1, help="How often originals, and masked forms, are executed."),
    ] = 3
    mutants: Annotated[
        int, typer.Option(min=1, help="Changes of a service that are tried; its tests must notice half of them.")
    ] = 12
    model: Annotated[
        ModelName, "PROVIDER/MODEL that writes libraries' specifications (default: extracted ones)."
    ] = None
    base_url: BaseUrl = None
    max_cost: Annotated[
        MaxCost, "Most that the model may cost for the set in all, in USD; needs --price or --prices."
    ] = None
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Most tokens of the model for the set in all, input and output.")
    ] = None
    prices: Prices = None
    price: PriceOfTokens = None
    rounds: Annotated[int, typer.Option(min=1, help="How often the model may correct what the checks found.")] = 3
    minutes: Annotated[
        float,
        typer.Option(
            parser=partial(time_option, unit="m", least=0.1),
            metavar="TIME",
            help="Minutes, or such as 90s, after which an entry is given up.",
        ),
    ] = 30
    hours: Annotated[
        float | None,
        typer.Option(
            "--time",
            metavar="TIME",
            parser=partial(time_option, unit="h", with_unit=True),
            help="For all of it, such as 8h or 90m; the same command goes on later.",
        ),
    ] = None
    jobs: Annotated[Jobs, "Entries at once (default: 1)."] = None
    again: Annotated[bool, typer.Option("--again", help="Try entries again that were rejected before.")] = False


@dataclass(frozen=True)
class SetFilters:
    """Which repositories are taken; what is not known of one is not held against it."""

    language: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            rich_help_panel=_FILTERS,
            help="Only these languages, such as `python,rust`, by most of the source.",
        ),
    ] = None
    licence: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERNS", rich_help_panel=_FILTERS, help="Only these licences, such as `MIT,BSD*,unknown`."
        ),
    ] = None
    min_lines: Annotated[
        int, typer.Option(min=0, rich_help_panel=_FILTERS, help="Least number of lines of source.")
    ] = 0
    max_lines: Annotated[
        int | None, typer.Option(min=0, rich_help_panel=_FILTERS, help="Largest number of lines of source.")
    ] = None
    min_tests: Annotated[
        int, typer.Option(min=0, rich_help_panel=_FILTERS, help="Least number of tests that the sources declare.")
    ] = 0
    ci: Annotated[bool, typer.Option("--ci", rich_help_panel=_FILTERS, help="Only with GitHub workflows.")] = False
    since: Annotated[
        str | None,
        typer.Option(
            metavar="DATE", rich_help_panel=_FILTERS, help="Only commits or releases of this day or later."
        ),
    ] = None
    until: Annotated[
        str | None,
        typer.Option(
            metavar="DATE", rich_help_panel=_FILTERS, help="Only commits or releases of this day or earlier."
        ),
    ] = None
    min_stars: Annotated[
        int, typer.Option(min=0, rich_help_panel=_FILTERS, help="Least number of stars, where the list has them.")
    ] = 0


@dataclass(frozen=True)
class SetNames:
    """How the set is called."""

    kind: Annotated[
        str | None,
        typer.Option(
            help="Kind of the tasks: `library`, `dibench` or `service` (default: the set's, else library)."
        ),
    ] = None
    name: Annotated[str | None, typer.Option(help="Name of the set (default: its folder's).")] = None
    version: Annotated[str | None, typer.Option(help="Version of the set (default: 1).")] = None


def make(
    output: Annotated[
        Path, typer.Option("--to", "-o", metavar="FOLDER", help="The set: a new folder, or one to continue.")
    ],
    rules: SetRules,
    filters: SetFilters,
    names: SetNames,
    repositories: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LIBRARY...",
            help="NAME[==VERSION] of the package index (libraries), ./FOLDER, or host/owner/name[@COMMIT].",
        ),
    ] = None,
    listed: Annotated[
        Path | None,
        typer.Option(
            "--list",
            metavar="FILE",
            help="More entries, one a line, # begins a comment; or JSON objects with `repository` or `full_name`, "
            "and optionally `commit`, `language`, `stars`.",
        ),
    ] = None,
    workers: Annotated[Workers, "Make entries on a fleet: its address, or its file (docs/fleet.md)."] = None,
    json: Json = False,
) -> int:
    """Make a set of tasks: of each LIBRARY a recipe and a specification, of a repository an instance or a service.

    Nothing published is needed. The same command continues after an interruption. Exit
    code 3: some failed by the machine or the network, or time or budget did not suffice; 4: nothing was accepted.
    """
    from groundup.cli.console import print_document, say
    from groundup.domain.errors import UsageError
    from groundup.suites.sets import SUITE_OF_KIND
    from groundup_factory.api import curate_set
    from groundup_factory.yields import yield_of

    kind = next((one for one in SUITE_OF_KIND if one == names.kind), None)
    if names.kind is not None and kind is None:
        raise UsageError(f"{names.kind!r} is no kind of set; choose one of {', '.join(SUITE_OF_KIND)}")
    entries = [*(repositories or ()), *(_lines(listed) if listed is not None else ())]
    request = replace(
        _request(entries, output, rules, filters),
        kind=kind,
        name=names.name,
        version=names.version,
    )

    def tell(task: str, line: str) -> None:
        say(f"{task}: {line}")

    try:
        made = curate_set(request, workers=workers, tell=tell)
    except KeyboardInterrupt:
        say(f"groundup: interrupted; {output} keeps what is finished; the same command continues")
        raise
    if json:
        print_document(made)
    else:
        _print(made)
        _print_yield(yield_of(output))
    return _said(made, output)


def _said(made: "SetYield", output: Path) -> int:
    """Say what was made, and return the exit code."""
    from groundup.cli.console import say

    if made.left:
        say(f"groundup: {made.why_left}; {made.left} entries are left, and the same command goes on with them")
    accepted = sum(one.standing == "accepted" for one in made.entries)
    say(f"groundup: {accepted} of {len(made.entries)} entries are tasks of {made.label} in {made.folder}")
    if accepted:
        place = output if "/" in str(output) else f"./{output}"
        say(f"groundup: it is a suite now: `groundup run {place} -a oracle`")
    pending = [one for one in made.entries if one.standing == "pending"]
    if pending:
        say(f"groundup: {len(pending)} are pending: {pending[0].why}")
    failed = made.left or any(one.is_unsettled for one in made.entries)
    return 3 if failed else 0 if accepted else NOTHING_ACCEPTED


def _request(entries: Sequence[str], folder: Path, rules: SetRules, filters: SetFilters) -> "SetRequest":
    from groundup_factory.recipes.unpublished import MakingRules
    from groundup_factory.sets import SetRequest

    return SetRequest(
        entries=entries,
        folder=folder,
        filters=_filter_rules(filters),
        rules=MakingRules(rules.left_out, rules.python, rules.rounds),
        model=_model(rules),
        times=rules.times,
        mutants=rules.mutants,
        jobs=rules.jobs or 1,
        minutes=rules.minutes,
        hours=rules.hours,
        again=rules.again,
    )


def _model(rules: SetRules) -> "SetModel | None":
    from groundup.domain.errors import UsageError
    from groundup_factory.spending import SetModel

    refuse_wrong_prices(rules.price, rules.prices)
    limit = money("--max-cost", rules.max_cost)
    if rules.model is None:
        if limit is not None or rules.max_tokens is not None:
            raise UsageError("a budget is for a model; name one with -m, or leave it out")
        return None
    prices = Path(rules.prices) if rules.prices else None
    return SetModel(rules.model, rules.base_url, rules.price, prices, limit, rules.max_tokens)


def _filter_rules(given: SetFilters) -> "FilterRules":
    from groundup.domain.errors import UsageError
    from groundup.domain.names import unknown
    from groundup.suites.dibench.dataset import LANGUAGES
    from groundup_factory.filters import FilterRules

    languages = listed_names(given.language, "--language") or ()
    for one in languages:
        if one not in LANGUAGES:
            raise UsageError(unknown("language", one, LANGUAGES))
    return FilterRules(
        languages=tuple(languages),
        licences=tuple(listed_names(given.licence, "--licence") or ()),
        min_lines=given.min_lines,
        max_lines=given.max_lines,
        min_tests=given.min_tests,
        ci=given.ci,
        since=_day(given.since, "--since"),
        until=_day(given.until, "--until"),
        min_stars=given.min_stars,
    )


def _day(text: str | None, option: str) -> date | None:
    from groundup.domain.errors import UsageError

    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{option} {text!r} is no day; write it as 2026-01-31") from error


def _print(made: "SetYield") -> None:
    from groundup.cli.console import print_table

    rows = [
        (one.task, one.standing, str(one.tests or "-"), str(one.left_out), f"{one.seconds:.0f}", one.remark or "-")
        for one in made.entries
    ]
    print_table("", ("task", "standing", "tests", "left out", "s", "why"), rows)


def _lines(path: Path) -> list[str]:
    from groundup.domain.errors import UsageError
    from groundup.trees.walking import read_regular

    try:
        text = read_regular(path).decode("utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}; --list takes a text file of libraries"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} cannot be read: {error}; --list takes a text file") from error
    lines = (line if line.startswith("{") else line.partition("#")[0] for line in text.splitlines())
    return [line.strip() for line in lines if line.strip()]


_Set = Annotated[Path, typer.Argument(metavar="SET", help="The folder of a set.")]


def show_yield(
    folder: _Set,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the survivors of each step to this file, as SVG (extra plots)."),
    ] = None,
    json: Json = False,
) -> int:
    """Show how many repositories survived each step, why the others did not, and what an entry costs."""
    from groundup.cli.console import print_document, print_table, say
    from groundup.reports.plots import drawn
    from groundup.store.ownership import write_made
    from groundup_factory.yields import plot_of, yield_of

    found = yield_of(folder)
    if plot is not None:
        write_made(plot, drawn(plot_of(found))[0])
        say(f"groundup: wrote {plot}")
    if json:
        print_document(found)
        return 0
    _print_yield(found)
    rows = [
        (one.task, one.step, one.cause, one.why)
        for one in sorted(found.entries, key=lambda one: (one.step, one.cause))
        if one.standing != "accepted"
    ]
    if rows:
        print_table("\nnot in the set", ("entry", "ended at", "cause", "why"), rows)
    return 0


def _print_yield(found: "SetReport") -> None:
    from groundup.cli.console import print_table

    rows = [("asked for", *(str(row.asked) for row in found.rows))]
    rows += [(step, *(str(row.survived[step]) for row in found.rows)) for step in found.steps]
    rows.append(("to be tried again", *(str(row.failed) for row in found.rows)))
    typer.echo(f"\n{found.costs}")
    for model in found.models:
        typer.echo(f"{model}")
    print_table(f"\nyield of {found.label}", ("survived", *(row.language for row in found.rows)), rows)
    if found.causes:
        causes = [(one.step, one.cause, one.language, str(one.count)) for one in found.causes]
        print_table("\ncauses", ("ended at", "cause", "language", "count"), causes)


def why(
    folder: _Set,
    repository: Annotated[
        str, typer.Argument(metavar="REPOSITORY", help="An entry of the list, a name, or a task's id.")
    ],
    json: Json = False,
) -> int:
    """Show why REPOSITORY is in the set or is not: the reason, its figures, and the logs of its steps."""
    from groundup.cli.console import print_document
    from groundup_factory.yields import evidence_of

    found = evidence_of(folder, repository)
    if json:
        print_document(found)
        return 0
    one = found.entry
    typer.echo(f"{one.entry}: {one.standing}" + (f" at {one.step} ({one.cause})" if one.cause else ""))
    if one.remark:
        typer.echo(f"  {one.remark}")
    for gap in one.gaps[1:]:
        typer.echo(f"  further: {gap}")
    facts = one.facts
    typer.echo(
        f"  {facts.language or 'no language'}, licence {facts.licence}, {facts.size.lines} lines, "
        f"{facts.size.tests} tests declared, {facts.moment or 'no date'}"
    )
    for model in found.models:
        typer.echo(f"  {model}")
    for line in found.log.splitlines():
        typer.echo(f"  {line}")
    for path in found.files:
        typer.echo(f"  see {path}")
    return 0


def pack(
    folder: _Set,
    output: Annotated[
        Path, typer.Option("--to", "-o", metavar="FILE", help="The archive, such as my-set-1.tar.gz.")
    ],
    json: Json = False,
) -> int:
    """Write SET to one archive: what its manifest names, with version, digests and licences.

    Masked repositories whose licences are not known to allow copies stay out; `groundup data pull NAME --from
    FILE` fetches and masks them again.
    """
    from groundup.cli.console import print_document, say
    from groundup.domain.names import count
    from groundup_factory.packing import pack_set

    packed = pack_set(folder, output)
    if json:
        print_document(packed)
    if packed.fetched:
        say(f"groundup: whoever installs it fetches {len(packed.fetched)} repositories: {_some(packed.fetched)}")
    if packed.doubtful:
        say(
            "groundup: it holds copies of folders without a licence that is known to allow that; ask whom they "
            f"belong to: {_some(packed.doubtful)}"
        )
    say(f"groundup: {output} holds {count(packed.tasks, 'task')} of {packed.label} ({packed.bytes:,} bytes)")
    return 0


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def refresh(
    folder: _Set,
    output: Annotated[
        Path,
        typer.Option(
            "--to", "-o", metavar="FOLDER", help="Folder of the next version; the same command continues it."
        ),
    ],
    rules: SetRules,
    filters: SetFilters,
    version: Annotated[str | None, typer.Option(help="Version of the new set (default: the next number).")] = None,
    repositories: Annotated[
        list[str] | None,
        typer.Argument(metavar="LIBRARY...", help="More libraries or repositories.", show_default=False),
    ] = None,
    json: Json = False,
) -> int:
    """Make the next version of SET from the newest commits and releases of its tasks, and say what changed.

    A task whose original is the same is taken over. SET stays as it is.
    """
    import asyncio

    from groundup.cli.console import print_document, print_table, say
    from groundup.settings import load
    from groundup_factory.packing import refresh_set

    request = replace(_request(repositories or (), output, rules, filters), version=version)
    made = asyncio.run(refresh_set(folder, request, load(), lambda task, line: say(f"{task}: {line}")))
    if json:
        print_document(made)
    else:
        rows = [(one.change, one.before or "-", one.after or "-", one.why or "-") for one in made.changes]
        print_table("", ("change", "before", "after", "why"), rows)
    say(f"groundup: {made.made.label} in {made.made.folder} follows {made.follows}")
    return 3 if any(one.change == "pending" for one in made.changes) else 0
