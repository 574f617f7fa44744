"""Did a job that ended well test anything, and as much as with the original? Pure.

What runners say decides (`tallies`). A job in which nobody says anything is believed, and so is one whose runners
had no test where something beside them may test in silence: a script of asserts, an example, a Cargo harness.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from groundup.domain.records import Record
from groundup.grading.ci.records import ENDED_WELL, OriginalTests, RunCommand
from groundup.grading.ci.tallies import RunnerTally
from groundup.workflows.commands import SHELL_WORDS, commands_of, options_of, program_of, unwrapped, words_of
from groundup.workflows.endings import is_empty_harness
from groundup.workflows.meanings import is_followed, prints_only
from groundup.workflows.runners import Meaning, Purpose
from groundup.workflows.shell import pieces
from groundup.workflows.tree import RepositoryTree, text_of
from groundup.workflows.workflow import Step

_HIDES = re.compile(r"(?<![0-9&])>|&>|1>")
_KEEPS = frozenset({"tee", "cat", "tail", "less", "ts"})
"""Programs behind a pipe that show the closing line."""
_QUIET = re.compile(r"-v(?:erbosity)?[:= ]q|--verbosity[:= ]q|no:terminal|--output[:= ][Qq]uiet")


class StepsWithTests(Record):
    """The steps of a job, by what they can say of tests."""

    tests: frozenset[str] = frozenset()
    """Keys of those that run tests, as far as that can be seen."""
    telling: frozenset[str] = frozenset()
    """Those whose runners never test in silence, or whose failing comes to nothing: `node check.js || true`."""
    silent: frozenset[str] = frozenset()
    """Those in which something of the project's own may test and say nothing."""
    lone: frozenset[str] = frozenset()
    """Those of one `dotnet run`: a summary in them is of that program, which is not silent then."""
    idle: str = ""
    """What is called as a test and does nothing, where the job runs no other."""
    is_unheard: bool = False
    """Whether no step is known for a test, and nothing comes of it when what may be one fails."""


def steps_with_tests(
    steps: Sequence[Step],
    meanings: Iterable[tuple[Step, Meaning]],
    tree: RepositoryTree,
    whole: Sequence[Step] = (),
) -> StepsWithTests:
    """Return what the steps that run tests can say; *meanings* are those of all steps, *whole*, of the job."""
    known = tuple(meanings)
    tests = frozenset(step.key for step in steps)
    silent = frozenset(
        step.key
        for step, meaning in known
        if not meaning.may_fail and _may_test_silently(meaning, tree, in_tests=step.key in tests)
    )
    ignored = tests - {step.key for step, meaning in known if not meaning.may_fail and meaning.purpose in _RUNS}
    ignored &= {step.key for step, meaning in known if meaning.purpose in _RUNS}
    telling = {step.key for step in steps if step.run is not None and _always_tells(step.run)}
    comparing = _comparing(whole)
    may_test = bool(tests or silent or comparing)
    alone = [meaning for _, meaning in known]
    return StepsWithTests(
        tests=tests,
        telling=telling | ignored,
        silent=silent | comparing if tests else silent,
        lone=_lone(known),
        idle="" if may_test else _idle(alone, whole),
        is_unheard=not may_test and _is_unheard(alone, whole),
    )


def _lone(meanings: Sequence[tuple[Step, Meaning]]) -> frozenset[str]:
    by_step: defaultdict[str, list[str]] = defaultdict(list)
    for step, meaning in meanings:
        by_step[step.key].append(meaning.command)
    return frozenset(
        key for key, (first, *others) in by_step.items() if not others and first.startswith("dotnet run")
    )


_RUNS = frozenset({Purpose.TEST, Purpose.OWN})
_COMPARED = re.compile(
    r"(?:^|\s)(?:\[\[?|test)\s[^\n]*\$\((?!\s*(?:uname|git|which|command|date|id|whoami|nproc|node -v)\b)"
    r"|(?:^|\s)(?:diff|cmp)\s|\bgrep\s+-\w*q"
)


