"""What a script does: its commands, with the project's own names followed to the programs that they run."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from tree_sitter import Node

from groundup.grammars import shallow_python_tree, shallow_root
from groundup.grammars import text_of as node_text
from groundup.workflows.commands import (
    SHELL_WORDS,
    commands_of,
    options_of,
    program_of,
    simple_commands,
    unwrapped,
)
from groundup.workflows.endings import swallows
from groundup.workflows.project_commands import (
    OWN_COMMANDS,
    Called,
    cargo_words,
    hatch_lines,
    just_lines,
    make_lines,
    script_lines,
    task_lines,
)
from groundup.workflows.runners import Meaning, Purpose, meaning_of
from groundup.workflows.tox import ToxEnvironment, nox_sessions, tox_environments
from groundup.workflows.tree import RepositoryTree, text_of

_DEEPEST = 6
_MOST_COMMANDS = 2000
_MANAGERS = frozenset({"npm", "yarn", "pnpm", "bun", "nr", "lerna", "turbo", "nx", "yarnpkg", "cnpm"})
_PREPARES = frozenset({
    "pip", "uv", "apt", "apt-get", "brew", "choco", "conda", "mamba", "echo", "printf", "cat", "cd", "mkdir", "cp",
    "mv", "rm", "export", "set", "ls", "which", "rustup", "git", "curl", "wget", "poetry", "pdm", "pipenv", "pipx",
    "corepack", "docker", "test", "[", "[[", "source", ".", "true", "exit", "sed", "grep", "find", "tar", "unzip",
    "nvm", "ni", "nci", "tail", "head", "tee", "awk", "sort", "tr", "cut", "wc", "less", "ts", "sleep", "date",
    "touch", "chmod", "uname", "pwd", "pushd", "popd", "df", "ps",
})  # fmt: skip
_CONTAINERS = frozenset({"docker", "docker-compose", "podman"})
_SCRIPT = re.compile(r"\.(sh|bash|ps1|py|cmd|bat|js|mjs|cjs|ts|cs|cake|fsx|zsh)$")
_OTHER_LANGUAGES = (".py", ".js", ".mjs", ".cjs", ".ts", ".cs", ".cake", ".fsx")
"""Endings of scripts that are not a shell's."""
_SCRIPTS = (".js", ".mjs", ".cjs")
_TESTING_NAME = re.compile(r"(?:^|[^a-z])(?:unit-?)?(?:tests?|ci|spec|pytest|coverage|cov|check-?all)(?:[^a-z]|$)")
_CHECKS = re.compile(r"(?:^|\s)check$")
"""`make check` runs the tests by custom; the custom counts only where no Makefile can be read."""
_OTHER_NAME = re.compile(
    r"lint|fmt|format|style|type|mypy|doc|readme|bench|build|publish|release|clean|install|deploy"
)
_BUILD_SCRIPT = re.compile(
    r"^(?:[\w.-]+/)?(?:_?build|cake|program|targets)\w*\.(?:cs|cake|fsx?|csx)$", re.IGNORECASE
)
_HIDDEN = re.compile(
    r"(?:^|[\s;&{(|.\"'\[])((?:invoke-)?dotnet(?:\.exe)?\s+(?:test|vstest)\b|cargo\s+test\b|"
    r"pytest\b|py\.test\b|-m\s+(?:unittest|pytest)\b|"
    r"[\"']dotnet[\"']\s*,\s*[$@]*[\"']test\b|npm\s+(?:run\s+)?test\b|mvn\s+\S*test\b|ctest\b|DotNetTest\b|DotNetCoreTest\b|xunit\.console)",
    re.IGNORECASE,
)
"""Calls of test runners in texts that are not taken apart (functions of PowerShell, lists in Python...)."""


