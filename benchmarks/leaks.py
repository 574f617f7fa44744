"""Whether an agent finds the answer: `python benchmarks/leaks.py [TASK...] [--program NAME@VERSION...]`.

For every shipped recipe the original is fetched, and everything that an agent can read in its sandbox is compared
with its source files, from inside: every Python file, also those in wheels and other archives. Files that share
most of their lines with one of the original's are listed. `--program` adds what a command-line agent brings. Then
every name under which the original is published is asked for at the sandbox's package index, and the common other
ways out are tried; all of them must fail.

Inside lie only digests of lines, never the originals.
"""

import argparse
import asyncio
import hashlib
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from groundup.agents.base import AgentContext, EpisodeLimits, SubmitResult
from groundup.agents.cli.preset import choose
from groundup.agents.workspace import AgentSandbox, SandboxExtras, open_workspace
from groundup.domain.tasks import Task
from groundup.environments.requests import InstalledProgram
from groundup.episodes.backends import BUILDERS, SANDBOXES
from groundup.grading.context import GradingContext
from groundup.grading.library.hidden import source_files
from groundup.sandbox.protocol import WORKSPACE, Command
from groundup.settings import load
from groundup.suites.base import ForAgents
from groundup.suites.nl2repobench.published import original_tree
from groundup.suites.nl2repobench.recipe import Recipe, shipped_recipes
from groundup.suites.nl2repobench.suite import Nl2RepoBench

LEAST_LINES = 15
NEARLY, ALIKE = 0.8, 0.5
SCANNER = """
import hashlib, io, json, os, stat, sys, tarfile, zipfile

index = json.load(open(sys.argv[1]))
sources, owners = index["sources"], index["lines"]
least, alike = index["least"], index["alike"]
skipped = {"/proc", "/sys", "/dev", "/workspace"}
texts = (".py", ".pyi", ".pyx", ".py_", ".in", ".txt", ".tmpl")
archives = (".whl", ".zip", ".egg", ".pyz", ".pex", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
counts = {"files": 0, "compared": 0, "in archives": 0, "bytecode alone": 0, "unreadable": 0}


def compare(place, data):
    counts["compared"] += 1
    lines = {raw.strip() for raw in data.splitlines()}
    lines = {line for line in lines if line and not line.startswith(b"#")}
    if len(lines) < least:
        return
    shared = {}
    for line in lines:
        for source in owners.get(hashlib.blake2b(line, digest_size=8).hexdigest(), ()):
            shared[source] = shared.get(source, 0) + 1
    for source, number in shared.items():
        size = sources[source]["lines"]
        share, jaccard = number / size, number / (size + len(lines) - number)
        if max(share, jaccard) >= alike:
            print(json.dumps({"place": place, "source": source, "share": share, "jaccard": jaccard}))


def members(path, data):
    if zipfile.is_zipfile(data):
        data.seek(0)
        with zipfile.ZipFile(data) as archive:
            for member in archive.infolist():
                if member.filename.endswith(texts) and member.file_size < 4e6:
                    yield member.filename, archive.read(member)
    else:
        data.seek(0)
        with tarfile.open(fileobj=data) as archive:
            for member in archive:
                if member.isfile() and member.name.endswith(texts) and member.size < 4e6:
                    yield member.name, archive.extractfile(member).read()


seen = set()
for folder, folders, names in os.walk("/"):
    folders[:] = [name for name in folders if os.path.join(folder, name) not in skipped]
    for name in names:
        path = os.path.join(folder, name)
        try:
            status = os.lstat(path)
            if not stat.S_ISREG(status.st_mode) or (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            counts["files"] += 1
            if name.endswith(".pyc"):
                source = name.split(".")[0] + ".py"
                beside = os.path.dirname(folder) if folder.endswith("__pycache__") else folder
                counts["bytecode alone"] += not os.path.exists(os.path.join(beside, source))
            with open(path, "rb") as file:
                script = "." not in name and file.read(2) == b"#!"
                file.seek(0)
                if (name.endswith(texts) or script) and status.st_size < 4e6:
                    compare(path, file.read())
                elif name.endswith(archives) and status.st_size < 3e8:
                    for inner, data in members(path, io.BytesIO(file.read())):
                        counts["in archives"] += 1
                        compare(path + "!" + inner, data)
        except (OSError, zipfile.BadZipFile, tarfile.TarError, EOFError):
            counts["unreadable"] += 1
print(json.dumps({"counts": counts}))
"""
ASKING = """
import sys, urllib.error, urllib.request
for address in sys.argv[1:]:
    try:
        with urllib.request.urlopen(address, timeout=20) as answer:
            print(answer.status, address)
    except urllib.error.HTTPError as error:
        print(error.code, address)
    except OSError as error:
        print(type(error).__name__, address)
"""