def _comparing(whole: Sequence[Step]) -> frozenset[str]:
    """Return the steps whose own script compares what a program prints: `test "$(./tool)" = 4`."""
    return frozenset(
        step.key
        for step in whole
        if step.run is not None
        and any(_COMPARED.search(piece.text) and piece.operator not in ("||", "&&") for piece in pieces(step.run))
    )


def _idle(meanings: Sequence[Meaning], whole: Sequence[Step]) -> str:
    """Return what the steps of a job do in place of testing; empty where one of them may test."""
    unknown = _not_followed(meanings, whole)
    if unknown or not meanings or not all(map(_tests_nothing, meanings)):
        return ""
    last = next((one for one in meanings if one.purpose is Purpose.NOTHING), meanings[-1])
    return " is ".join((*last.via[:1], repr(last.command)))


def _is_unheard(meanings: Sequence[Meaning], whole: Sequence[Step]) -> bool:
    unknown = _not_followed(meanings, whole)
    heard = [meaning for meaning in meanings if not meaning.may_fail and not _tests_nothing(meaning)]
    return not heard and all(unknown)


def _not_followed(meanings: Sequence[Meaning], whole: Sequence[Step]) -> list[bool]:
    """Return for each command of the job of which nothing is known whether it may fail and nothing comes of it."""
    followed = {path for meaning in meanings for path in meaning.via}
    local = [False for step in whole if (step.uses or "").startswith("./")]
    return local + [
        may_fail
        for step in whole
        for words, may_fail, _ in commands_of(step.run or "")
        if words[0] not in SHELL_WORDS
        and words[0].removesuffix("()") not in _functions(step.run or "")
        and not is_followed(words)
        and not any(word.removeprefix("./") in followed for word in words[:4])
    ]


def _functions(script: str) -> frozenset[str]:
    """Return the names of a script's own functions; what they call stands in the script."""
    return frozenset(re.findall(r"(?m)^\s*(?:function\s+)?([\w-]+)\s*\(\)\s*\{?", script))


def _tests_nothing(meaning: Meaning) -> bool:
    words = meaning.command.split(maxsplit=2)
    if meaning.purpose is Purpose.BUILD:
        verb = next((word for word in words[1:] if not word.startswith("+")), "").partition(" ")[0]
        return program_of(words[0]) in _BUILDERS and verb in _BUILDING
    if meaning.purpose is Purpose.OTHER:
        return prints_only(words) or (words[1:2] == ["run"] and _ONLY_MAKES.match(words[-1]) is not None)
    if meaning.purpose is Purpose.OWN:
        name = _named(words).lower()
        return _ONLY_MAKES.match(name) is not None
    return meaning.purpose in (Purpose.NOTHING, Purpose.CHECK, Purpose.DOCS, Purpose.PUBLISH)


_ONLY_MAKES = re.compile(r"(?:build|compile|bundle|lint|format|clean|generate|publish)\b")
"""Names of programs that test nothing, whatever they are called by."""
_BUILDERS = frozenset({"cargo", "dotnet", "python"})
_BUILDING = frozenset({
    "build", "b", "check", "c", "restore", "publish", "pack", "clean", "fetch", "install", "update", "tree",
    "package", "metadata", "vendor", "generate-lockfile", "rustc", "fix", "add", "new", "tool", "workload", "-m",
    "setup.py",
})  # fmt: skip
"""What they are called for where they build, and run nothing of it. Aliases of Cargo may run anything."""


def _always_tells(script: str) -> bool:
    """Whether all that *script* runs of known runners is such as never tests in silence, and can be read."""
    found = list(pieces(script))
    tellers = 0
    for position, piece in enumerate(found):
        words = unwrapped(words_of(piece.text))
        if not words or not _is_teller(words):
            continue
        after = found[position + 1] if piece.operator == "|" and position + 1 < len(found) else None
        shown = after is None or program_of(after.text.split()[0]) in _KEEPS
        if not shown or _HIDES.search(piece.text) or _QUIET.search(piece.text):
            return False
        tellers += 1
    return tellers > 0


