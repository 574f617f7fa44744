"""The text of shell scripts: where commands end, and which scripts stand within others.

Quotes, comments and here-documents are text, whatever they hold. It shows what is run, and runs nothing.
"""

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

_CONTINUED = re.compile(r"[\\`]\r?\n\s*")
_BALANCED = r"(?>[^()]|\((?>[^()]|\((?>[^()]|\([^()]*+\))*+\))*+\))*+"
"""What parentheses may hold: others, three deep."""
_TOKEN = re.compile(
    rf"""
    (?P<here><<-?[ ]*+(?P<quote>['"]?)(?P<word>\w+)(?P=quote))
    |(?P<operator>&&|\|\||;|\||\n|(?<![<>&])&(?![>&]))
    |(?P<comment>(?:(?<=\s)|(?<![\s\S]))\#[^\n]*+)
    |'[^']*+' | "(?>\\.|\$\({_BALANCED}\)|[^"\\])*+" | \$\({_BALANCED}\) | `[^`\n]*+` | \\.
    |[^\\'"`\#<&|;\n$\s]++ | .
    """,
    re.VERBOSE | re.DOTALL,
)
_WITHIN = re.compile(rf"'[^']*+'|\$\(({_BALANCED})\)|`([^`\n]++)`")
_NO_COMMAND = ("//", "::", "REM ")
"""How comments of other shells begin."""


class ScriptPart(NamedTuple):
    """What stands between two operators."""

    text: str
    operator: str
    """What ends it: `&&`, `||`, `;`, `|`, `&`, a line feed, or nothing."""


def pieces(script: str) -> Iterator[ScriptPart]:
    """Yield the pieces of *script* that are not empty, without comments and here-documents."""
    text = ""
    ending: list[str] = []
    """Words that end the here-documents of this line."""
    script = _CONTINUED.sub(" ", script)
    at = 0
    while at < len(script):
        match = _TOKEN.match(script, at)
        assert match is not None  # any character is a token
        at = match.end()
        operator = match["operator"]
        if match["here"]:
            ending.append(match["word"])
        elif operator is None:
            text += "" if match["comment"] else match[0]
        else:
            if operator == "\n":
                for word in ending:
                    at = _after_document(script, at, word)
                ending.clear()
            yield from _piece(text, operator)
            text = ""
    yield from _piece(text, "")


def _piece(text: str, operator: str) -> Iterator[ScriptPart]:
    if text.strip() and not text.strip().startswith(_NO_COMMAND):
        yield ScriptPart(text.strip(), operator)


def _after_document(script: str, at: int, word: str) -> int:
    """Return where the here-document from *at* on that ends with *word* is over; *at* where it never ends."""
    end = re.compile(rf"^[ \t]*{word}[ \t]*$\n?", re.MULTILINE).search(script, at)
    return at if end is None else end.end()


_DOCUMENT = r"<<-?[ ]*+['\"]?(?P<word>\w++)['\"]?"
_BODY = r"[^\n]*+\n(?P<body>.*?)^[ \t]*(?P=word)[ \t]*$"
_WRITTEN = re.compile(rf"^[^\n#<]*?\b(?:cat|tee)\b[^\n<]*+{_DOCUMENT}{_BODY}", re.MULTILINE | re.DOTALL)
_TARGET = re.compile(r"(?:>|\btee\b(?:\s+-a)?)\s*[\"']?(?:\./)?([\w./-]+)")
_GIVEN = re.compile(
    rf"^[ \t]*(?:ba|z)?sh\b[^\n|;&<]*+{_DOCUMENT}[ \t]*+\n(?P<body>.*?)^[ \t]*(?P=word)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)


_READ = re.compile(
    rf"^(?P<indent>[ \t]*)(?P<program>python[\d.]*|node)(?:[ \t]+-)?[ \t]*{_DOCUMENT}[ \t]*+\n"
    r"(?P<body>.*?)^[ \t]*(?P=word)[ \t]*$\n?",
    re.MULTILINE | re.DOTALL,
)
"""A program that is read from the script: `python - <<END`."""


def written_files(script: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file that *script* writes: `cat > go.sh <<'END'`."""
    for match in _WRITTEN.finditer(script):
        if target := _TARGET.search(match[0].partition("\n")[0]):
            yield target[1], match["body"]


def with_given_scripts(script: str) -> str:
    """Return *script* with what a shell is given in it (`bash <<'END'`) in the place of that command.

    What Python or Node is given stands after `-c` then.
    """
    script = _GIVEN.sub(lambda match: match["body"], script)
    return _READ.sub(
        lambda match: f"{match['indent']}{match['program']} -c {shlex.quote(match['body'])}\n", script
    )


def substituted(text: str) -> Iterator[str]:
    """Yield the scripts whose output stands in *text*: `$(script)`, also within double quotes."""
    for match in _WITHIN.finditer(text):
        if inner := match[1] or match[2]:
            yield inner