class Meanings:
    """Answers for one repository; the same script is read once."""

    def __init__(self, tree: RepositoryTree) -> None:
        self._tree = tree
        self._left = 0
        self._known: dict[tuple[str, str, str, str], tuple[Meaning, ...]] = {}

    def of(
        self, script: str, folder: str = "", environment: Mapping[str, str] | None = None
    ) -> tuple[Meaning, ...]:
        """Return what *script* does when it is run in *folder*."""
        variables = environment or {}
        key = (script, folder, variables.get("TOXENV", ""), variables.get("NOXSESSION", ""))
        if key not in self._known:
            self._left = _MOST_COMMANDS
            self._known[key] = tuple(self._script(script, folder, variables, _DEEPEST, stops=True))
        return self._known[key]

    def _script(
        self, script: str, folder: str, variables: Mapping[str, str], depth: int, *, stops: bool = False
    ) -> Iterator[Meaning]:
        """Yield what *script* means; *stops*: its shell ends with the first command that fails."""
        if depth == 0:
            return
        folders: dict[tuple[int, ...], str] = {(): folder}
        for words, may_fail, subshells in commands_of(script, stops=stops):
            self._left -= 1
            if self._left < 0:  # names that lead to names multiply
                return
            around = (subshells[:deep] for deep in range(len(subshells), -1, -1))
            folder = next(folders[one] for one in around if one in folders)
            if words[0] == "cd" and len(words) > 1:
                folders[subshells] = _within(folder, words[1])
                continue
            called = cargo_words(self._tree, folder, words) if program_of(words[0]) == "cargo" else words
            is_lost = may_fail or swallows(self._tree, folder, called)
            for meaning in self._command(words if "xtask" in words[1:2] else called, folder, variables, depth):
                yield meaning.but(may_fail=True) if is_lost else meaning

    def _command(
        self, words: list[str], folder: str, variables: Mapping[str, str], depth: int
    ) -> Iterable[Meaning]:
        direct = meaning_of(words)
        idle = _idle_call(self._tree, folder, words, direct)
        if idle is not None or (direct is not None and direct.purpose is not Purpose.BUILD):
            return [one for one in (idle or direct,) if one is not None]
        program = program_of(words[0])
        own = self._own(program, words, folder, variables, depth)
        if own is not None:
            return own
        if direct is not None and program == "dotnet" and "run" in words[:2]:
            return [*self._build_project(words)] or [direct]
        if direct is not None:
            return [direct]
        if program in _CONTAINERS:
            return _in_container(words)
        if program in _PREPARES and "/" not in words[0]:
            return ()
        if program == "dotnet":
            return self._build_project(words)
        return self._file(words, folder, variables, depth)

    def _own(
        self, program: str, words: list[str], folder: str, variables: Mapping[str, str], depth: int
    ) -> list[Meaning] | None:
        """Return what a name of the project's own leads to; None when the program knows no such names."""
        if program in _MANAGERS:
            return self._package(words, folder, depth)
        reader = _READERS.get(program)
        if reader is not None:
            lines = reader(self._tree, folder, words[1:])
            return self._lines(" ".join(words[:4]), lines, folder, variables, depth, " ".join(words[1:]))
        if program == "tox":
            wanted = variables.get("TOXENV")
            return self._environments(
                "tox", tox_environments(self._tree, folder, words[1:], wanted), folder, depth
            )
        if program == "nox":
            wanted = variables.get("NOXSESSION")
            return self._environments("nox", nox_sessions(self._tree, folder, words[1:], wanted), folder, depth)
        if program == "hatch" and len(words) > 2:
            called = _called_by_hatch(words)
            chosen = [word for word in words if word.startswith(("-", "+"))]
            lines = hatch_lines(self._tree, folder, called[0], chosen) if called else None
            if lines is None and called:
                return list(self._command(unwrapped(called), folder, variables, depth - 1)) or _guess(
                    words, called[0]
                )
            return self._lines(" ".join(words), lines, folder, variables, depth, " ".join(called))
        if program in ("invoke", "inv", "doit", "task", "rake", "earthly", "mise"):
            guessed = _guess(words, " ".join(words[1:]))
            warns = program in ("invoke", "inv") and _only_warns(self._tree, folder, words[1:])
            return [one.but(may_fail=True) for one in guessed] if warns else guessed
        lines = task_lines(self._tree, folder, words[0])
        return None if lines is None else self._lines(words[0], lines, folder, variables, depth, words[0])

    def _package(self, words: list[str], folder: str, depth: int) -> list[Meaning] | None:
        rest = words[1:]
        if program_of(words[0]) == "yarn" and not rest:
            return []
        if program_of(words[0]) == "nx" and (targets := options_of(words, "-t", "--target", "--targets")):
            return _guess(words, targets[0])
        found = script_lines(self._tree, folder, rest)
        if found is None and "--if-present" in rest:
            return [Meaning(purpose=Purpose.NOTHING, command=" ".join(words)[:160])]
        if found is None:
            named = [word for word in rest if not word.startswith("-") and word not in ("run", "run-script")]
            script = Called(rest, folder).script
            if program_of(words[0]) in ("yarn", "pnpm", "bun") and named and meaning_of(named):
                return [meaning for meaning in [meaning_of(named)] if meaning is not None]
            return _guess(words, script) if script and script not in OWN_COMMANDS else []
        name, lines = found
        meant: list[Meaning] = []
        for place, line in lines:
            meant += self._script(line, place, {}, depth - 1)
        meant = [meaning.under(f"{words[0]} {name}") for meaning in meant]
        return _with_guess(meant, " && ".join(line for _, line in lines), words, name)

    def _environments(self, tool: str, found: Sequence[ToxEnvironment], folder: str, depth: int) -> list[Meaning]:
        meant: list[Meaning] = []
        for environment in found:
            name = f"{tool} {environment.name}"
            if environment.lines is None:
                is_for_tests = environment.is_for_tests or _is_testing(environment.name)
                purpose = Purpose.TEST if is_for_tests else Purpose.CHECK
                meant.append(Meaning(purpose=purpose, command=name, certainty=0.7))
                continue
            known: list[Meaning] = []
            for line in environment.lines:
                known += [meaning.under(name) for meaning in self._script(line, folder, {}, depth - 1)]
            if _is_testing(environment.name) and not {one.purpose for one in known} & {
                Purpose.TEST,
                Purpose.CHECK,
            }:
                may_fail = bool(known) and all(meaning.may_fail for meaning in known)
                known.append(Meaning(purpose=Purpose.TEST, command=name, certainty=0.6, may_fail=may_fail))
            meant += known
        return meant

    def _lines(
        self,
        name: str,
        lines: Sequence[str] | None,
        folder: str,
        variables: Mapping[str, str],
        depth: int,
        asked: str,
    ) -> list[Meaning]:
        if lines is None:
            return _guess([name], "test" if _CHECKS.search(asked) else asked)
        meant: list[Meaning] = []
        for line in lines:
            meant += self._script(line, folder, variables, depth - 1)
        meant = [meaning.under(name) for meaning in meant]
        if _is_testing(asked):
            return _with_guess(meant, "\n".join(lines), [name], asked)
        is_idle = bool(_CHECKS.search(asked)) and not meant and _is_harmless("\n".join(lines))
        return [_idle("\n".join(lines), [name])] if is_idle else meant

    def _file(self, words: list[str], folder: str, variables: Mapping[str, str], depth: int) -> Iterator[Meaning]:
        """Follow a script of the repository: `./ci/test.sh`, `bash build.sh`, `python tools/run.py`."""
        for place, word in enumerate(words[:4]):
            path = _within(folder, word.replace("\\", "/").removeprefix("./"))
            if path not in self._tree.paths() or (
                word == words[0] and "/" not in word and not _SCRIPT.search(word)
            ):
                continue
            text = text_of(self._tree, path)
            if text is None:
                return
            yield from self._content(path, text, words, place, variables, depth)
            return
        if words[0].startswith(("./", "target/")) and not _is_testing(words[0]):
            yield Meaning(purpose=Purpose.OWN, command=" ".join(words)[:160], certainty=0.3)
        name = words[0].rpartition("/")[2]
        if _is_testing(name) and name.partition(".")[0] != "ci" and (name != words[0] or _SCRIPT.search(name)):
            yield Meaning(purpose=Purpose.TEST, command=" ".join(words)[:160], certainty=0.5)

    def _build_project(self, words: list[str]) -> Iterator[Meaning]:
        """Follow what runs the repository's build script in .NET: cake, nuke, `dotnet run --project build`..."""
        projects = options_of(words, "--project", "-p")
        folder = re.sub(r"/?[^/]*\.(?:cs|fs)proj$", "", _within("", projects[0])) if projects else ""
        for path in sorted(self._tree.paths()):
            is_script = path.startswith(f"{folder}/") and "/" not in path[len(folder) + 1 :] if folder else True
            text = text_of(self._tree, path) if is_script and _BUILD_SCRIPT.search(path) else None
            hidden = None if text is None else _HIDDEN.search(text)
            if hidden is not None:
                yield (
                    Meaning(purpose=Purpose.TEST, command=hidden[1], certainty=0.7)
                    .under(path)
                    .under(" ".join(words[:4]))
                )
                return

    def _content(
        self, path: str, text: str, words: list[str], place: int, variables: Mapping[str, str], depth: int
    ) -> Iterator[Meaning]:
        """Follow the *text* of the script that the word at *place* names."""
        meant: list[Meaning] = []
        may_fail = False
        if not path.endswith(_OTHER_LANGUAGES):
            stops = re.match(r"#!.*\s-\w*e", text) is not None or "-e" in words[:2]
            script = _with_arguments(text, words[place + 1 :])
            meant = list(self._script(script, "", variables, depth - 1, stops=stops))
            may_fail = _ends_well(script, stops=stops)
        called = Meaning(purpose=Purpose.TEST, command=" ".join(words)[:160], certainty=0.7, may_fail=may_fail)
        if not any(meaning.purpose is Purpose.TEST for meaning in meant):
            hidden = _HIDDEN.search(text)
            if hidden:
                meant.append(Meaning(purpose=Purpose.TEST, command=hidden[1], certainty=0.8))
            elif _is_testing(PurePosixPath(path).stem) or any(_is_testing(word) for word in words[1:3]):
                idle = not meant and (
                    _only_exports(text)
                    if path.endswith(_SCRIPTS)
                    else not path.endswith(_OTHER_LANGUAGES) and _is_harmless(text)
                )
                meant.append(called.but(purpose=Purpose.NOTHING) if idle else called)
            elif not meant and (
                path.endswith(_OTHER_LANGUAGES)
                or (program_of(words[0]) in ("sh", "bash", PurePosixPath(path).name) and not _is_harmless(text))
            ):
                meant.append(called.but(purpose=Purpose.OWN, certainty=0.3))
        for meaning in meant:
            yield meaning.under(path)


