"""Environments of tox and nox: what they run. Configuration is read as text; nothing of it is executed."""

import ast
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from groundup.grammars import shallow_python_tree
from groundup.sources.project_files import toml_of
from groundup.workflows.commands import options_of
from groundup.workflows.tree import RepositoryTree, text_of

_FACTORS = re.compile(r"^([!\w.,{}-]+):\s+(.*)$")
_PYTHON = re.compile(r"^(py|pypy|cpython|python)?[-.]?(\d(\.?\d+)*t?|py|)$")
_CROSS = re.compile(r"\{\[([^\]]+)\](\w+)\}")
_MOST = 60
_MOST_NAMES = 2000


class ToxEnvironment:
    """One environment: its name, and the command lines that it runs (None: unknown)."""

    def __init__(self, name: str, lines: Sequence[str] | None) -> None:
        self.name = name
        self.lines = lines

    @property
    def is_for_tests(self) -> bool:
        """Whether its name is the usual one for a version of Python: `py`, `py312`."""
        return any(_PYTHON.match(part) for part in self.name.split("-"))


def tox_environments(
    tree: RepositoryTree, folder: str, words: Sequence[str], variable: str | None
) -> list[ToxEnvironment]:
    """Return the environments that `tox WORDS` runs; *variable* is what TOXENV holds."""
    named = options_of(_before_arguments(words), "-e", "--env", "--envlist")
    configuration = _tox_configuration(tree, folder)
    text = ",".join(named) or variable or ""
    names = _split(text)
    if not names or names == ["ALL"]:
        factors = [_known(factor) for factor in options_of(_before_arguments(words), "-f", "-m")]
        names = [name for name in configuration.listed if not factors or _fits(name, factors)]
        names = names or factors or ["py"]  # tox's own default
    names = [name.partition("$")[0] or "py" for name in names]  # the rest is known only to the shell
    return [ToxEnvironment(name, configuration.lines(name)) for name in names[:_MOST]]


def _known(factor: str) -> str:
    """Return the parts of a factor that are written out: `tests` of `${PYTHON}-tests`."""
    return re.sub(r"\$(?:\{[^}]*\}|\w+|\S*)", "", factor).strip("-")


def _before_arguments(words: Sequence[str]) -> list[str]:
    return list(words[: words.index("--")]) if "--" in words else list(words)


def _fits(name: str, factors: Sequence[str]) -> bool:
    own = set(name.split("-"))
    return any(set(factor.split("-")) <= own for factor in factors)


def _split(text: str) -> list[str]:
    """Return the names of a list with braces, `py3{10,11}-{a,b}`, without its comments."""
    found: list[str] = []
    for item in re.split(r"[,\s]+(?![^{]*\})", re.sub(r"(?m)(?:^|\s)#.*$", "", text)):
        found += itertools.islice(_braces(item.strip()), _MOST_NAMES)  # braces multiply
    return [name for name in found if name]


def _braces(item: str) -> Iterator[str]:
    head, brace, rest = item.partition("{")
    inner, closed, tail = rest.partition("}")
    if not brace or not closed or item.count("{") > _MOST:
        yield item
        return
    for choice in _choices(inner):
        for end in _braces(tail):
            yield head + choice + end


def _choices(inner: str) -> Iterator[str]:
    for part in inner.split(","):
        span = re.fullmatch(r"\s*(\d+)-(\d+)\s*", part)
        if span and int(span[2]) - int(span[1]) < _MOST:
            yield from map(str, range(int(span[1]), int(span[2]) + 1))
        else:
            yield part.strip()


