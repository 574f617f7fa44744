"""Scripts taken apart into simple commands: words without the keywords, variables and wrappers around a program.

An approximation of shells that is good enough to see which programs are called; nothing is executed.
"""

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from groundup.workflows.shell import ScriptPart, pieces, substituted, with_given_scripts

_HARMLESS = re.compile(r"(?:true|echo|printf|continue|exit 0|exit|return 0)\b(?! [1-9$\"'])|:")
_LOOKED_UP = re.compile(r"\$\(\s*(?:which|command\s+-v)\s+([\w./-]+)\s*\)")
_DEFAULT = re.compile(r"\$\{\w+:?-([\w./-]+)\}")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_KEYWORDS = frozenset({
    "if", "then", "else", "elif", "do", "while", "until", "!", "{", "(", "exec", "time", "sudo", "nohup",
    "command", "env", "&", "call", "@", "-", "try", "eval",
})  # fmt: skip
_UV_VALUES = frozenset(
    {
        "--with",
        "--from",
        "--python",
        "-p",
        "--group",
        "--extra",
        "--package",
        "--directory",
        "--no-group",
        "--only-group",
        "--index",
        "--env-file",
        "--resolution",
    }
)
_CONDA_VALUES = frozenset({"-n", "--name", "-p", "--prefix", "--cwd"})
_TAKES_VALUE: Mapping[str, frozenset[str]] = {
    "uv": _UV_VALUES,
    "uvx": _UV_VALUES,
    "timeout": frozenset({"-s", "-k", "--signal"}),
    "xvfb-run": frozenset({"-s", "-n", "-e", "--server-args", "--server-num"}),
    "coverage": frozenset({"--source", "--omit", "--include", "--rcfile", "--context", "--data-file"}),
    "npx": frozenset({"-p", "--package"}),
    "poetry": frozenset({"-C", "--directory"}),
    "env": frozenset({"-u"}),
    "sudo": frozenset({"-u", "-g", "--user", "--group"}),
    "nice": frozenset({"-n", "--adjustment"}),
    "ionice": frozenset({"-c", "-n"}),
    "xargs": frozenset({"-n", "-P", "-I", "-L", "-d", "-a", "-s"}),
    "conda": _CONDA_VALUES,
    "mamba": _CONDA_VALUES,
    "micromamba": _CONDA_VALUES,
}  # fmt: skip
"""Options of wrappers that are followed by a value of their own."""
_WRAPPERS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "uv": (("run",), ("tool", "run")),
    "uvx": ((),),
    "poetry": (("run",),),
    "pdm": (("run",),),
    "pipenv": (("run",),),
    "rye": (("run",),),
    "pixi": (("run",),),
    "pipx": (("run",),),
    "devbox": (("run",),),
    "npx": ((),),
    "bunx": ((),),
    "pnpm": (("exec",), ("dlx",)),
    "yarn": (("exec",), ("dlx",)),
    "npm": (("exec",),),
    "bundle": (("exec",),),
    "xvfb-run": ((),),
    "timeout": ((),),
    **dict.fromkeys(("nice", "ionice", "stdbuf", "unbuffer", "setsid", "retry", "xargs"), ((),)),
    **dict.fromkeys(("conda", "mamba", "micromamba"), (("run",),)),
    "dbus-run-session": ((),),
    "catchsegv": ((),),
    "cross-env": ((),),
    "dotenv": ((),),
    "nyc": ((),),
    "c8": ((),),
    "coverage": (("run",),),
    "dotnet": (("tool", "run"),),
}
_MODULES = ("tox", "nox", "pytest", "coverage", "invoke", "poetry", "hatch", "pdm", "poethepoet", "uv")


class SimpleCommand(NamedTuple):
    """One command of a script."""

    words: list[str]
    may_fail: bool
    """Whether the script's exit code is the same when it fails: `|| true`, `| tee log`, after `set +e`."""
    subshells: tuple[int, ...] = ()
    """In which it stands, from the outermost on: what one sets, `cd` above all, ends with it."""


def simple_commands(script: str) -> Iterator[list[str]]:
    """Yield the words of each command of *script*, wrappers and assignments taken away."""
    return (command.words for command in commands_of(script))


