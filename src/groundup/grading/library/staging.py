"""What a grading sandbox sees: the composed workspace, restored files, and the original's installed metadata.

Grading runs no build. What building the original writes into its packages is given to submissions that lack it: a
recipe has the text of whole files; data and assignments come from the original, where a build has run.
"""

import ast
import builtins
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from groundup.domain.errors import InfrastructureError, MachineError, TaskError, reading_submission
from groundup.domain.limits import Limits
from groundup.environments.requests import ENVIRONMENT_TARGET, PythonEnvironment
from groundup.grading.guesses import guesser
from groundup.grading.library.composition import CompositionPlan, FoundEntry, plan
from groundup.grading.library.hidden import Distribution, HiddenTests, LibraryUnderTest
from groundup.grammars import python_tree
from groundup.inside import source_of
from groundup.sandbox.protocol import WORKSPACE, Mount, SandboxSpec
from groundup.trees.walking import FOLDER, TreeEntry, read_chunks, read_regular, walk
from groundup.trees.writer import TreeLimits, TreeWriter, disk_errors

_LARGEST = 1024 * 1024


def generated_files(
    submission: Path, original: Path, hidden: HiddenTests, kept: Set[str]
) -> dict[str, bytes | None]:
    """Return what *submission*, of which the paths *kept* stay, is given: path -> bytes, None for a folder.

    It takes the place of what *submission* has there. Raises `TaskError` when the original lacks what is named.
    """
    given: dict[str, bytes | None] = {}
    for name, content in hidden.generated.items():
        path = PurePosixPath(name)
        has_folder = str(path.parent) in {*kept, *given, "."}
        if not has_folder or any((submission / above).is_symlink() for above in path.parents):
            continue
        present = str(path) in kept and not _leads_nowhere(submission / path)
        if isinstance(content, str):
            if not present:
                given[str(path)] = None if name.endswith("/") else content.encode()
        elif name.endswith("/"):
            if not present and str(path.parent) in kept:
                given[str(path)] = None
                given |= _copied(path, _of_original(original, path, hidden.import_roots), content)
        elif present and not (submission / path).is_symlink():
            given |= _appended(path, submission, _of_original(original, path, hidden.import_roots), content)
    return given


def _copied(path: PurePosixPath, source: Path, patterns: Iterable[str]) -> dict[str, bytes]:
    found = {file for pattern in patterns for file in source.rglob(pattern) if file.is_file()}
    return {str(path / file.relative_to(source)): read_regular(file, _LARGEST) for file in found}


def _leads_nowhere(path: Path) -> bool:
    return path.is_symlink() and not path.exists()


def _of_original(original: Path, path: PurePosixPath, roots: Iterable[str]) -> Path:
    """Return where the original has *path*, which may lie below another import root there."""
    inside = [path.relative_to(root) for root in roots if path.is_relative_to(root)]
    for place in (path, *(PurePosixPath(root, name) for root in roots for name in inside)):
        if (original / place).exists():
            return original / place
    raise TaskError(f"the original has no {str(path)!r}, which its recipe calls generated; mend the recipe")