class Found(NamedTuple):
    """A file inside that is like one of an original."""

    task: str
    source: str
    place: str
    share: float
    jaccard: float


class Original(NamedTuple):
    """What is compared: digests of the lines of each source file."""

    task: str
    files: Mapping[str, frozenset[str]]


def digests(path: Path) -> frozenset[str]:
    """Return the digests of a file's lines without blanks and comments."""
    lines = {line for raw in path.read_bytes().splitlines() if (line := raw.strip()) and not line.startswith(b"#")}
    return frozenset(hashlib.blake2b(line, digest_size=8).hexdigest() for line in lines)


async def original(recipe: Recipe, context: GradingContext) -> Original:
    """Return the source files of an original that are long enough to be recognised."""
    tree = await original_tree(recipe, context)
    files = {str(path.relative_to(tree)): digests(path) for path in source_files(tree, recipe.tests)}
    return Original(recipe.task, {name: lines for name, lines in files.items() if len(lines) >= LEAST_LINES})


def index_of(originals: list[Original]) -> bytes:
    """Return what the scanner is given."""
    sources: list[dict[str, object]] = []
    lines: defaultdict[str, list[int]] = defaultdict(list)
    for one in originals:
        for name, found in one.files.items():
            for line in found:
                lines[line].append(len(sources))
            sources.append({"task": one.task, "name": name, "lines": len(found)})
    return json.dumps({"sources": sources, "lines": lines, "least": LEAST_LINES, "alike": ALIKE}).encode()


class Silent:
    """A trajectory that no one reads."""

    def append(self, kind: str, **fields: object) -> None:
        """Forget it."""

    def recorded(self) -> tuple[Mapping[str, object], ...]:
        """Return nothing."""
        return ()


@asynccontextmanager
async def workspace(
    task: Task, withheld: tuple[str, ...], context: GradingContext, programs: tuple[InstalledProgram, ...] = ()
) -> AsyncIterator[AgentSandbox]:
    """Yield the sandbox of an agent at work on *task*."""
    with tempfile.TemporaryDirectory(prefix="groundup-leaks-") as folder:
        room = Path(folder)
        for name in ("workspace", "scratch"):
            (room / name).mkdir()

        async def submit() -> SubmitResult:
            return SubmitResult(shown=False)

        agent_context = AgentContext(
            task=task,
            workspace=room / "workspace",
            provider=context.provider,
            builder=context.builder,
            scratch=room / "scratch",
            model=None,
            trajectory=Silent(),  # type: ignore[arg-type]  # its fields are JSON and nothing is read
            limits=EpisodeLimits(),
            submit=submit,
            keep=lambda name, content: None,
            withheld=withheld,
        )
        mounts = tuple(mount for program in programs for mount in program.mounts)
        limits = task.limits.but(command_s=1800.0, memory_mb=4096)
        async with open_workspace(agent_context, SandboxExtras(mounts=mounts, limits=limits)) as place:
            yield place


async def scan(place: AgentSandbox, index: bytes) -> tuple[list[Found], dict[str, int]]:
    """Return what is like an original in everything that *place* shows."""
    sandbox = await place.sandbox()
    await sandbox.write_file(f"{WORKSPACE}/index.json", index)
    await sandbox.write_file(f"{WORKSPACE}/scanner.py", SCANNER.encode())
    argv = ("/opt/venv/bin/python", "-I", f"{WORKSPACE}/scanner.py", f"{WORKSPACE}/index.json")
    result = await place.run(Command(argv=argv, output_bytes=64 * 1024 * 1024))
    if not result.ok:
        sys.exit(f"the scan failed: {result.ending} {result.stderr.decode()[-500:]}")
    *lines, last = result.stdout.decode().splitlines()
    sources = json.loads(index)["sources"]
    found = []
    for line in map(json.loads, lines):
        source = sources[line["source"]]
        found.append(Found(source["task"], source["name"], line["place"], line["share"], line["jaccard"]))
    return found, json.loads(last)["counts"]