def _only_warns(tree: RepositoryTree, folder: str, names: Sequence[str]) -> bool:
    """Whether all that tasks of Invoke run may fail: `c.run("pytest", warn=True)`."""
    module = shallow_python_tree(text_of(tree, str(PurePosixPath(folder, "tasks.py"))) or "")
    if module is None:
        return False
    called = [
        call
        for task in module.body
        if isinstance(task, ast.FunctionDef) and task.name.replace("_", "-") in names
        for call in ast.walk(task)
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".run")
    ]
    warning = [
        any(key.arg == "warn" and ast.unparse(key.value) == "True" for key in call.keywords) for call in called
    ]
    return bool(warning) and all(warning)


def _in_container(words: Sequence[str]) -> list[Meaning]:
    """Return what `docker run IMAGE pytest` or `docker compose exec app pytest` tests."""
    for at in range(2, len(words)):
        inner = meaning_of(unwrapped(words[at:]) or words[at:])
        if inner is not None and inner.purpose is Purpose.TEST and {"run", "exec"} & set(words[1:at]):
            return [
                Meaning(purpose=Purpose.TEST, command=" ".join(words)[:160], certainty=0.5, part="in a container")
            ]
    return []


def _called_by_hatch(words: Sequence[str]) -> list[str]:
    """Return what `hatch run ...` or `hatch env run --env NAME ...` calls, as `name:script` in the latter case."""
    rest = list(words[words.index("run") + 1 :]) if "run" in words else []
    environment = next(iter(options_of(list(words), "-e", "--env")), "")
    # Words that start with + or - choose among the environments of a matrix: `+py=3.12`.
    rest = [word for word in rest if not word.startswith(("-", "+")) and word != environment]
    return [f"{environment}:{rest[0]}", *rest[1:]] if environment and rest else rest