def _appended(path: PurePosixPath, submission: Path, source: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Return the submission's module with the original's assignments of *names*, where it binds none of them.

    One that lacks what the assignments use is left alone: it would not be importable afterwards.
    """
    try:
        own = read_regular(submission / path, _LARGEST)
        bound = set(_bound(python_tree(own).body))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    text = source.read_text(encoding="utf-8")
    body = python_tree(text).body
    chosen = [one for one in body if isinstance(one, ast.Assign) and {*names} & set(_bound([one]))]
    used = [node for one in chosen for node in ast.walk(one) if isinstance(node, ast.Name)]
    needed = {node.id for node in used if isinstance(node.ctx, ast.Load)}
    needed -= {node.id for node in used if isinstance(node.ctx, ast.Store)} | set(dir(builtins))
    if bound & {*names, "*"} or needed - bound:
        return {}
    lines = [ast.get_source_segment(text, one) or "" for one in chosen]
    return {str(path): own + ("\n\n" + "\n".join(lines) + "\n").encode()}


def _bound(body: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that statements of a module bind, in blocks as well; `*` for those of another module."""
    waiting = list(body)
    while waiting:
        match node := waiting.pop():
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
                continue
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((one.asname or one.name).partition(".")[0] for one in names)
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
        waiting += ast.iter_child_nodes(node)


SCRIPTS_GROUP = "console_scripts"
_TARGET = re.compile(r"(?P<module>[\w.]+)\s*:\s*(?P<attribute>[\w.]+)(\s*\[.*\])?")


def metadata_files(distribution: Distribution) -> dict[str, str]:
    """Return the files of the `.dist-info` folder, by relative path."""
    folder = f"{re.sub(r'[-_.]+', '_', distribution.name)}-{distribution.version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {distribution.name}", f"Version: {distribution.version}"]
    lines += [f"{name}: {value}" for name, values in distribution.headers.items() for value in values]
    lines += [f"Requires-Dist: {requirement}" for requirement in distribution.requires]
    files = {f"{folder}/METADATA": "\n".join(lines) + "\n", f"{folder}/INSTALLER": "groundup\n"}
    if distribution.entry_points:
        files[f"{folder}/entry_points.txt"] = "\n".join(
            f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items())
            for group, points in distribution.entry_points.items()
        )
    return files


def script_files(distribution: Distribution, executable: str) -> dict[str, str]:
    """Return the programs of the distribution, by name; *executable* is the interpreter that runs them."""
    scripts = distribution.entry_points.get(SCRIPTS_GROUP, {})
    return {name: _script(target, executable) for name, target in scripts.items()}


def _script(target: str, executable: str) -> str:
    found = _TARGET.fullmatch(target.strip())
    if found is None:
        raise TaskError(
            f"{target!r} does not name a program as `module:attribute`; mend the recipe's entry points"
        )
    module, attribute = found["module"], found["attribute"]
    first = attribute.split(".")[0]
    return f"#!{executable}\nimport sys\nfrom {module} import {first}\nsys.exit({attribute}())\n"


TRUSTED = "/opt/groundup"
"""Where a grading sandbox sees the runner, its configuration, the metadata and the programs."""

RUNNER = "runner.py"
COMPILED_RUNNER = "runner.pyc"
FAILING = "failing.py"
UNDOING = "undoing.py"
DEMANDS = "demands.py"
LACKING = "lacking.py"
EXCHANGES = "exchanges.py"
HOME = "/tmp/home"  # noqa: S108 - inside the sandbox, where /tmp is private
CAPS = TreeLimits(files=50_000, bytes=1024**3)
_MAX_DEPTH = 101


@reading_submission("the submission")
def stage(
    library: LibraryUnderTest,
    scratch: Path,
    changed: Mapping[str, bytes] | None = MappingProxyType({}),
    compiled_runner: bytes | None = None,
    timeout_s: float | None = None,
) -> tuple[SandboxSpec, CompositionPlan]:
    """Compose below *scratch*; return the sandbox of the hidden tests, and what of the submission is in it.

    *changed*: what restored files hold in place of their own text; None: nothing, until `lay_tests` writes them.
    *timeout_s*: in place of the recipe's. Raises `SubmissionError` for too large a tree, `TaskError` for a wrong
    recipe, and `MachineError` for a program that is not there.
    """
    submission, original, hidden = library.submission, library.original, library.hidden
    composed = plan(_listing(submission), _listing(original), hidden, top_level_modules(library.environment))
    generated = generated_files(submission, original, hidden, composed.kept)
    workspace, restored, trusted = scratch / "workspace", scratch / "restored", scratch / "trusted"
    writable = _writable_roots(hidden)
    tested = sorted(path for path in composed.restored if _below_any(path, writable))
    with TreeWriter(restored, CAPS) as writer:
        _copy_chosen(original, composed.restored, writer, changed)
        writer.finish()
    with TreeWriter(workspace, CAPS) as writer:
        _copy_chosen(submission, composed.kept - generated.keys(), writer)
        for name, content in generated.items():
            if content is None:
                writer.folder(PurePosixPath(name).parts)
            else:
                writer.file(PurePosixPath(name).parts, [content], executable=False)
        _copy_chosen(original, frozenset(tested), writer, changed)
        mounts = _mounts(restored, hidden, composed)
        for mount in mounts:
            _make_mount_point(mount, writer)
        writer.finish()
    _write_trusted(trusted, hidden, library.environment.executable, compiled_runner)
    mounts = (Mount(source=trusted, target=TRUSTED), *mounts)
    return _sandbox(workspace, mounts, hidden, library.environment, timeout_s or hidden.timeout_s), composed


