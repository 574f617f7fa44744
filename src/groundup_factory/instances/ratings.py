"""How likely a job tests in a leg of its matrix: systems, versions, and how ordinary its values are.

A leg is rated by its values, never by what this machine has, so that every machine takes the same leg.
"""

import re
from collections.abc import Iterator

from groundup.workflows.matrix import Leg, flat

_PYTHON_MINOR = 12
_NODE_MAJORS = (20, 22, 18, 24, 16, 26, 14, 12)
_NODE_NAMES = {"lts/*": 22, "lts/jod": 22, "lts/iron": 20, "lts/hydrogen": 18, "lts/krypton": 24, "lts": 22}
_ODD = re.compile(
    r"(?<![a-z])(?:min(?:imum|imal)?|low(?:est)?|old(?:est)?|[a-z]*dev|devel|nightly|beta|alpha|canary|pre|next|experimental|"
    r"unstable|legacy|windows|win|mac(?:os)?|darwin|musl|arm\w*|aarch64|i[36]86|riscv\w*|wasm\w*|powerpc\w*|s390x|sparc\w*|loongarch\w*|no|without|upstream|"
    r"master|extras?|lint|docs?|mypy|style|flake8|black|isort|pinned|msrv|pypy[\d.-]*|graalpy\S*|free-?threaded|debug|"
    r"coverage|cover|slow|benchmarks?)(?![a-z])",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    r"(?<![a-z])(?:base|default|stable|standard|release|linux|ubuntu|py|root|core|main|full)(?![a-z])",
    re.IGNORECASE,
)
_WINDOWS, _MAC, _LINUX_RUNNERS = ("windows", "win-"), ("macos", "mac-", "darwin"), ("ubuntu", "linux", "debian")


def system_rating(runner: str) -> float:
    """Return 1 for Linux on the usual processor, less for what else a job may run on."""
    label = runner.lower()
    if any(word in label for word in _WINDOWS):
        return 0.0
    if any(word in label for word in _MAC):
        return 0.2
    if not any(word in label for word in _LINUX_RUNNERS):
        return 0.5
    return 0.7 if re.search(r"arm|aarch64", label) else 1.0 if label in ("ubuntu-latest", "ubuntu") else 0.97


def version_rating(kind: str, version: str) -> float:
    """Return how good a version of a language is: 1 for a common and released one."""
    text = version.strip().lower()
    if kind == "python":
        return _python(text)
    if kind == "node":
        return _node(text)
    if kind == "rust":
        return {"stable": 1.0, "": 1.0, "beta": 0.3, "nightly": 0.2}.get(text, 0.5 if text[:1].isdigit() else 0.4)
    if kind == "dotnet":
        return _dotnet(text)
    return 0.5


def _python(text: str) -> float:
    minor = re.fullmatch(r"(?:cpython-?|python-?)?3\.?(\d+)(?:\.\d+|\.x)?(.*)", text)
    if minor is None:
        return 0.6 if text in ("3", "3.x", "") else 0.1
    if minor[2]:
        return 0.15  # free-threaded, development, release candidate
    away = int(minor[1]) - _PYTHON_MINOR
    return max(0.2, 1.0 - (0.1 * away + 0.02 if away > 0 else -0.09 * away))


def _node(text: str) -> float:
    name = re.search(r"\d+", text)
    major = _NODE_NAMES.get(text, int(name[0]) if name else 0)
    if major in _NODE_MAJORS:
        return 1.0 - 0.1 * _NODE_MAJORS.index(major)
    return 0.15 if major else 0.3


def _dotnet(text: str) -> float:
    found = re.fullmatch(r"(?:net|netcoreapp)?(\d+)(?:\.[\dx*][\w.*-]*)?", text)
    if re.fullmatch(r"net\d{2,3}", text) or found is None:
        return 0.2
    return {8: 1.0, 9: 0.95, 10: 0.9, 6: 0.8, 7: 0.7}.get(int(found[1]), 0.4)


_PYTHON_KEYS = (
    (re.compile(r"(?:^|[^a-z])py(?:thon|$|[^a-z])"), re.compile(r"(?:\d|pypy).*", re.DOTALL)),
    (re.compile(r"(?:^|\.|tox|nox)[_-]?(?:envs?|session|interpreter)$"), re.compile(r"3\.\d+t?(?:-dev)?")),
)
"""Keys with the values that are versions of Python there; `tox -e 3.12` takes its interpreter's."""


def versions_in(leg: Leg) -> Iterator[tuple[str, str]]:
    """Yield kind and version of the languages that the values of a leg name."""
    for key, value in flat(leg):
        name = key.lower()
        inner = re.search(r"(?:^|[^a-z])(?:py|python-?)(3\.?\d+t?)(?![\d.])", value.lower())
        if inner:
            yield "python", inner[1]
        elif any(of_key.search(name) and of_value.fullmatch(value) for of_key, of_value in _PYTHON_KEYS):
            yield "python", value
        elif "node" in name or re.match(r"node\.?js \d|io\.js", value.lower()):
            yield "node", value
        elif re.search(r"rust|toolchain", name):
            yield "rust", value
        elif re.search(r"dotnet|framework|tfm", name):
            yield "dotnet", value


def plainness(leg: Leg) -> float:
    """Return how ordinary the values of a leg are; 0 where no word is ordinary or odd."""
    rating = 0.0
    for key, value in flat(leg):
        if "feature" in key.lower():  # what more features are on for needs more of the dependencies
            rating += 0.3 * ("all" in value.lower()) - 0.3 * (not value or "no-default" in value)
        if not value or key.rpartition(".")[2] in ("os", "runs-on", "runner", "platform", "host"):
            continue
        rating -= 0.25 * len(_ODD.findall(value))
        rating += 0.1 * bool(_PLAIN.search(value))
        rating += 0.1 * ("x86_64" in value or "x64" in value) * ("linux" in value)
        if value == "true" and _ODD.search(key):
            rating -= 0.25
        rating -= 0.2 * (value == "true" and "cross" in key)
    return rating
