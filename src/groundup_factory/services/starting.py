"""How a repository's service may be started: commands that its files name or suggest, the likeliest first.

Nothing is executed here; which of them answers is found out by trying. Each becomes a `start.sh`, with a
`requirements.txt` where the repository has none in its root, so that the original is a submission like any other.

Environment variables that a service does not start without, and values for them.

What a repository's sources read and give no default, or one that names a database server. A database is one of
SQLite in a file, so that no server is wanted; a secret is no secret. Other values are those of its example files.
"""

import ast
import contextlib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.grading.services.install import project_requirements, read_declared, start_script
from groundup.grammars import python_tree
from groundup.sources.files import SKIPPED_FOLDERS
from groundup.sources.names import is_standard, python_provider
from groundup.sources.project_files import table_at, toml_of
from groundup.trees.walking import read_own, read_regular

_EXAMPLES = (".env.example", ".env.sample", ".env.template", ".env.dist", "example.env", "env.example", ".env")
_DATABASES = re.compile(r"^(?:postgres\w*|mysql|mariadb|mssql|oracle)(?:\+\w+)?://", re.IGNORECASE)
_DATABASE = re.compile(r"(?:database|db|sqlalchemy\w*|sql)_?(?:url|uri|dsn)$", re.IGNORECASE)
_READERS = {"getenv", "environ.get", "config", "env", "env.str", "decouple_config"}
_VALUES: tuple[tuple[str, str], ...] = (
    (r"algorithm|(?:^|_)alg$", "HS256"),
    (r"expir|minutes|seconds|hours|days|ttl|lifetime", "60"),
    (r"secret|salt|(?:^|_)key$|jwt|pepper", "no-secret-but-of-a-length-that-is-taken"),
    (r"(?:^|_)debug$|testing", "0"),
    (r"(?:^|_)env(?:ironment)?$", "development"),
)
_PLACE = ":////tmp/groundup-service.db"


def variables_of(root: Path, texts: Mapping[str, str]) -> dict[str, str]:
    """Return variables with values, for the repository at *root* with the sources *texts* by path."""
    read = {name: default for text in texts.values() for name, default in _read(text)}
    examples = _examples(root)
    is_asynchronous = any("create_async_engine(" in text for text in texts.values())
    database = ("sqlite+aiosqlite" if is_asynchronous else "sqlite") + _PLACE
    if not is_asynchronous:
        database += "?check_same_thread=false"
    found: dict[str, str] = {}
    for name, default in sorted(read.items()):
        value = _value(name, default, examples.get(name), database)
        if value is not None:
            found[name] = value
    return found


def _value(name: str, default: str | None, example: str | None, database: str) -> str | None:
    """Return a value for the variable *name*; None: it stays unset."""
    if default is not None:
        return database if _DATABASES.match(default) else None
    if _DATABASE.search(name):
        return example if example and example.startswith("sqlite") and _is_meant(example) else database
    if example and _is_meant(example) and not _DATABASES.match(example):
        return example
    return next((value for pattern, value in _VALUES if re.search(pattern, name, re.IGNORECASE)), None)


def _is_meant(example: str) -> bool:
    """Whether *example* is a value, and not a place for one."""
    return re.search(r"[<\[{]|^#|\.\.\.|^your|xxx", example, re.IGNORECASE) is None