def _is_testing(name: str) -> bool:
    lowered = name.lower()
    return bool(_TESTING_NAME.search(lowered)) and not _OTHER_NAME.search(lowered)


def _guess(words: Sequence[str], name: str) -> list[Meaning]:
    """Return what a name alone suggests."""
    meant = " ".join(words)[:160]
    if _is_testing(name):
        return [Meaning(purpose=Purpose.TEST, command=meant, certainty=0.6)]
    return [Meaning(purpose=Purpose.OTHER, command=meant, certainty=0.3)]


def _with_guess(meant: list[Meaning], script: str, words: Sequence[str], name: str) -> list[Meaning]:
    """Return what a name's lines mean; where that is nothing known, what the name suggests as well."""
    if not meant and _is_testing(name) and _is_harmless(script):
        return [_idle(script, words)]
    if any(meaning.purpose is not Purpose.OWN for meaning in meant):
        return meant
    may_fail = _ends_well(script, stops=False) or (bool(meant) and all(meaning.may_fail for meaning in meant))
    return meant + [one.but(may_fail=may_fail) for one in _guess(words, name)]


def _ends_well(script: str, *, stops: bool) -> bool:
    """Whether a script ends well whatever its commands come to."""
    return all(
        may_fail or prints_only(words) or words[0] in SHELL_WORDS
        for words, may_fail, _ in commands_of(script, stops=stops)
    )