async def ways_out(place: AgentSandbox, names: tuple[str, ...]) -> list[str]:
    """Return the ways by which something was had after all."""
    shown = await place.run(Command(argv=("sh", "-c", "echo $PIP_INDEX_URL")))
    index = shown.stdout.decode().strip()
    spellings = {spelled for name in names for spelled in (name, name.upper(), name.replace("-", "_"))}
    asked = [f"{index}{name}/" for name in sorted(spellings)]
    base = index.removesuffix("simple/")
    outside = ["http://example.com/simple/", "http://192.0.2.1/simple/"]
    tried = [*asked, *(f"{base}files/{'0' * 32}/{name}.tar.gz" for name in names), *outside]
    script = Command(argv=("/opt/venv/bin/python", "-c", ASKING, *tried))
    lines = (await place.run(script)).stdout.decode().splitlines()
    had = [line for line in lines if line.startswith("200")]
    if len(lines) != len(tried):
        had.append(f"only {len(lines)} of {len(tried)} questions were answered")
    for name in names:
        for more in ([], ["--no-binary", ":all:"]):
            argv = ("/opt/venv/bin/pip", "install", "-q", "--no-deps", "--target", f"{WORKSPACE}/got", *more, name)
            if (await place.run(Command(argv=argv, timeout_s=120))).ok:
                had.append(" ".join(argv))
    return had


def rows(found: list[Found]) -> Iterator[str]:
    """Yield one row per file inside that is like an original's."""
    best = sorted(found, key=lambda one: (one.task, one.place, -max(one.share, one.jaccard)))
    for one in best:
        kind = "equal" if one.jaccard > 0.99 else "nearly" if max(one.share, one.jaccard) >= NEARLY else "alike"
        yield f"| {one.task} | `{one.source}` | `{one.place}` | {kind} | {one.share:.2f} | {one.jaccard:.2f} |"


async def main(arguments: argparse.Namespace) -> int:
    """Scan, ask, print."""
    settings = load({"cache_dir": arguments.cache} if arguments.cache else {})
    recipes = {
        name: one for name, one in shipped_recipes().items() if not arguments.tasks or name in arguments.tasks
    }
    suite = Nl2RepoBench(recipes)
    tasks = {task.id: task for task in suite.tasks()}
    document: dict[str, object] = {}
    had: dict[str, list[str]] = {}
    found: set[Found] = set()
    async with SANDBOXES.find(settings.sandbox)(settings) as provider:
        with tempfile.TemporaryDirectory(prefix="groundup-leaks-") as scratch:
            builder = BUILDERS.find(settings.builder)(settings, provider)
            context = GradingContext(provider=provider, builder=builder, scratch=Path(scratch))
            originals = {name: await original(recipe, context) for name, recipe in recipes.items()}
            chosen = [choose(text) for text in arguments.program]
            programs = {
                f"{one.preset.name}@{one.version}": (
                    await builder.program(one.preset.install.request(one.version)),
                )
                for one in chosen
                if one.preset.install is not None and one.version is not None
            }
            for name, task in tasks.items():
                index, withheld = index_of([originals[name]]), tuple(ForAgents.of(suite).withheld(task))
                for label, more in [("", ()), *programs.items()]:
                    started = time.monotonic()
                    async with workspace(task, withheld, context, more) as place:
                        here, counts = await scan(place, index)
                        if not label and not arguments.no_asking:
                            had[name] = await ways_out(place, withheld)
                    found |= {one._replace(task=f"{name} {label}".strip()) for one in here}
                    document[f"{name} {label}".strip()] = {**counts, "alike": len(here)}
                    seconds = time.monotonic() - started
                    print(f"{name} {label}: {counts}, {len(here)} alike, {seconds:.0f} s", file=sys.stderr)
    print("| task | file of the original | inside | | share | Jaccard |\n|---|---|---|---|---|---|")
    print("\n".join(rows(list(found))))
    print(f"\n{sum(map(bool, had.values()))} of {len(had)} tasks: something could be fetched")
    for name, lines in had.items():
        for line in lines:
            print(f"{name}: {line}")
    if arguments.json:
        document |= {"found": [one._asdict() for one in sorted(found)], "fetched": had}
        Path(arguments.json).write_text(json.dumps(document, indent=1))
    return 1 if any(had.values()) else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--program", action="append", default=[], metavar="NAME@VERSION")
    parser.add_argument("--no-asking", action="store_true", help="only compare files")
    parser.add_argument("--cache", type=Path, help="the folder of layers (setting: cache_dir)")
    parser.add_argument("--json", metavar="FILE")
    sys.exit(asyncio.run(main(parser.parse_args())))