def _read(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the variables that a source reads, with their defaults; None: it has none."""
    try:
        tree = python_tree(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    otherwise = {
        id(one): node for node in ast.walk(tree) if isinstance(node, ast.BoolOp) for one in node.values[:-1]
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("environ"):
            name = _literal(node.slice)
            if name is not None:
                yield name, None
        elif isinstance(node, ast.Call) and node.args and (name := _literal(node.args[0])) is not None:
            called = ast.unparse(node.func).removeprefix("os.")
            if called in _READERS and ("config" not in called or "decouple" in text or "starlette" in text):
                given = [*node.args[1:], *(one.value for one in node.keywords if one.arg == "default")]
                given += otherwise[id(node)].values[-1:] if id(node) in otherwise else []
                yield name, (_literal(given[0]) or "something") if given else None
        elif isinstance(node, ast.ClassDef) and any(ast.unparse(one).endswith("Settings") for one in node.bases):
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                    yield line.target.id, None if line.value is None else (_literal(line.value) or "something")


def _examples(root: Path) -> dict[str, str]:
    """Return what the example files of *root* set."""
    found: dict[str, str] = {}
    for name in _EXAMPLES:
        path = root / name
        if path.is_file() and not path.is_symlink():
            text = read_regular(path).decode("utf-8", "replace")
            for key, value in re.findall(r"^[ \t]*(?:export )?(\w+)[ \t]*=[ \t]*(.*?)[ \t]*$", text, re.MULTILINE):
                found.setdefault(key, value.partition(" #")[0].strip("\"' "))
    return {key: value for key, value in found.items() if value}


def _literal(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


_APPLICATIONS = {"Flask": "flask", "Quart": "quart", "FastAPI": "asgi", "Starlette": "asgi", "Litestar": "asgi"}
_RUNS = re.compile(r"\b(?:run|run_app|serve_forever|serve|run_simple)\(|HTTPServer\(")
_FACTORY = re.compile(r"^(?:create|make|build|get)_app(?:lication)?$|^create_application$")
_STARTERS = re.compile(r"(?:^|[/\s])(?:python3?|flask|uvicorn|gunicorn|hypercorn|waitress-serve|fastapi)\s")
_PORT_SAID = re.compile(r"(?:port\s*=\s*|--port[ =]|-p |EXPOSE\s+|PORT['\"]?\s*,\s*['\"]?|PORT:-|:)(\d{4,5})\b")
_REQUIREMENTS = (
    "requirements.txt",
    "requirements/prod.txt",
    "requirements/production.txt",
    "requirements/base.txt",
    "requirements/requirements.txt",
    "requirements/common.txt",
    "src/requirements.txt",
    "app/requirements.txt",
    "backend/requirements.txt",
)
_PRIVILEGED = re.compile(r"((?:--port[ =]|-p |(?:-b|--bind)[ =](?:[\w.]*|\[?::\]?):))\d{2,3}\b")
"""A port that only root may open."""
_PREPARES = re.compile(
    r"^\s*(?:\$ )?(flask (?!run|db init|db migrate|shell|test)[\w-]*(?:db|init|create|setup|seed)[\w -]*"
    r"|python3? \S*(?:init|create|setup|seed|fill|populate)\S*\.py)\s*$",
    re.MULTILINE,
)
_MOST_SOURCES = 400
_LARGEST = 512 * 1024
_SERVERS = ("uvicorn", "gunicorn", "hypercorn", "waitress")
USUAL_PORT = 8000


class ServiceStart(Record):
    """A way to start a service."""

    found: str
    """Where it stands, or what suggests it."""
    commands: tuple[str, ...]
    """Lines of a shell script; the last one starts it, in the foreground. Empty: there is a `start.sh`."""
    port: int
    needs: tuple[str, ...] = ()
    """Packages that the command wants besides what the repository declares."""
    variables: Mapping[str, str] = {}
    """That it wants to be set."""

    def script(self) -> str:
        """Return `start.sh`."""
        before, last = self.commands[:-1], self.commands[-1]
        plain = not re.search(r"[;&|]", last)
        lines = [f"export PORT={self.port} HOST=0.0.0.0"]
        lines += [f"export {name}={shlex.quote(value)}" for name, value in self.variables.items()]
        program = f"env {last}" if re.match(r"\w+=", last) else last  # `exec` takes no variables
        lines += [*before, f"exec {program}" if plain else last]
        return "#!/bin/bash\nset -e\n" + "".join(f"{line}\n" for line in lines)


def starts_of(root: Path) -> tuple[ServiceStart, ...]:
    """Return the ways to start what is at *root*, each command once."""
    texts = dict(python_files(root))
    port = _said_port(root, texts)
    found = [
        *_of_script(root, port),
        *_of_procfile(root, port),
        *_of_docker(root, port),
        *_of_compose(root, port),
        *_of_django(root, port),
        *_of_programs(texts, port),
        *_of_applications(texts, port),
        *_of_readme(root, port),
    ]
    found = list(_prepared(_preparation(root, texts), found))
    kept: dict[tuple[str, ...], ServiceStart] = {}
    for one in found:
        kept.setdefault(one.commands, one)
    variables = variables_of(root, texts)
    also = ("aiosqlite",) if any("aiosqlite:" in value for value in variables.values()) else ()
    return tuple(one.but(variables=variables, needs=(*one.needs, *also)) for one in kept.values())


def _of_script(root: Path, port: int) -> Iterator[ServiceStart]:
    script = start_script(root)
    if script is not None:
        yield ServiceStart(found=script, commands=(), port=port)  # it is found by every grader


def _of_procfile(root: Path, port: int) -> Iterator[ServiceStart]:
    for line in _text(root / "Procfile").splitlines():
        name, _, command = line.partition(":")
        if name.strip() == "web" and command.strip():
            yield from _told("Procfile", command.strip(), port)


def _of_docker(root: Path, port: int) -> Iterator[ServiceStart]:
    files = sorted((*root.glob("Dockerfile*"), *root.glob("*/Dockerfile"), *root.glob("docker*/*/Dockerfile")))
    for path in files:
        text = re.sub(r"\\\n", " ", _text(path))
        said = re.findall(r"^\s*(ENTRYPOINT|CMD)\s+(.+)$", text, re.MULTILINE | re.IGNORECASE)
        last = {kind.upper(): line for kind, line in said}  # the last of each holds
        words = [word for kind in ("ENTRYPOINT", "CMD") for word in _words(last.get(kind, ""))]
        command = shlex.join(words) if len(words) > 1 else "".join(words)
        command = _script_of(path.parent, command) or command
        for start in _told(str(path.relative_to(root)), _unwrapped(command), port):
            yield start
            if path.parent != root and path.parent.parent == root:
                yield start.but(commands=(f"cd {shlex.quote(path.parent.name)}", *start.commands))


def _script_of(folder: Path, command: str) -> str:
    """Return what the shell script does that *command* executes, as one line; nothing where it is none."""
    script = re.fullmatch(r"(?:(?:ba)?sh )?(?:\./|/\w+/)?([\w.-]+\.sh)", command.strip())
    if script is None:
        return ""
    lines = (line.strip().removeprefix("exec ") for line in _text(folder / script[1]).splitlines())
    kept = [line for line in lines if line and not line.startswith(("#", "set ", "export ", "echo "))]
    return " && ".join(kept)


def _words(line: str) -> list[str]:
    try:
        read = ast.literal_eval(line.strip()) if line.strip().startswith("[") else shlex.split(line)
    except (ValueError, SyntaxError):
        return []
    return [str(word) for word in read]


def _unwrapped(command: str) -> str:
    """Return what a shell in *command* is asked to do."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quote that nothing closes
        return command
    if len(words) == 3 and words[0].rpartition("/")[2] in ("sh", "bash") and words[1].endswith("c"):
        return words[2]
    return command


def _of_compose(root: Path, port: int) -> Iterator[ServiceStart]:
    for name in ("docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml"):
        for line in re.findall(r"^\s+command:\s*(\S.*)$", _text(root / name), re.MULTILINE):
            command = shlex.join(_words(line)) if line.startswith("[") else _unquoted(line.strip())
            yield from _told(name, _unwrapped(command), port)


def _unquoted(text: str) -> str:
    """Return *text* without the quotes around the whole of it."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _of_readme(root: Path, port: int) -> Iterator[ServiceStart]:
    for path in sorted(root.glob("README*")):
        for line in re.findall(
            r"^[ \t]*(?:\$ )?((?:python3?|flask|uvicorn|gunicorn)[ \t]+.+)$", _text(path), re.MULTILINE
        ):
            other = re.search(r"\binstall|-m (?:venv|pytest|unittest)|\btest|^flask (?!.*\brun\b)", line)
            if not other and not _PREPARES.match(line):
                yield from _told(path.name, line.strip(" `"), port)


def _told(found: str, command: str, port: int) -> Iterator[ServiceStart]:
    """Yield a command that the repository's people use, with the port as a number."""
    command = command.replace("python3 ", "python ").strip()
    if not _STARTERS.search(f" {command} ") or "manage.py test" in command:
        return
    command = re.sub(r"\$\{?PORT(?::-\d+)?\}?", str(port), command)
    command = re.sub(r"--reload\b|--(?:debug|debugger)\b", "", command)
    command = re.sub(_PRIVILEGED, rf"\g<1>{port}", command)
    last = re.sub(r"^(?:\w+=\S*\s+)+", "", re.split(r"&&|;", command)[-1].strip())
    if re.match(r"(?:python -m )?flask\b.*\brun\b", last) and not re.search(r"--port|-p \d", last):
        command += f" --host 0.0.0.0 --port {port}"
    if re.match(r"(?:python -m )?(?:uvicorn|hypercorn)\b", last) and "--port" not in last:
        command += f" --host 0.0.0.0 --port {port}"
    if re.match(r"gunicorn\b", last) and not re.search(r"(?:-b|--bind)\b|-c\b|--config", last):
        command += f" --bind 0.0.0.0:{port}"
    needs = [one for one in _SERVERS if re.search(rf"\b{one}\b", command)]
    yield ServiceStart(
        found=found,
        commands=tuple(re.split(r"\s*&&\s*", command)),
        port=_port_of(command, port),
        needs=tuple(needs),
    )


def _port_of(command: str, port: int) -> int:
    said = re.search(r"(?:--port[ =]|-p |:|runserver (?:[\d.]+:)?)(\d{4,5})\b", command)
    return int(said[1]) if said else port


def _of_django(root: Path, port: int) -> Iterator[ServiceStart]:
    for path in sorted((*root.glob("manage.py"), *root.glob("*/manage.py"))):
        folder = path.parent.relative_to(root)
        there = (f"cd {shlex.quote(str(folder))}",) if str(folder) != "." else ()
        run = f"python manage.py runserver 0.0.0.0:{port} --noreload"
        yield ServiceStart(
            found=str(path.relative_to(root)),
            commands=(*there, "python manage.py migrate --noinput", run),
            port=port,
        )


def _of_programs(texts: dict[str, str], port: int) -> Iterator[ServiceStart]:
    """Yield files that start a server when they are executed."""
    for file, text in sorted(texts.items(), key=lambda item: (item[0].count("/"), item[0])):
        _, main, after = text.partition("__main__")
        if main and _RUNS.search(after if _RUNS.search(after) else text if "main()" in after else ""):
            own = [int(one) for one in _PORT_SAID.findall(after)]
            is_flask = re.search(r"\bFlask\(|\bapp\.run\(", text) is not None
            usual = 5000 if is_flask and not own and "PORT" not in after else port
            yield ServiceStart(
                found=file, commands=(f"python {shlex.quote(file)}",), port=own[0] if own else usual
            )


def _prepared(before: Sequence[str], starts: Sequence[ServiceStart]) -> Iterator[ServiceStart]:
    """Yield *starts*, each but those that prepare something themselves first after *before*."""
    for one in starts:
        if before and len(one.commands) == 1:
            yield one.but(commands=(*before, *one.commands))
        yield one


def _preparation(root: Path, texts: dict[str, str]) -> tuple[str, ...]:
    """Return what makes the tables of a database before the start, where no source does so by itself.

    Commands of the README, migrations, or else the tables of Flask-SQLAlchemy.
    """
    told = [line for path in sorted(root.glob("README*")) for line in _PREPARES.findall(_text(path))]
    apps = [(file, *one) for file, text in sorted(texts.items()) for one in _application_names(text)]
    flask = [one for one in apps if "flask" in texts[one[0]].lower()]
    application = f"env FLASK_APP={_module(flask[0][0])}:{flask[0][1]} python -m flask" if flask else ""
    migrates = any("flask_migrate" in text for text in texts.values())
    if application and migrates and (root / "migrations" / "env.py").is_file():
        return (f"{application} db upgrade",)
    if (root / "alembic.ini").is_file():
        return ("alembic upgrade head",)
    own = [line.replace("flask", application, 1) for line in told if application or "flask" not in line]
    commands = any(re.search(r"\bcommand\(", text) and "create_all(" in text for text in texts.values())
    if commands and own:
        return tuple(dict.fromkeys(line.strip() for line in own))
    if any("create_all(" in text for text in texts.values()):
        return ()
    for file, text in sorted(texts.items()):
        database = re.search(r"^(\w+)\s*=\s*SQLAlchemy\(", text, re.MULTILINE)
        if database is not None and flask:
            where, name, is_factory = next((one for one in flask if one[0] == file), flask[0])
            named = f"from {_module(where)} import {name} as a; from {_module(file)} import {database[1]} as d"
            return (f'python -c "{named}; a{"()" * is_factory}.app_context().push(); d.create_all()"',)
    return ()


def _module(file: str) -> str:
    return ".".join(PurePosixPath(file).with_suffix("").parts).removesuffix(".__init__")


def _of_applications(texts: dict[str, str], port: int) -> Iterator[ServiceStart]:
    """Yield commands of the frameworks for applications that stand in modules, and for what makes one."""
    for file, text in sorted(texts.items(), key=lambda item: (item[0].count("/"), item[0])):
        for name, is_factory in _application_names(text):
            real = next((kind for one, kind in _APPLICATIONS.items() if f"{one}(" in text), None)
            for one in (real,) if real else ("asgi", "flask"):  # made elsewhere: it is one or the other
                yield _served(file, name, one, port, is_factory=is_factory)


def _application_names(text: str) -> Iterator[tuple[str, bool]]:
    try:
        tree = python_tree(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in tree.body:
        target: ast.expr | None = None
        if isinstance(node, ast.Assign):
            target = node.targets[0]
        elif isinstance(node, ast.AnnAssign):
            target = node.target
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            called = ast.unparse(node.value.func).rpartition(".")[2]
            if isinstance(target, ast.Name) and (called in _APPLICATIONS or _FACTORY.match(called)):
                yield target.id, False
        if isinstance(node, ast.FunctionDef) and _FACTORY.match(node.name):
            yield node.name, True


def _served(file: str, name: str, kind: str, port: int, *, is_factory: bool) -> ServiceStart:
    pure = PurePosixPath(file).with_suffix("")
    parts = pure.parts[:-1] if pure.name == "__init__" else pure.parts
    there: tuple[str, ...] = ()
    if parts and parts[0] == "src":
        there, parts = ("cd src",), parts[1:]
    module = ".".join(parts)
    found = f"{file}: {name}"
    if kind == "flask":
        run = f"env FLASK_APP={module}:{name} python -m flask run --host 0.0.0.0 --port {port}"
        return ServiceStart(found=found, commands=(*there, run), port=port)
    server = "hypercorn --bind 0.0.0.0" if kind == "quart" else "uvicorn --host 0.0.0.0 --port "
    run = f"python -m {server}{':' if kind == 'quart' else ''}{port} {'--factory ' * is_factory}{module}:{name}"
    return ServiceStart(
        found=found, commands=(*there, run), port=port, needs=("hypercorn" if kind == "quart" else "uvicorn",)
    )


def _said_port(root: Path, texts: dict[str, str]) -> int:
    """Return the port that the repository names most clearly, else a usual one."""
    for path in sorted((*root.glob("Dockerfile*"), *root.glob("*/Dockerfile"))):
        said = re.search(r"^\s*EXPOSE\s+(\d{2,5})", _text(path), re.MULTILINE | re.IGNORECASE)
        if said and int(said[1]) >= 1024:
            return int(said[1])
    for text in texts.values():
        said = re.search(r"\bport\s*=\s*(?:int\()?(?:os\.\w+(?:\.get)?\([^)]*?,\s*)?['\"]?(\d{4,5})\b", text)
        if said and 1024 <= int(said[1]) <= 65535:
            return int(said[1])
    return USUAL_PORT


def python_files(root: Path) -> Iterator[tuple[str, str]]:
    """Yield path and text of each Python file that is no test's."""
    count = 0
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if SKIPPED_FOLDERS & set(parts) or any(part in ("tests", "test", "docs", "migrations") for part in parts):
            continue
        count += 1
        if count > _MOST_SOURCES:
            return
        yield path.relative_to(root).as_posix(), _text(path)


def _text(path: Path) -> str:
    return (read_own(path, _LARGEST) or b"").decode("utf-8", "replace")


def requirements_of(root: Path) -> tuple[str, ...] | None:
    """Return what the repository declares to need, by the first file that says it; None: nothing does."""
    for name in _REQUIREMENTS:
        declared = read_declared(root, name)
        if declared is not None and declared.problem is None:
            return declared.requirements
    pipfile = _of_pipfile(root)
    if pipfile:
        return pipfile
    for folder in (PurePosixPath("."), PurePosixPath("src"), PurePosixPath("backend")):
        try:
            found = project_requirements(root.resolve(), folder, ())
        except (UsageError, OSError, ValueError):
            continue
        if found:
            return tuple(found)
    return _imported(root) or None


def _of_pipfile(root: Path) -> tuple[str, ...]:
    packages = table_at(toml_of(_text(root / "Pipfile")), "packages")
    versions = {name: one.get("version", "*") if isinstance(one, dict) else one for name, one in packages.items()}
    return tuple(
        f"{name}{'' if said == '*' else said}" for name, said in versions.items() if isinstance(said, str)
    )


def _imported(root: Path) -> tuple[str, ...]:
    """Return the distributions that the sources import, of those that are well known."""
    texts = dict(python_files(root))
    own = {part for file in texts for part in (*PurePosixPath(file).parts[:-1], PurePosixPath(file).stem)}
    found: set[str] = set()
    for text in texts.values():
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):
            for node in ast.walk(python_tree(text)):
                if isinstance(node, ast.Import):
                    found.update(one.name for one in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    found.add(node.module)
    foreign = {name for name in found if name.partition(".")[0] not in own and not is_standard(name)}
    providers = {python_provider(name) for name in foreign}
    return tuple(sorted(str(one.name) for one in providers if one.known))


def pythons_of(root: Path, usual: str) -> Sequence[str]:
    """Return minor versions of Python to try, the likeliest first."""
    said: list[str] = []
    for name in (".python-version", "runtime.txt"):
        said += re.findall(r"\b(3\.\d+)", _text(root / name))[:1]
    for path in sorted(
        (*root.glob("Dockerfile*"), *root.glob("*/Dockerfile"), *root.glob("docker*/*/Dockerfile"))
    ):
        said += re.findall(r"^FROM\s+\S*python:?(3\.\d+)", _text(path), re.MULTILINE)
    wanted = re.search(
        r"(?:requires-python|python)\s*=\s*['\"](?:>=|\^|~=|~)\s*(3\.\d+)", _text(root / "pyproject.toml")
    )
    least = [wanted[1]] if wanted and _minor(wanted[1]) > _minor(usual) else []
    return tuple(dict.fromkeys([*least, usual, *said]))


def _minor(version: str) -> int:
    return int(version.partition(".")[2])
