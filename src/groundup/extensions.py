"""Import packages beside `groundup`, in the same wheel: what each adds, known without importing it.

groundup never imports such a package by a statement, so each can be removed with its folder. Its commands then
answer with one sentence.
"""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import NamedTuple

from groundup.domain.errors import UsageError


class ExtensionPackage(NamedTuple):
    """One import package beside groundup."""

    name: str
    """As it is imported."""
    purpose: str
    """What users lack without it, for the sentence that says so."""
    commands: Mapping[str, str]
    """The module in the package and the function of every command, such as `fleet up`."""
    groups: Mapping[str, str]
    """What each group of these commands is about."""
    adds: tuple[str, ...] = ()
    """Kinds of tables (`catalog.py`) to which its module `extension` adds."""
    offers: Mapping[str, str] = {}
    """Functions of its Python API that `import groundup` offers, too, and the modules that they are in."""

    @property
    def module(self) -> str:
        """The module that holds what it adds to tables."""
        return f"{self.name}.extension"

    def present(self) -> bool:
        """Return whether it can be imported."""
        return find_spec(self.name) is not None

    def missing(self, what: str = "") -> str:
        """Return the sentence for somebody who needs it for *what*, by default its purpose, where it is absent."""
        return (
            f"{what or self.purpose} needs the package {self.name}, which is not here; install all of groundup: "
            "`pip install --force-reinstall groundup`"
        )


EXTENSIONS = (
    ExtensionPackage(
        "groundup_board",
        "a leaderboard",
        commands={
            "leaderboard pack": "cli:pack",
            "leaderboard verify": "cli:verify",
            "leaderboard build": "cli:build",
        },
        groups={"leaderboard": "Pack runs so that others can check them, and rank them on a page."},
    ),
    ExtensionPackage(
        "groundup_bridges",
        "work with Harbor, Inspect, verifiers, NeMo Gym, OpenEnv or MCP",
        commands={
            "harbor export": "cli:export",
            "harbor import": "cli:import_jobs",
            "image build": "cli:image_build",
        },
        groups={
            "harbor": "Write tasks for Harbor, and read what its jobs found.",
            "image": "Make container images of what this machine has.",
        },
        adds=("protocol",),
    ),
    ExtensionPackage(
        "groundup_fleet",
        "work on other machines",
        commands={"fleet up": "cli:up", "fleet join": "cli:join", "fleet doctor": "cli:doctor"},
        groups={"fleet": "Grade on other machines."},
        adds=("fleet", "set worker"),
    ),
    ExtensionPackage(
        "groundup_infer",
        "inference of dependencies without a model",
        commands={"infer": "cli:infer"},
        groups={},
        adds=("subject",),
    ),
    ExtensionPackage(
        "groundup_factory",
        "making tasks out of repositories",
        commands={
            "curate locate": "cli.instances:locate",
            "curate instance": "cli.instances:instance",
            "curate validate": "cli.instances:validate",
            "curate set": "cli.sets:make",
            "curate yield": "cli.sets:show_yield",
            "curate why": "cli.sets:why",
            "curate pack": "cli.sets:pack",
            "curate refresh": "cli.sets:refresh",
            "recipe fingerprint": "cli.fingerprints:fingerprint",
            "recipe build": "cli.recipe:build",
            "recipe check": "cli.recipe:check",
            "recipe table": "cli.recipe:table",
            "audit": "cli.audit:audit",
        },
        groups={"curate": "Make tasks out of repositories."},
        offers={"audit": "audit_runs", "curate_set": "api"},
    ),
    ExtensionPackage(
        "groundup_judging",
        "judging by models",
        commands={"judge": "cli:judge"},
        groups={},
        offers={"judge": "api", "judge_async": "api"},
    ),
    ExtensionPackage(
        "groundup_integrity",
        "checking whether results are to be believed",
        commands={"recipe freshen": "cli:freshen"},
        groups={},
        adds=("checker", "fresh maker"),
    ),
    ExtensionPackage(
        "groundup_origins",
        "guessing which line of a submission lost a test",
        commands={},
        groups={},
        adds=("guesser",),
    ),
)
"""Every extension package."""


def adding(kind: str) -> Iterator[ExtensionPackage]:
    """Yield the packages that add to the table of a *kind*."""
    return (one for one in EXTENSIONS if kind in one.adds)


def lacking(kind: str) -> list[str]:
    """Return a sentence for each absent package that would add to the table of a *kind*."""
    return [one.missing() for one in adding(kind) if not one.present()]


def table_of(kind: str) -> str:
    """Return what a package calls its entries of a *kind*: `SET_WORKERS` for `set worker`."""
    return f"{kind.upper().replace(' ', '_')}S"


def offering(name: str) -> ExtensionPackage | None:
    """Return the package whose function *name* groundup's Python API offers, too."""
    return next((one for one in EXTENSIONS if name in one.offers), None)


def require(name: str, what: str) -> None:
    """Raise `UsageError` where *what* needs the package *name*, which is absent."""
    package = next(one for one in EXTENSIONS if one.name == name)
    if not package.present():
        raise UsageError(package.missing(what))


def owner_of(words: str) -> ExtensionPackage | None:
    """Return the package of a command or a group of commands; None: it is groundup's own."""
    return next((one for one in EXTENSIONS if words in one.commands or words in one.groups), None)