def _is_teller(words: Sequence[str]) -> bool:
    program = program_of(words[0])
    if program in ("dotnet", "cargo"):
        verb = next((word for word in words[1:] if not word.startswith(("-", "+"))), "")
        return verb in ("test", "t")
    if program in ("mocha", "jest", "vitest", "ava"):
        return not any(re.match(r"-R|--reporters?\b|--silent|--outputFile|--json", word) for word in words[1:])
    return program in ("pytest", "py.test") or (program == "python" and words[1:3] == ["-m", "unittest"])


_PREPARING = re.compile(
    r"build|gen(?:erate)?|setup|install|prepare|download|fetch|lint|fmt|format|version|release|publish|report|docs?"
    r"|clean|bench|upload|deploy|bootstrap|migrate|seed|serve|server|start|compile|bundle|changelog|coverage"
)
"""Names of programs that do something else than testing."""
_CHECKING = re.compile(
    r"check|verif|valid|assert|smoke|example|demo|spec|test|self|sanity|e2e|integration|try|prove"
    r"|probe|trial|accept|regress|conform|golden"
)
_ASSERTS = re.compile(r"\bassert|process\.exit|\bthrow\b|sys\.exit|unwrap\(")


def _may_test_silently(meaning: Meaning, tree: RepositoryTree, *, in_tests: bool) -> bool:
    """Whether a command may test and print no closing line; beside the tests' own steps its name must say so."""
    words = meaning.command.split()
    program = program_of(words[0])
    if meaning.purpose is Purpose.TEST and program == "cargo":
        return _has_own_harness(words, tree)
    if meaning.purpose is Purpose.TEST and program in ("python", "node"):
        return _asserts_by_itself(words, tree)
    if meaning.purpose is Purpose.OTHER:
        return ("-c" in words or "-e" in words) and _ASSERTS.search(meaning.command) is not None
    runs = program in ("cargo", "dotnet") and "run" in words[1:3]
    if meaning.purpose is not Purpose.OWN and not (meaning.purpose is Purpose.BUILD and runs):
        return False
    name = " ".join(options_of(words, "--example", "--bin", "--project", "-p")) if runs else _named(words)
    name = name.lower().rpartition("/")[2]
    called = next((one for one in reversed(meaning.via) if "/" not in one), "")  # `npm e2e` leads to e2e/run.js
    return any(map(_CHECKING.search, (name, called))) or (in_tests and not _PREPARING.search(name))


_FRAMEWORKS = re.compile(
    r"\b(?:unittest|pytest|doctest|nose2?|behave|node:test|mocha|jest|vitest|tape|tap|jasmine|qunit|ava|uvu)\b"
)


def _asserts_by_itself(words: Sequence[str], tree: RepositoryTree) -> bool:
    """Whether a script called as a test has asserts, and no framework that would count them."""
    script = next((word for word in words[1:] if re.search(r"\.(?:py|[cm]?js)$", word)), "")
    ending = "/" + script.removeprefix("./")
    text = next((text_of(tree, path) for path in sorted(tree.paths()) if f"/{path}".endswith(ending)), None)
    return bool(script and text and _ASSERTS.search(text)) and not _FRAMEWORKS.search(text or "")


def _named(words: Sequence[str]) -> str:
    script = next((word for word in words if re.search(r"\.\w+$|/", word)), words[0])
    return PurePosixPath(script).name


def _has_own_harness(words: Sequence[str], tree: RepositoryTree) -> bool:
    """Whether `cargo test` runs a target whose `harness = false`: it prints what it likes."""
    if {"--lib", "--doc", "--bin", "--bins", "--example", "--examples"} & set(words):
        return False
    return any(
        section.startswith(("[test]]", "lib]"))
        and re.search(r"(?m)^\s*harness\s*=\s*false", section)
        and not is_empty_harness(text_of(tree, _target(path, section)) or "")
        for path in tree.paths()
        if PurePosixPath(path).name == "Cargo.toml"
        for section in re.split(r"(?m)^\s*\[", text_of(tree, path) or "")
    )


