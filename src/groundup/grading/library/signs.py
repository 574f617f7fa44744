"""Signs of tampering in what a run of hidden tests reports: evidence for a person, which decides nothing.

An honest submission shows none as a rule. A clever one shows none either: code in the tests' process can hide what
it did. So their absence proves nothing.
"""

from collections.abc import Sequence

from groundup.domain.names import printable
from groundup.grading.library.report import COMPLETE, RunnerReport
from groundup.sandbox.protocol import CommandResult

NONE = "none"
"""The fact `signs` of a verdict in which signs were looked for and not found."""
FACT = "signs"
MAX_CHARS = 300
_CLOCK_S = 2.0


def signs_of(report: RunnerReport, result: CommandResult) -> tuple[str, ...]:
    """Return a phrase for each sign."""
    found = []
    complete = report.exit_code in COMPLETE
    seen = report.observed
    if seen is not None:
        if seen.changed:
            found.append(f"functions changed: {', '.join(seen.changed)}")
        if seen.frames:
            found.append(f"the submission stands in the report's path: {', '.join(seen.frames)}")
        if seen.processes:
            found.append(f"processes left: {seen.processes}")
        if seen.clock_s > _CLOCK_S:
            found.append(f"the clock went {seen.clock_s:g} s astray")
    elif complete:
        found.append("the runner did not say how it found itself at the end")
    if report.repeated:
        found.append(f"tests reported more than once: {report.repeated}")
    if report.foreign:
        found.append(f"lines on the report's descriptor that are not the runner's: {report.foreign}")
    missing = (report.collected or 0) - len(report.results)
    if complete and missing > 0:
        found.append(f"tests collected and never reported: {missing}")
    if report.exit_code is None and report.results and result.exit_code == 0:
        found.append("results without an end, from a process that left with 0")
    told_s = sum(one.duration_s for one in report.results.values())
    if told_s > 2 * result.duration_s + 5:
        found.append(f"tests are said to have taken {told_s:.0f} s of {result.duration_s:.0f} s")
    return tuple(printable(sign) for sign in found)


def as_fact(signs: Sequence[str]) -> str:
    """Return *signs* as a fact of a verdict."""
    return "; ".join(signs)[:MAX_CHARS] or NONE