class _Configuration:
    """The sections that speak of environments, in the form of tox.ini."""

    def __init__(self, sections: Mapping[str, Mapping[str, str]], listed: Sequence[str]) -> None:
        self._sections = sections
        self.listed = listed

    def lines(self, name: str) -> list[str] | None:
        """Return what environment *name* runs; None where the configuration has no commands."""
        section = self._section(name)
        found: list[str] = []
        is_known = False
        for key in ("commands_pre", "commands", "commands_post"):
            text = self._sections.get(section, {}).get(key)
            if text is None and section != "testenv":
                text = self._inherited(section, key)
            if text is not None:
                is_known = is_known or key == "commands"
                found += self._of(name, text)
        if self._setting(section, "ignore_outcome").strip().lower() == "true":
            found = [f"{line} || true" for line in found]
        return found if is_known else None

    def _setting(self, section: str, key: str) -> str:
        return self._sections.get(section, {}).get(key) or self._sections.get("testenv", {}).get(key, "")

    def _section(self, name: str) -> str:
        exact = f"testenv:{name}"
        if exact in self._sections:
            return exact
        for section in self._sections:  # [testenv:py{310,311}-{a,b}]
            if section.startswith("testenv:") and name in _split(section.partition(":")[2]):
                return section
        return "testenv"

    def _inherited(self, section: str, key: str) -> str | None:
        base = self._sections[section].get("base", self._sections[section].get("base_python_of", "testenv"))
        return self._sections.get(base, self._sections.get("testenv", {})).get(key)

    def _of(self, name: str, text: str, depth: int = 4) -> Iterator[str]:
        factors = set(re.split(r"-", name))
        for raw in re.sub(r"\\\r?\n\s*", " ", text).splitlines():
            line = raw.strip()
            conditional = _FACTORS.match(line)
            if conditional and not re.match(r"[a-z]:\\", line):
                if not _holds(conditional[1], factors):
                    continue
                line = conditional[2]
            reference = _CROSS.fullmatch(line)
            if reference and depth:
                yield from self._of(name, self._sections.get(reference[1], {}).get(reference[2], ""), depth - 1)
            elif line and not line.startswith("#"):
                plain = self._plain(line.lstrip("-! "))
                yield f"{plain} || true" if line.startswith("-") else plain

    def _plain(self, line: str) -> str:
        line = _CROSS.sub(lambda match: self._sections.get(match[1], {}).get(match[2], ""), line)
        line = re.sub(r"\{posargs(?::([^{}]*))?\}", lambda match: match[1] or "", line)
        line = re.sub(r"\{env:\w+(?::([^{}]*))?\}", lambda match: match[1] or "", line)
        return re.sub(r"\{(?:envpython|env_python|basepython)\}", "python", line)


def _holds(condition: str, factors: set[str]) -> bool:
    for choice in _split(condition):
        parts = choice.split("-")
        if all((part[1:] not in factors) if part.startswith("!") else part in factors for part in parts):
            return True
    return False


def _tox_configuration(tree: RepositoryTree, folder: str) -> _Configuration:
    ini = text_of(tree, str(PurePosixPath(folder, "tox.ini")))
    if ini is not None:
        return _from_ini(ini)
    toml = text_of(tree, str(PurePosixPath(folder, "tox.toml")))
    if toml is not None:
        return _from_toml(toml_of(toml))
    project = toml_of(text_of(tree, str(PurePosixPath(folder, "pyproject.toml"))) or "")
    tool = project.get("tool")
    table = tool.get("tox") if isinstance(tool, dict) else None
    if isinstance(table, dict):
        legacy = table.get("legacy_tox_ini")
        return _from_ini(legacy) if isinstance(legacy, str) else _from_toml(table)
    config = text_of(tree, str(PurePosixPath(folder, "setup.cfg")))
    return _from_ini(config or "")


def _from_ini(text: str) -> _Configuration:
    sections = _sections_of(text)
    main = sections.get("tox", sections.get("tox:tox", {}))
    listed = main.get("envlist", main.get("env_list", ""))
    return _Configuration(sections, _split(listed))


def _sections_of(text: str) -> dict[str, dict[str, str]]:
    """Return the sections of an INI file; an indented line continues the value above it."""
    sections: dict[str, dict[str, str]] = {}
    section: dict[str, str] = {}
    key = ""
    for line in text.splitlines():
        if header := re.match(r"\[([^\]]+)\]", line):
            section, key = sections.setdefault(header[1].strip(), {}), ""
        elif line[:1] in (" ", "\t") and key:
            section[key] += f"\n{line.strip()}"
        elif entry := re.match(r"([\w.-]+)\s*[=:]\s*(.*)$", line):
            key = entry[1]
            section[key] = entry[2]
    return sections