def commands_of(script: str, *, stops: bool = True) -> Iterator[SimpleCommand]:
    """Yield each command of *script*; *stops*: a shell that ends with the first one that fails runs it."""
    found = list(pieces(with_given_scripts(script)))
    last = _last_list(found)
    tells_itself = _EXITS.search(script) is not None
    all_may_fail, piped = _ALWAYS_WELL.search(script) is not None, False
    inside = _inside_ignored(found)
    for position, (piece, (own, subshells)) in enumerate(zip(found, _words_in(found), strict=True)):
        if own[:1] == ["set"]:
            stops = bool(re.search(r"(?:^| )-\w*e|-o errexit", piece.text)) or (
                stops and not re.search(r" \+\w*e|\+o errexit", piece.text)
            )
            piped = piped or "pipefail" in piece.text
        following = found[position + 1].text if position + 1 < len(found) else ""
        ignored = (piece.operator == "||" and _HARMLESS.match(following) is not None) or (
            not tells_itself
            and (
                not _ASKS.isdisjoint(own[:1])
                or ((not stops or piece.operator == "&&") and position < last)
                or (piece.operator == "|" and not piped and _passes_on(_end_of_pipe(found, position)))
            )
        )
        ignored = (
            ignored
            or (piece.operator == "&" and _WAITS.search(script) is None)
            or (position in inside and not tells_itself)
        )
        words = unwrapped(own)
        inner = _script_of(words)
        ignored = ignored or (words[:1] == ["script"] and re.search(r" -\w*e| --return", piece.text) is None)
        ignored = ignored or (words[:1] == ["grunt"] and "--force" in words)
        if words and program_of(words[0]) == "find" and (called := _called_by_find(words)):
            yield SimpleCommand(called.words, called.may_fail or ignored or all_may_fail, subshells)
        elif inner is not None:
            for command in commands_of(inner, stops=False):
                within = (*subshells, -1 - position, *command.subshells)  # parentheses count from 0
                yield SimpleCommand(command.words, command.may_fail or ignored or all_may_fail, within)
        elif words:
            yield SimpleCommand(words, ignored or all_may_fail, subshells)


_EXITS = re.compile(r"\b(?:exit|return)\s+[\"']?(?:\$|[1-9])|\bfalse\b")
"""The script itself says how it ended."""
_WAITS = re.compile(r"\bwait\s+(?:-\w+\s+)*[\"']?[$%\d]|\bwait\s+-\w*n")
"""The exit code of what ran in the background is asked for; `wait` alone ends well."""
_ALWAYS_WELL = re.compile(r"\btrap\s+[\"'](?:exit 0|true|:)[\"']\s+(?:EXIT|ERR|0)\b")
_ASKS = frozenset({"if", "elif", "while", "until", "!"})
_PASSES_ON = frozenset({"tee", "cat", "tail", "head", "sed", "awk", "less", "ts", "sort", "tr", "cut", "while"})
"""Programs that end well whatever comes to them through a pipe."""


def _end_of_pipe(found: Sequence[ScriptPart], position: int) -> str:
    """Return the last command of the pipe that *position* is in, whose exit code counts."""
    while found[position].operator == "|" and position + 1 < len(found):
        position += 1
    return found[position].text


def _passes_on(command: str) -> bool:
    words = command.split()
    return program_of(words[0]) in _PASSES_ON or (
        words[0] == "grep" and re.match(r"-\w*v", words[1] if words[1:] else "") is not None
    )


_CLOSES = frozenset({"done", "fi", "esac", "}", ")"})


_OPENS = re.compile(r"(?:for|while|until|if|case|select|\{)\s|\(")
_CLOSING = re.compile(r"(?:done|fi|esac|\})(?=[\s;)<>&|]|$)|[^$]*\)$")


def _inside_ignored(found: Sequence[ScriptPart]) -> frozenset[int]:
    """Return which pieces lie in a loop, a group or a subshell of which nothing comes: `done || true`."""
    opened: list[int] = []
    ignored: set[int] = set()
    for at, piece in enumerate(found):
        text = piece.text.removeprefix("do ").removeprefix("then ").strip()
        if _OPENS.match(text):
            opened.append(at)
        if opened and _CLOSING.match(text) and not (text.endswith(")") and "(" in text[1:]):
            begin = opened.pop()
            following = found[at + 1].text if at + 1 < len(found) else ""
            if piece.operator == "||" and _HARMLESS.match(following):
                ignored.update(range(begin, at + 1))
    return frozenset(ignored)