def lay_tests(
    library: LibraryUnderTest, scratch: Path, composed: CompositionPlan, changed: Mapping[str, bytes]
) -> None:
    """Write the restored files that `stage` left empty, in one go: their times tell nothing of *changed*."""
    for entry in _entries(library.original):
        path = "/".join(entry.parts)
        if entry.kind == "file" and path in composed.restored:
            text = changed[path] if path in changed else read_regular(library.original / path, CAPS.bytes)
            with disk_errors(scratch):
                (scratch / "restored" / path).write_bytes(text)


def _sandbox(
    workspace: Path,
    mounts: tuple[Mount, ...],
    hidden: HiddenTests,
    environment: PythonEnvironment,
    allowed_s: float,
) -> SandboxSpec:
    lacking = [name for name in hidden.programs if shutil.which(name) is None]
    if lacking:
        raise MachineError(f"the hidden tests start {', '.join(lacking)}, which this machine lacks; install it")
    roots = hidden.import_roots if hidden.child_path is None else hidden.child_path
    variables = {
        "HOME": HOME,
        "TMPDIR": "/tmp",  # noqa: S108 - inside the sandbox, where /tmp is private
        "LANG": hidden.locale,
        "LC_ALL": hidden.locale,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": ":".join(import_path(roots)),
    }
    return SandboxSpec(
        workspace=workspace,
        mounts=(*environment.mounts, *mounts),
        environment={**environment.environment, **variables, **hidden.environment},
        path=(f"{TRUSTED}/bin", *environment.path),
        limits=Limits(
            memory_mb=hidden.memory_mb,
            processes=hidden.processes,
            command_s=allowed_s,
            wall_clock_s=allowed_s + 30,
        ),
        user=hidden.user,
        system="host" if hidden.programs else "listed",
        label="hidden tests",
    )


def import_path(roots: Iterable[str]) -> list[str]:
    """Return what the tests can import besides the environment: the metadata and the submission's roots."""
    return [f"{TRUSTED}/metadata", *map(inside, roots)]


def inside(path: str) -> str:
    """Return where a path of the repository is seen in the sandbox."""
    return WORKSPACE if path == "." else f"{WORKSPACE}/{path}"


def top_level_modules(environment: PythonEnvironment) -> frozenset[str]:
    """Return the names that the environment's site-packages take, so that no submission can stand in for them."""
    names: set[str] = set()
    for mount in environment.mounts:
        if mount.target == ENVIRONMENT_TARGET:
            for folder in mount.source.glob("lib/python3*/site-packages"):
                names.update(entry.name.split(".")[0] for entry in folder.iterdir() if "-" not in entry.name)
    return frozenset(names - {"__pycache__"})


def _listing(root: Path) -> Iterator[FoundEntry]:
    for entry in _entries(root):
        yield FoundEntry(path="/".join(entry.parts), kind=entry.kind)


