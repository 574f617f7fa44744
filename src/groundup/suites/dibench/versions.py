"""Whether any published version satisfies a constraint, in the grammar of each language. Pure.

Three answers: yes, no, and None for what the constraint alone does not decide (a tag, a property, a template).
Pre-releases count only where the constraint names one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from groundup.manifests.records import Language
from groundup.suites.dibench.published import specifier

Key = tuple[tuple[int, ...], tuple[tuple[int, int, str], ...]]
Test = Callable[[Key], bool]
_SEMVER = re.compile(r"[vV=]?(\d+(?:\.\d+){0,3})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
_PARTIAL = re.compile(
    r"(?P<operator>\^|~>|~|>=|<=|>|<|=)?\s*[vV]?"
    r"(?P<numbers>(?:\d+|[xX*])(?:\.(?:\d+|[xX*])){0,3})(?:-(?P<pre>[0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
)
_HYPHEN = re.compile(r"^\s*(\S+)\s+-\s+(\S+)\s*$")
_INTERVAL = re.compile(
    r"(?P<low_end>[\[(])\s*(?P<low>[^,\s\])]*)\s*(?P<comma>,)?\s*(?P<high>[^,\s\])]*)\s*(?P<high_end>[\])])"
)


class _UnclearError(ValueError):
    """A constraint that this grammar does not cover."""


def satisfiable(language: Language, constraint: str, versions: Sequence[str]) -> bool | None:
    """Return whether one of *versions* satisfies *constraint*."""
    text = constraint.strip()
    if text in ("", "*"):
        return True
    if language == "python":
        return _python(text, versions)
    try:
        alternatives = {"rust": _cargo, "javascript": _npm, "csharp": _nuget}[language](text)
    except _UnclearError:
        return None
    with_pre = "-" in text
    known = [key for key in map(_key, versions) if key is not None and (with_pre or not key[1])]
    return any(all(test(key) for test in tests) for tests in alternatives for key in known)


def _python(text: str, versions: Sequence[str]) -> bool | None:
    try:
        wanted = SpecifierSet(text)
    except InvalidSpecifier:
        try:
            wanted = SpecifierSet(specifier(text))  # Poetry's carets and tildes
        except (ValueError, InvalidSpecifier):
            return None
    return any(wanted.contains(version, prereleases=True) for version in _python_versions(versions))


def _python_versions(versions: Iterable[str]) -> Iterator[Version]:
    for text in versions:
        try:
            yield Version(text)
        except InvalidVersion:
            continue


def _key(text: str) -> Key | None:
    match = _SEMVER.fullmatch(text.strip())
    return None if match is None else (_padded(match[1]), _prerelease(match[2]))


def _padded(numbers: str) -> tuple[int, ...]:
    parts = tuple(int(part) for part in numbers.split("."))
    return parts + (0,) * (4 - len(parts))


def _prerelease(text: str | None) -> tuple[tuple[int, int, str], ...]:
    parts = text.split(".") if text else []
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)


def _rank(key: Key) -> tuple[tuple[int, ...], bool, tuple[tuple[int, int, str], ...]]:
    """A release comes after its own pre-releases."""
    return key[0], not key[1], key[1]


def _between(low: Key, high: Key) -> Test:
    return lambda key: _rank(low) <= _rank(key) and _rank(key) < _rank(high) and key[0] != high[0]


def _cargo(text: str) -> list[list[Test]]:
    return [[_comparator(part, bare="^") for part in text.split(",") if part.strip()]]


def _npm(text: str) -> list[list[Test]]:
    found = []
    for alternative in text.split("||"):
        hyphen = _HYPHEN.match(alternative)
        if hyphen:
            found.append([_comparator(f">={hyphen[1]}", bare="="), _comparator(f"<={hyphen[2]}", bare="=")])
            continue
        joined = re.sub(r"(\^|~>|~|>=|<=|>|<|=)\s+", r"\1", alternative)
        found.append([_comparator(part, bare="=") for part in joined.split()])
    return found


def _comparator(text: str, bare: str) -> Test:
    match = _PARTIAL.fullmatch(text.strip())
    if match is None:
        raise _UnclearError(text)
    numbers = match["numbers"].split(".")
    given = numbers[: next((at for at, part in enumerate(numbers) if part in "xX*"), len(numbers))]
    if not given:
        return lambda _: True
    operator = match["operator"] or ("=" if len(given) < len(numbers) else bare)
    low: Key = (_padded(".".join(given)), _prerelease(match["pre"]))
    release = [int(part) for part in given]
    whole = len(given) >= 3
    return _test(operator, low, release, whole)


def _test(operator: str, low: Key, release: list[int], whole: bool) -> Test:
    after = (_raised(release, len(release)), ())
    if operator == "^":
        leading = next((at for at, part in enumerate(release) if part), len(release) - 1)
        return _between(low, (_raised(release, leading + 1), ()))
    if operator in ("~", "~>"):
        return _between(low, (_raised(release, min(len(release), 2)), ()))
    if operator == ">=":
        return lambda key: _rank(key) >= _rank(low)
    if operator == "<":
        return lambda key: _rank(key) < _rank(low)
    if operator == ">":
        return (lambda key: _rank(key) > _rank(low)) if whole else (lambda key: _rank(key) >= _rank(after))
    if operator == "<=":
        return (lambda key: _rank(key) <= _rank(low)) if whole else (lambda key: _rank(key) < _rank(after))
    return (lambda key: _rank(key) == _rank(low)) if whole else _between(low, after)


def _raised(release: Sequence[int], places: int) -> tuple[int, ...]:
    """Return the first *places* numbers, the last of them raised by one."""
    raised = [*release[: places - 1], release[places - 1] + 1]
    return tuple(raised) + (0,) * (4 - len(raised))


def _nuget(text: str) -> list[list[Test]]:
    interval = _INTERVAL.fullmatch(text)
    if interval is None:
        if text.endswith("*"):
            numbers = [part for part in text.rstrip("*").rstrip(".-").split(".") if part]
            low = _key(".".join(numbers)) if numbers else ((0, 0, 0, 0), ())
        else:
            low = _key(text)
        if low is None:
            raise _UnclearError(text)
        lowest = low
        return [[lambda key: _rank(key) >= _rank(lowest)]]
    low, high = (_key(interval[name]) if interval[name] else None for name in ("low", "high"))
    if (interval["low"] and low is None) or (interval["high"] and high is None):
        raise _UnclearError(text)
    if interval["comma"] is None:
        return [[lambda key: low is not None and _rank(key) == _rank(low)]]
    tests: list[Test] = []
    if low is not None:
        bottom = low
        with_low = interval["low_end"] == "["
        tests.append(lambda key: _rank(key) >= _rank(bottom) if with_low else _rank(key) > _rank(bottom))
    if high is not None:
        top = high
        with_high = interval["high_end"] == "]"
        tests.append(lambda key: _rank(key) <= _rank(top) if with_high else _rank(key) < _rank(top))
    return [tests]
