"""Lines of a job's scripts that check style or types: they may fail where only the tests are to decide.

A checker that was released since, or one that looks at another interpreter's types, finds faults that have nothing
to do with the project's dependencies. A line changes only where it is one command that does nothing else.
"""

import re
from collections.abc import Iterator

from groundup.workflows.commands import program_of
from groundup.workflows.jobs import JobReader, PlacedStep, contexts_of, own_steps
from groundup.workflows.matrix import Leg
from groundup.workflows.runners import Meaning, Purpose
from groundup.workflows.workflow import Job, Workflow

PASSED_OVER = "failed and was passed over: it checks style or types"
_SEVERAL = re.compile(
    r"[#;&|`\\{}]|<<|^\s*(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|!|function)\b"
)
"""What makes of a line more than one plain command, once expressions are taken out."""
_EXPRESSION = re.compile(r"\$\{\{.*?\}\}")
_GOES_ON = re.compile(r"(?:\\|\||&&)\s*$")
_SHELLS = re.compile(r"(?:bash|sh)\b")
_COMPILERS = frozenset({"tsc", "vue-tsc"})
"""Checkers that build what the tests need, unless they are told not to."""


def lenient_scripts(reader: JobReader, workflow: Workflow, job: Job, leg: Leg) -> dict[int, str]:
    """Return the scripts of *job*'s own steps in which checks may fail, by the step's index, where they differ."""
    found: dict[int, str] = {}
    for placed in own_steps(job.steps, contexts_of(workflow, job, leg)):
        step = placed.step
        if step.run is None or "<<" in step.run or not _SHELLS.match(step.shell or job.shell or "bash"):
            continue
        script = "\n".join(_lines(reader, placed, job, step.run))
        if script != "\n".join(step.run.splitlines()):
            found[step.index] = script
    return found


def _lines(reader: JobReader, placed: PlacedStep, job: Job, script: str) -> Iterator[str]:
    before = ""
    for line in script.splitlines():
        plain = _EXPRESSION.sub("x", line)
        if _SEVERAL.search(plain) or _GOES_ON.search(before) or not _only_checks(reader, placed, job, line):
            yield line
        else:
            yield f'{line} || echo "groundup: {_name(line)}: {PASSED_OVER}"'
        before = line


def _only_checks(reader: JobReader, placed: PlacedStep, job: Job, line: str) -> bool:
    meanings = reader.of_step(placed._replace(step=placed.step.but(run=line)), job)
    return bool(meanings) and all(_is_check(meaning) for meaning in meanings)


def _is_check(meaning: Meaning) -> bool:
    words = meaning.command.split()
    builds = program_of(words[0]) in _COMPILERS and "--noEmit" not in words
    return meaning.purpose is Purpose.CHECK and not builds


def _name(line: str) -> str:
    """Return the command as a line of a log may name it; it is text within double quotes."""
    return re.sub(r"[^\w ./:=@-]", "", line).strip()[:60]