def _target(manifest: str, section: str) -> str:
    """Return the file of a target of Cargo."""
    named = re.search(r'(?m)^\s*name\s*=\s*"([^"]+)"', section)
    placed = re.search(r'(?m)^\s*path\s*=\s*"([^"]+)"', section)
    return str(PurePosixPath(manifest).parent / (placed[1] if placed else f"tests/{named[1] if named else ''}.rs"))


class CountedTests(Record):
    """What the runners of a job's own steps say together."""

    passed: int | None = None
    """None where no line says it."""
    failed: int = 0
    lines: dict[str, tuple[int, ...]] = {}
    """How many passed by each line, most first, by step and runner."""
    is_silent: bool = False
    """Whether something ran that may have tested in silence."""
    is_cut: bool = False
    """Whether a part of the output was not kept: what says so may have been in it."""


def counted_tests(
    job: str, steps: StepsWithTests, commands: Sequence[RunCommand], soft: Collection[str]
) -> CountedTests:
    """Return what the runners in the steps of *job* say; *soft* are the keys of steps whose end does not count."""
    own = [one for one in commands if one.job == job and one.step not in soft]
    ran = [one for one in own if one.step in steps.tests or not steps.tests]
    lines: defaultdict[str, list[int]] = defaultdict(list)
    for one in ran:
        for tally in one.tallies:
            if tally.passed is not None:
                lines[f"{one.step} {tally.runner}"].append(tally.passed)
    tellers = {one.step for one in ran if one.tallies} | steps.telling
    ended = {one.step for one in own if one.exit_code == 0}
    summed = {one.step for one in ran if one.tallies} & steps.lone
    is_silent = bool(ended & steps.silent - summed) or any(one.step in steps.tests - tellers for one in ran)
    if any(one.cut for one in ran):
        return CountedTests(is_cut=True)
    passed = sum(map(sum, lines.values())) if lines else None
    told = any(one.tallies for one in ran)
    if passed is None and ran and not told and (steps.is_unheard or all(one.step in steps.telling for one in ran)):
        passed = 0
    return CountedTests(
        passed=passed,
        failed=sum(_failed(one.tallies) for one in ran),
        lines={name: tuple(sorted(counts, reverse=True)) for name, counts in lines.items()},
        is_silent=is_silent,
    )


def _failed(tallies: Sequence[RunnerTally]) -> int:
    """Return how many failed in the end: a runner that is called again for those that failed settles them."""
    return sum(
        tally.failed
        for position, tally in enumerate(tallies)
        if not any(_settles(later, tally) for later in tallies[position + 1 :])
    )


def _settles(later: RunnerTally, tally: RunnerTally) -> bool:
    again = (tally.failed, tally.failed + (tally.passed or 0))
    return later.runner == tally.runner and not later.failed and later.passed in again


def why_not_tested(found: CountedTests, steps: StepsWithTests, original: OriginalTests) -> str:
    """Return why a job that ended well shows nothing, in a sentence; empty where it shows something."""
    if found.failed:
        return f"{ENDED_WELL}{_tests(found.failed)} failed in it"
    if steps.idle:
        return f"{ENDED_WELL}it runs no tests: {steps.idle}"
    if found.passed == 0 and not found.is_silent:
        return f"{ENDED_WELL}no test passed in it"
    if found.is_cut:
        return ""
    if original.lines:
        return _fewer(found.lines, original.lines)
    if original.passed is not None and (found.passed or 0) < original.passed:
        return f"{ENDED_WELL}{_tests(found.passed or 0)} passed in it, and {original.passed} with the original"
    return ""


def _fewer(lines: Mapping[str, tuple[int, ...]], least: Mapping[str, tuple[int, ...]]) -> str:
    """Return where fewer passed than with the original: each of its lines wants one of as many."""
    for name, wanted in least.items():
        have = lines.get(name, ())
        if len(have) < len(wanted) or any(mine < its for mine, its in zip(have, wanted, strict=False)):
            _, _, runner = name.partition(" ")
            told = _tests(sum(have)) if have else "no test"
            return f"{ENDED_WELL}{told} passed in it by {runner}, and {sum(wanted)} with the original"
    return ""


def _tests(count: int) -> str:
    return f"{count} test{'s' * (count != 1)}"