SHELL_WORDS = frozenset({
    "for", "select", "case", "in", "do", "done", "fi", "esac", "}", ")", "read", "shift", "local", "break",
    "continue", "function", "wait", "trap", "return",
})  # fmt: skip
"""First words of what a shell does itself."""


def _called_by_find(words: Sequence[str]) -> SimpleCommand | None:
    """Return what `find` calls for files; its exit code is lost unless they come together (`+`)."""
    at = next((at for at, word in enumerate(words) if word in ("-exec", "-execdir", "-ok", "-okdir")), None)
    if at is None:
        return None
    end = next((end for end, word in enumerate(words) if end > at and word in (";", "\\;", "+")), len(words))
    called = unwrapped(words[at + 1 : end])
    return SimpleCommand(called, may_fail="+" not in words[end : end + 1]) if called else None


def _last_list(found: Sequence[ScriptPart]) -> int:
    """Return where the last list of commands that `&&` and pipes join begins: it decides the exit code."""
    for at in reversed(range(1, len(found))):
        if found[at].text.strip() not in _CLOSES and found[at - 1].operator in (";", "\n", "&", ""):
            return at
    return 0


def needed_programs(script: str) -> frozenset[str]:
    """Return the names of the programs that *script* cannot do without: what it runs, wrappers included.

    Not what it only names in a text, looks for (`command -v`), or may fail at (`|| true`).
    """
    needed: set[str] = set()
    looked_for: set[str] = set()
    _gather(script, needed, looked_for)
    return frozenset(needed - looked_for)


def _gather(script: str, needed: set[str], looked_for: set[str], depth: int = 4) -> None:
    """Add what *script* runs to *needed*, and what it looks for to *looked_for*."""
    found = list(pieces(script)) if depth else []
    for (piece, (words, _)), following in itertools.zip_longest(
        zip(found, _words_in(found), strict=True), found[1:]
    ):
        may_fail = piece.operator == "||" and following is not None and _HARMLESS.match(following.text)
        layers = list(_layers(words))
        for layer in layers:
            if looked := _looked_for(layer):
                looked_for.update(map(program_of, looked))
            elif not may_fail:
                needed.add("pwsh" if layer[0].endswith(".ps1") else program_of(layer[0]))
        script_of = _script_of(layers[-1]) if layers else None
        for inner in (*substituted(piece.text), *([script_of] if script_of else ())):
            _gather(inner, needed, looked_for, depth - 1)


def _looked_for(words: Sequence[str]) -> Sequence[str]:
    """Return the programs that a command looks for, as `command -v dotnet` and `which dotnet` do."""
    if words[0] in ("command", "type", "hash"):
        return [word for word in words[1:] if not word.startswith("-")] if words[1:2] != ["--"] else ()
    return words[1:] if words[0] in ("which", "where", "Get-Command") else ()


def _script_of(words: Sequence[str]) -> str | None:
    """Return the script that a command is given as a word: `bash -c "dotnet test"`."""
    program = program_of(words[0]) if words else ""
    if program in ("bash", "sh"):
        at = next((at for at, word in enumerate(words) if re.fullmatch(r"-[a-z]*c", word)), None)
        return words[at + 1] if at is not None and at + 1 < len(words) else None
    if program == "script":
        return next(iter(options_of(words, "-c", "-ec", "-qec", "--command")), None)
    if program == "dotnet-coverage" and "collect" in words:
        return words[-1] if " " in words[-1] else None
    return None


_SUBSHELL = re.compile(r"(?:(?:if|then|do|else|elif|while|until|!|time)\s+)*(\(+)(?!\()")


def _words_in(found: Sequence[ScriptPart]) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """Yield the words of each piece, without parentheses of subshells, and in which of these it stands."""
    opened: list[int] = []
    number = itertools.count()
    for piece in found:
        text, begin = piece.text, _SUBSHELL.match(piece.text)
        begun = len(begin[1]) if begin else 0
        opened += itertools.islice(number, begun)
        within = tuple(opened)
        unmatched = text.count(")") - text.count("(") + begun
        while opened and unmatched > 0 and text.endswith(")"):
            text, unmatched = text[:-1].rstrip(), unmatched - 1
            opened.pop()
        yield words_of(text), within