def _idle(script: str, words: Sequence[str]) -> Meaning:
    return Meaning(purpose=Purpose.NOTHING, command=script.strip()[:160] or "nothing").under(" ".join(words)[:80])


def _is_harmless(script: str) -> bool:
    """Whether a script only prints, or ends: `echo "no tests yet" && exit 0`."""
    return all(map(prints_only, simple_commands(script)))


_PRINTS = re.compile(r"\s*(?:print|console\.log|process\.exit|sys\.exit)\([^()]*\);?\s*|\s*(?:pass|0)?\s*")


def prints_only(words: Sequence[str]) -> bool:
    """Whether a command only prints a text, or ends."""
    if program_of(words[0]) in ("python", "node") and len(words) <= 3 and set(words[1:2]) & {"-c", "-e", "-p"}:
        return _PRINTS.fullmatch("".join(words[2:])) is not None
    if words[1:] in (["--version"], ["-V"], ["--help"]) or words == ["wait"]:
        return True
    return program_of(words[0]) in ("echo", "printf", "true", ":", "exit")


def is_followed(words: Sequence[str]) -> bool:
    """Whether it is known what a command is for, or whose names lead further."""
    program = program_of(words[0])
    return (
        meaning_of(words) is not None
        or program in _PREPARES | _MANAGERS | _READERS.keys() | {"tox", "nox", "hatch"}
        or prints_only(words)
    )


_SHOWN: Mapping[str, frozenset[str]] = {
    "tox": frozenset(
        {"--notest", "-l", "--listenvs", "-a", "--listenvs-all", "--showconfig", "config", "list", "devenv"}
    ),
    "nox": frozenset({"--install-only", "-l", "--list", "--list-sessions"}),
    "make": frozenset({"-n", "--dry-run", "--just-print", "-t", "--touch"}),
    "just": frozenset({"-n", "--dry-run", "-l", "--list", "-s", "--show"}),
}
"""Words with which those who run a project's own names show or prepare, and run none."""


