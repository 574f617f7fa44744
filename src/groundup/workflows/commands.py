"""Scripts taken apart into simple commands: words without the keywords, variables and wrappers around a program.

An approximation of shells that is good enough to see which programs are called; nothing is executed.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

_CONTINUED = re.compile(r"[\\`]\r?\n\s*")
_PARTS = re.compile(r"&&|\|\||;|\||(?<![<>&])&(?![>&])")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_KEYWORDS = frozenset({
    "if", "then", "else", "elif", "do", "while", "until", "!", "{", "(", "exec", "time", "sudo", "nohup",
    "command", "env", "nice", "stdbuf", "&", "call", "@", "-", "try",
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
_TAKES_VALUE: Mapping[str, frozenset[str]] = {
    "uv": _UV_VALUES,
    "uvx": _UV_VALUES,
    "timeout": frozenset({"-s", "-k", "--signal"}),
    "xvfb-run": frozenset({"-s", "-n", "-e", "--server-args", "--server-num"}),
    "coverage": frozenset({"--source", "--omit", "--include", "--rcfile", "--context", "--data-file"}),
    "npx": frozenset({"-p", "--package"}),
    "poetry": frozenset({"-C", "--directory"}),
    "env": frozenset({"-u"}),
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


def simple_commands(script: str) -> Iterator[list[str]]:
    """Yield the words of each command of *script*, wrappers and assignments taken away."""
    for line in _CONTINUED.sub(" ", script).splitlines():
        text = line.strip()
        if not text or text.startswith(("#", "//", "::", "REM ")):
            continue
        for part in _PARTS.split(text):
            words = unwrapped(_words(part))
            if words:
                yield words


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def unwrapped(words: Sequence[str]) -> list[str]:
    """Return *words* from the program on that is run in the end."""
    rest = list(words)
    while rest:
        first = rest[0]
        if first.lower() in _KEYWORDS or _ASSIGNMENT.match(first):
            rest = rest[1:]
            if first == "env":
                rest = _after_options(rest, _TAKES_VALUE["env"])
            continue
        inner = _inner(rest)
        if inner is None:
            break
        rest = inner
    return rest


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
        if program == "timeout":
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