def words_of(text: str) -> list[str]:
    """Return the words of one command, as a shell takes them apart; `$(which x)` and `${X:-x}` are `x`."""
    text = _LOOKED_UP.sub(r"\1", _DEFAULT.sub(r"\1", text))
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def unwrapped(words: Sequence[str]) -> list[str]:
    """Return *words* from the program on that is run in the end."""
    layers = list(_layers(words))
    return layers[-1] if layers else []


def _layers(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield *words* from each program on that is run: the wrappers, and last what they run."""
    rest = list(words)
    while rest:
        first = rest[0].lstrip("(")
        if not first or first.lower() in _KEYWORDS or _ASSIGNMENT.match(first):
            if first == "command" and rest[1:2] and rest[1].startswith("-"):
                yield rest
                return
            rest = rest[1:]
            if first in _TAKES_VALUE:  # `env` and `sudo`
                rest = _after_options(rest, _TAKES_VALUE[first])
            continue
        rest[0] = first
        yield rest
        inner = _inner(rest)
        if inner is None:
            return
        rest = inner


def _inner(words: list[str]) -> list[str] | None:
    """Return what a wrapper runs; None when the first word is no wrapper."""
    program = program_of(words[0])
    if program == "python" and len(words) > 2 and words[1] != "-c":
        return _module(words)
    for verbs in _WRAPPERS.get(program, ()):
        rest = _after_options(words[1:], _TAKES_VALUE.get(program, frozenset()))
        if list(verbs) != rest[: len(verbs)]:
            continue
        rest = _after_options(rest[len(verbs) :], _TAKES_VALUE.get(program, frozenset()))
        if program == "timeout" or (program == "retry" and rest[:1] and rest[0].isdigit()):
            rest = rest[1:]
        if program == "coverage":
            return ["python", *words[words.index("run") + 1 :]] if "-m" in words else ["python", *rest]
        return rest or None
    return None


def _module(words: list[str]) -> list[str] | None:
    """Return `python -m tox ...` as `tox ...`, for the modules that are programs, too."""
    for at, word in enumerate(words[1:-1], start=1):
        if word == "-m" and words[at + 1] in _MODULES:
            return words[at + 1 :]
        if word == "-m" or not (word.startswith("-") or words[at - 1] in ("-W", "-X")):
            break
    for module in _MODULES:  # as in `python -mpip`, `python -Im tox`
        for at, word in enumerate(words[1:], start=1):
            if re.fullmatch(rf"-\w*m{module}", word):
                return [module, *words[at + 1 :]]
            if re.fullmatch(r"-\w+m", word) and words[at + 1 : at + 2] == [module]:
                return words[at + 1 :]
    return None


def _after_options(words: list[str], valued: frozenset[str]) -> list[str]:
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in valued and rest:
            rest.pop(0)
    return rest


def program_of(word: str) -> str:
    """Return a program's name without folder, ending and version: `python3.11` is `python`."""
    name = re.split(r"[/\\]", word)[-1].lower()
    name = re.sub(r"\.(exe|cmd|bat)$", "", name)
    if re.fullmatch(r"(python|pypy|py)\d*(\.\d+)?t?|\$\{?python\}?|\$\(python\)", name):
        return "python"
    if name in ("$(make)", "${make}"):
        return "make"
    return re.sub(r"^(pip|pytest|coverage)[\d.-]+$", r"\1", name)


def options_of(words: Sequence[str], *names: str) -> list[str]:
    """Return the values of options, written `-e value`, `-evalue`, `--env value` or `--env=value`."""
    found = []
    for at, word in enumerate(words):
        for name in names:
            if word == name and at + 1 < len(words):
                found.append(words[at + 1])
            elif word.startswith(f"{name}="):
                found.append(word[len(name) + 1 :])
            elif not name.startswith("--") and word.startswith(name) and len(word) > len(name):
                found.append(word[len(name) :])
    return found
