"""Suites by their names.

No suite and no grader imports this: the verdict cache would count the code of all suites as a grader's own.
"""

from collections.abc import Callable
from pathlib import Path

from groundup.catalog import Table
from groundup.domain.digests import digest_of, short
from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.names import unknown
from groundup.settings import Settings
from groundup.suites.base import ForCommands, Suite
from groundup.suites.places import (
    data_folder,
    data_sets,
    origin_of,
    split_variants,
    with_data_set,
    with_variants,
)
from groundup.suites.sets import MANIFEST, SUITE_OF_KIND, is_set, read_manifest

SuiteMaker = Callable[[Settings], Suite]


def _nl2repobench() -> SuiteMaker:
    from groundup.suites.nl2repobench.own_suite import create

    return create


def _dibench() -> SuiteMaker:
    from groundup.suites.dibench.suite import create

    return create


def _repogenesis() -> SuiteMaker:
    from groundup.suites.repogenesis.suite import create

    return create


SUITES: Table[SuiteMaker] = Table(
    "suite", {"nl2repobench": _nl2repobench, "dibench": _dibench, "repogenesis": _repogenesis}
)


def open_suite(name: str, settings: Settings) -> Suite:
    """Return the suite called *name*: SUITE, SUITE@NAME with the data set of that name, or SUITE+WORD, a variant.

    A folder that `curate set` made is taken in (`named_suite`). Raises `UsageError`, also for what is no suite.
    """
    name = named_suite(name, settings)
    suite, with_data = with_data_set(name, settings)
    made = SUITES.make(suite, with_data)
    if not isinstance(made, Suite):
        raise UsageError(
            f"suite {suite!r} makes a {type(made).__name__}, which must derive from groundup.suites.base.Suite"
        )
    plain, words = split_variants(name)
    if suite != plain and data_folder(made.name, with_data) is None:
        raise UsageError(
            f"{unknown('data set', plain, data_sets(settings))}; "
            f"`groundup data pull {plain} --from FOLDER` makes it"
        )
    for word in words:
        if word not in made.variants:
            offered = f"choose from: {', '.join(made.variants)}" if made.variants else "leave it out"
            raise UsageError(f"{made.name} has no variant {word!r}; {offered}")
    return made.varied(words) if words else made


def is_known(name: str) -> bool:
    """Whether *name* is SUITE, SUITE@NAME or SUITE+WORD of a suite that has a short name."""
    return SUITES.knows(split_variants(name)[0].partition("@")[0])


def named_suite(name: str, settings: Settings) -> str:
    """Return *name* as SUITE or SUITE@NAME, also where it is a set: a folder such as `./my-set`, or installed.

    The set in a folder is copied to where data lie, as `data pull` does, so that a run can go on when the folder
    is gone. An installed one is `my-set@1.2`, or `my-set` where there is one version of it. Raises `UsageError`
    for a folder that is no set, and for a set that was changed.
    """
    if ":" in name:
        return name
    if "/" not in name:
        plain, words = split_variants(name)
        return name if is_known(name) else with_variants(_installed(plain, settings), words)
    place = Path(name).expanduser().absolute()
    if not is_set(place):
        raise UsageError(f"{place} is no set: it has no {MANIFEST}; {_instead(place, settings)}")
    manifest = read_manifest(place)
    if not manifest.tasks:
        raise UsageError(f"the set in {name} has no tasks; `groundup curate yield {name}` says why")
    suite, own = SUITE_OF_KIND[manifest.kind], manifest.name
    bare = settings.but(data_dir=settings.data / ".none")
    source = ForCommands.of(SUITES.find(suite)(bare)).data_source()
    assert source is not None, "suites of sets have data"
    for chosen in (own, f"{own}-{short(digest_of(str(place)))[:8]}"):
        _, with_data = with_data_set(f"{suite}@{chosen}", settings)
        present = origin_of(suite, with_data)
        if present is None or present.source == str(place):
            from groundup.suites.pulling import take_folder  # with what fetches data, which few runs do

            take_folder(suite, place, with_data, source.check)
            return f"{suite}@{chosen}"
    raise UsageError(f"{name}: pull it under a name of your own: `groundup data pull {suite}@NAME --from {name}`")


def _instead(place: Path, settings: Settings) -> str:
    """Say what to type for a folder that is no set: some suites take in other folders as data."""
    if not place.is_dir():
        return "name a suite"
    for suite in SUITES.names():
        source = ForCommands.of(SUITES.find(suite)(settings.but(data_dir=settings.data / ".none"))).data_source()
        try:
            found = source is not None and bool(source.check(place))
        except GroundupError:
            continue
        if found:
            named = f"{suite}@{place.name}"
            return f"it is data of {suite}: `groundup data pull {named} --from {place}`, then name {named}"
    return "name a suite"


def _installed(name: str, settings: Settings) -> str:
    """Return the suite with the installed set that *name* means; *name* itself where there is none."""
    known = data_sets(settings)
    found = [one for one in known if one.partition("@")[2] == name] or [
        one for one in known if one.partition("@")[2].rpartition("@")[0] == name
    ]
    if len(found) > 1:
        raise UsageError(f"{name!r} may be {' or '.join(found)}; name one of them")
    if not found and is_set(Path(name)):
        raise UsageError(f"{name} is a folder here; write ./{name} for the set in it")
    return found[0] if found else name