def _idle_call(tree: RepositoryTree, folder: str, words: Sequence[str], direct: Meaning | None) -> Meaning | None:
    """Return what a command means that looks like a test and does nothing; None for any other."""
    program = program_of(words[0])
    idle = Meaning(purpose=Purpose.NOTHING, command=" ".join(words)[:160])
    own = words[1 : words.index("--")] if "--" in words else words[1:]
    if not _SHOWN.get(program, frozenset()).isdisjoint(own):
        return idle
    if program == "python" and any(re.fullmatch(r"-[a-zA-Z]*O+", word) for word in words[1:3]):
        script = next((word for word in words[1:] if not word.startswith("-")), "")
        path = _within(folder, script)
        text = text_of(tree, path) if script.endswith(".py") else None
        if text is not None and _fails_by_assert(text):
            return idle.under(path)  # `-O` leaves the asserts out
    if program == "python" and words[1:2] == ["-c"]:
        loaded = _LOADS.fullmatch(" ".join(words[2:]))
        as_file = ["python", loaded[1].replace(".", "/") + ".py"] if loaded else []
        return idle if as_file and _only_defines(tree, folder, as_file) else None
    is_test = direct is not None and direct.purpose is Purpose.TEST
    return idle if is_test and (_only_defines(tree, folder, words) or _has_no_tests(tree, words)) else None


_TESTS_OF = {
    ("cargo", "test"): ((".rs", "Cargo.toml"), r"harness|#\[[^\]]*(?:test|case)|```|proptest!|quickcheck!"),
    ("cargo", "t"): ((".rs", "Cargo.toml"), r"harness|#\[[^\]]*(?:test|case)|```|proptest!|quickcheck!"),
    ("dotnet", "test"): (
        (".cs", ".fs", ".vb", ".dll"),
        r"[\[<(]\s*(?:[\w.]+\.)?(?:Fact|Theory|Test\w*|Scenario)\b|Property",
    ),
}
"""What a file with tests has, of runners that end well without any."""


def _has_no_tests(tree: RepositoryTree, words: Sequence[str]) -> bool:
    """Whether a runner whose output is thrown away finds no test in any source: nothing else would tell."""
    known = _TESTS_OF.get((program_of(words[0]), words[1] if words[1:] else ""))
    is_hidden = any(re.match(r"1?>|&>", word) for word in words)
    sources = [path for path in tree.paths() if known is not None and path.endswith(known[0])]
    if known is None or not sources or not is_hidden:
        return False
    texts = (text_of(tree, path) for path in sources)
    return not any(text is None or re.search(known[1], text) for text in texts)


def _fails_by_assert(source: str) -> bool:
    """Whether `assert` is the only way of a file in Python to fail, as far as its own statements show."""
    if _TELLS.search(source) is not None:
        return False
    module = shallow_python_tree(source)
    if module is None:
        return False
    nodes = list(ast.walk(module))
    called = [ast.unparse(one) for one in nodes if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)]
    return any(isinstance(one, ast.Assert) for one in nodes) and all(
        line.startswith(("print(", "sys.path.")) for line in called
    )


_TELLS = re.compile(r"\braise\b|\bexit\(|\b(?:unittest|pytest|doctest|nose2?|behave)\b")
"""How a file in Python fails, if not by `assert`."""
_LOADS = re.compile(r"\s*(?:import|from)\s+([\w.]+)(?:\s+import\s+[\w, *]+)?\s*;?\s*")