def _from_toml(table: Mapping[str, object]) -> _Configuration:
    sections: dict[str, dict[str, str]] = {}
    base = table.get("env_run_base")
    if isinstance(base, dict):
        sections["testenv"] = _commands(base)
    environments = table.get("env")
    for name, environment in environments.items() if isinstance(environments, dict) else ():
        if isinstance(environment, dict):
            sections[f"testenv:{name}"] = _commands(environment)
    listed = table.get("env_list", table.get("envlist", []))
    names = [str(item) for item in listed if isinstance(item, str)] if isinstance(listed, list) else []
    return _Configuration(sections, _split(",".join(names)) if names else [])


def _commands(table: Mapping[str, object]) -> dict[str, str]:
    found = {"ignore_outcome": "true"} if table.get("ignore_outcome") is True else {}
    for key in ("commands_pre", "commands", "commands_post"):
        lines = table.get(key)
        if isinstance(lines, list):
            found[key] = "\n".join(
                " ".join(_words(line)) if isinstance(line, list) else str(line) for line in lines
            )
    return found


def _words(line: Sequence[object]) -> Iterator[str]:
    for word in line:
        if isinstance(word, str):
            yield word
        elif isinstance(word, dict):  # {replace = "posargs", default = [...]}
            default = word.get("default")
            yield from (str(item) for item in default) if isinstance(default, list) else ()


def nox_sessions(
    tree: RepositoryTree, folder: str, words: Sequence[str], variable: str | None
) -> list[ToxEnvironment]:
    """Return the sessions that `nox WORDS` runs, with what their functions call; *variable* is NOXSESSION."""
    text = text_of(tree, str(PurePosixPath(folder, "noxfile.py")))
    found = {name: (lines, tags) for name, tags, lines in _sessions(text or "")}
    sessions = {name: lines for name, (lines, _) in found.items()}
    before = _before_arguments(words)
    asked = _session_names(before) or (variable or "").split(",")
    wanted = [_session(name, sessions) for name in asked if name]
    tagged = options_of(before, "-t", "--tags")
    if tagged and not wanted:
        wanted = [name for name, (_, tags) in found.items() if not tags.isdisjoint(tagged)]
        wanted = wanted or [name for name in sessions if any(tag.rstrip("s") in name for tag in tagged)]
    names = wanted or list(sessions)
    return [ToxEnvironment(name, sessions.get(name)) for name in names[:_MOST]]


def _session(name: str, sessions: Mapping[str, object]) -> str:
    """Return the session that a name with an interpreter or parameters is of: `tests` for `tests-3.12(a)`."""
    return name if name in sessions else re.split(r"[-(]", name)[0]


def _session_names(words: Sequence[str]) -> list[str]:
    found: list[str] = []
    for at, word in enumerate(words):
        if word in ("-s", "-e", "--session", "--sessions"):
            for name in words[at + 1 :]:
                if name.startswith("-"):
                    break
                found.append(name)
        elif word.startswith(("--session=", "--sessions=")):
            found.append(word.partition("=")[2])
    return found


def _sessions(text: str) -> Iterator[tuple[str, frozenset[str], list[str]]]:
    """Yield the name of each session, its tags, and the command lines that it runs."""
    module = shallow_python_tree(text)
    for node in module.body if module is not None else ():
        if isinstance(node, ast.FunctionDef) and any(
            "session" in ast.unparse(item) for item in node.decorator_list
        ):
            for name, tags in _names_of(node):
                yield name, tags, list(_runs(node))


def _names_of(function: ast.FunctionDef) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the names of a session, of which each decorator may give one, with its tags."""
    for decorator in function.decorator_list:
        keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
        given = {keyword.arg: _texts(keyword.value) for keyword in keywords}
        if given.get("name") or "session" in ast.unparse(decorator):
            yield next(iter(given.get("name", ())), function.name), frozenset(given.get("tags", ()))


def _texts(node: ast.expr) -> list[str]:
    """Return the literal texts of a list, or of one text."""
    parts = node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else [node]
    return [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def _runs(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith((".run", ".run_always")):
            words = [
                arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
            ]
            may_fail = any(
                one.arg == "success_codes" and re.search(r"\b[1-9]", ast.unparse(one.value))
                for one in node.keywords
            )
            if words:
                yield " ".join(words) + " || true" * may_fail