def _entries(root: Path) -> Iterator[TreeEntry]:
    try:
        descriptor = os.open(root, FOLDER)
    except OSError as error:
        raise InfrastructureError(f"cannot read the folder {root}: {error.strerror or error}") from error
    try:
        yield from walk(descriptor, _MAX_DEPTH)
    finally:
        os.close(descriptor)


def _copy_chosen(
    source: Path,
    chosen: frozenset[str],
    writer: TreeWriter,
    changed: Mapping[str, bytes] | None = MappingProxyType({}),
) -> None:
    for entry in _entries(source):
        path = "/".join(entry.parts)
        if path not in chosen:
            continue
        writer.admit(entry.parts)
        if entry.kind == "folder":
            writer.folder(entry.parts)
        elif entry.kind == "link":
            writer.link(entry.parts, entry.target())
        elif changed is None or path in changed:
            writer.file(entry.parts, [changed[path]] if changed else [], executable=entry.executable)
        else:
            descriptor = entry.open()
            try:
                writer.file(entry.parts, read_chunks(descriptor), executable=entry.executable, size=entry.size)
            finally:
                os.close(descriptor)


def _mounts(restored: Path, hidden: HiddenTests, composed: CompositionPlan) -> tuple[Mount, ...]:
    """Return the read-only mounts: protected paths as a whole, of writable ones each Python file."""
    writable = _writable_roots(hidden)
    whole = {path for path in _outermost(hidden.protected) if path not in writable}
    single = {path for path in composed.restored if path.endswith(".py") and _below_any(path, writable)}
    return tuple(
        Mount(source=restored / path, target=str(PurePosixPath(WORKSPACE, path)))
        for path in sorted(whole | single)
    )


def _make_mount_point(mount: Mount, writer: TreeWriter) -> None:
    parts = PurePosixPath(mount.target).relative_to(WORKSPACE).parts
    if mount.source.is_dir():
        writer.folder(parts)
    else:
        writer.file(parts, [mount.source.read_bytes()], executable=False)


def _writable_roots(hidden: HiddenTests) -> frozenset[str]:
    """Return the outermost protected paths that hold something writable."""
    roots = set()
    for path in map(_normal, hidden.writable):
        holders = [root for root in _outermost(hidden.protected) if _below_any(path, {root})]
        if not holders:
            raise TaskError(f"the recipe calls {path!r} writable, but protects nothing above it; mend the recipe")
        roots.update(holders)
    return frozenset(roots)


def _outermost(paths: Sequence[str]) -> frozenset[str]:
    normal = frozenset(map(_normal, paths))
    return frozenset(path for path in normal if not normal & set(map(str, PurePosixPath(path).parents)))


def _below_any(path: str, roots: frozenset[str] | set[str]) -> bool:
    return bool(roots & {path, *map(str, PurePosixPath(path).parents)})


def _normal(path: str) -> str:
    return str(PurePosixPath(path))


def _write_trusted(folder: Path, hidden: HiddenTests, executable: str, compiled_runner: bytes | None) -> None:
    configuration = "[pytest]\n" + "".join(f"{line}\n" for line in hidden.ini)
    with TreeWriter(folder, CAPS) as writer:
        writer.file((RUNNER,), [source_of(RUNNER)], executable=False)
        if compiled_runner is not None:
            writer.file((COMPILED_RUNNER,), [compiled_runner], executable=False)
        listener = guesser().listener()
        programs = {name: source_of(name) for name in (FAILING, UNDOING, DEMANDS, LACKING, EXCHANGES)}
        for name, program in {**programs, **(listener.files if listener else {})}.items():
            writer.file((name,), [program], executable=False)
        writer.file(("pytest.ini",), [configuration.encode()], executable=False)
        if hidden.distribution is not None:
            for path, text in metadata_files(hidden.distribution).items():
                writer.file(("metadata", *PurePosixPath(path).parts), [text.encode()], executable=False)
            for name, text in script_files(hidden.distribution, executable).items():
                writer.file(("bin", name), [text.encode()], executable=True)
        writer.finish()