def _only_defines(tree: RepositoryTree, folder: str, words: Sequence[str]) -> bool:
    """Whether a file run as a test only defines some, or `doctest` reads one without examples."""
    if program_of(words[0]) == "node":
        script = next((word for word in words[1:] if not word.startswith("-")), "")
        text = text_of(tree, _within(folder, script)) if script.endswith(_SCRIPTS) else None
        return text is not None and _only_exports(text)
    if program_of(words[0]) != "python":
        return False
    read = (".py", ".md", ".rst", ".txt") if "doctest" in words else (".py",)
    texts = [text_of(tree, _within(folder, word)) for word in words[1:] if word.endswith(read)]
    known = [text for text in texts if text is not None]
    if not known or len(known) < len(texts):
        return False
    if "doctest" in words:
        return not any(">>>" in text for text in known)
    if "-m" in words:
        return False
    module = shallow_python_tree(known[0])
    if module is None:
        return False
    defined = [
        one.name for one in module.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    return any(name.lower().startswith("test") for name in defined) and all(map(_is_definition, module.body))


_PASSIVE = frozenset({
    "comment", "hash_bang_line", "empty_statement", "function_declaration", "generator_function_declaration",
    "class_declaration", "import_statement", "export_statement", "lexical_declaration", "variable_declaration",
    "expression_statement",
})  # fmt: skip
_IDLE = frozenset({"comment", "hash_bang_line", "import_statement"})
_FUNCTIONS = frozenset({"function_declaration", "function_expression", "arrow_function", "method_definition"})


def _only_exports(source: str) -> bool:
    """Whether a file of JavaScript only loads packages, defines and exports."""
    root = shallow_root("javascript", source)
    if root is None or {child.type for child in root.named_children} <= _IDLE:
        return False
    return all(child.type in _PASSIVE and not _does(child) for child in root.named_children)


def _does(node: Node) -> bool:
    """Whether loading what *node* is calls something, or loads a file of the repository."""
    if node.type in _FUNCTIONS:
        return False
    if node.type == "call_expression":
        called = node_text(node)
        return re.fullmatch(r"""require\(\s*["'][^"'.][^"']*["']\s*\)""", called) is None
    if node.type == "import_statement":
        return re.search(r"""["']\.""", node_text(node)) is not None
    return node.type in ("new_expression", "await_expression") or any(map(_does, node.named_children))


def _is_definition(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass) or ast.unparse(statement).startswith("sys.path."):
        return True
    if isinstance(statement, ast.If):
        if re.fullmatch(r"__name__ == '(?!__main__').*'", ast.unparse(statement.test)):
            return True
        return not statement.orelse and all(map(_is_definition, statement.body))
    if isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign):
        return not any(isinstance(part, ast.Call) for part in ast.walk(statement))
    return isinstance(
        statement, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    )


def _within(folder: str, path: str) -> str:
    parts: list[str] = []
    for part in PurePosixPath(folder, path).parts:
        if part == ".." and parts:
            parts.pop()
        elif part not in ("..", ".", "/"):
            parts.append(part)
    return "/".join(parts)


def _with_arguments(text: str, arguments: Sequence[str]) -> str:
    """Return a shell script with its arguments, and the variables that it makes of them, in their places."""
    given = {str(at): word for at, word in enumerate(arguments, start=1)}

    def known(match: re.Match[str]) -> str:
        return given.get(match[1] or match[3], match[2] or "")

    text = re.sub(r"\$(?:\{(\d)(?::?-([^}]*))?\}|(\d))", known, text)
    for name, value in re.findall(r"""^\s*(\w+)=["']?([\w-]+)["']?\s*$""", text, re.MULTILINE)[:20]:
        text = re.sub(rf"\$(?:\{{{name}\}}|{name}\b)", value, text)
    return text


def _poe(tree: RepositoryTree, folder: str, words: Sequence[str]) -> list[str] | None:
    names = [word for word in words if not word.startswith("-")]
    return task_lines(tree, folder, names[0]) if names else None


_READERS: Mapping[str, Callable[[RepositoryTree, str, Sequence[str]], list[str] | None]] = {
    "make": make_lines,
    "gmake": make_lines,
    "just": just_lines,
    "poe": _poe,
    "poethepoet": _poe,
}
