"""What is said of a command and its limits: to an agent with its output and exit code, and of a whole program.

A limit is known by how the command ended, by the kernel's counters (a shell answers 0 after a child was killed),
and where neither counts, by the words that programs print. Durations are left out, for they never repeat.
"""

import re

from groundup.domain.limits import Limits
from groundup.sandbox.protocol import CommandResult, Ending

_KEPT = "what lies in /workspace and the home is kept, /tmp and processes are gone"
_ENDED = {
    Ending.TIMEOUT: "it ran longer than {seconds:g} s; start what takes long in the background",
    Ending.MEMORY: f"its processes used more than {{memory}} MB of memory; {_KEPT}",
    Ending.PROCESSES: f"more than {{processes}} processes and threads ran at once; {_KEPT}",
    Ending.DISK: f"more than {{disk}} MB lay in /workspace, the home or the Python environment; else {_KEPT}",
    Ending.SANDBOX_DIED: f"its first process died; {_KEPT}",
    Ending.WALL_CLOCK: "its time is over",
}
_PROGRAM_ENDED = {
    Ending.TIMEOUT: "the program did not end in time",
    Ending.WALL_CLOCK: "the program did not end in time",
    Ending.MEMORY: "the program needed more than the {memory} MB of memory that it may have",
    Ending.DISK: "the program wrote more than the {disk} MB to disk that it may",
    Ending.PROCESSES: "the program ran more than the {processes} processes and threads at once that it may",
}
_MET = {
    Ending.MEMORY: "out of memory: a process was killed, for all together may use {memory} MB, /tmp included",
    Ending.PROCESSES: "too many processes: {processes} may run at once, counting threads and the background",
    Ending.DISK: "too large a file: the sandbox may write {disk} MB",
}
_NO_PROCESS = r"[:\]] (Resource temporarily unavailable|can't start new thread|Cannot fork)\b"
_NO_MEMORY = (
    r"^MemoryError\b|[:\]] Cannot allocate memory\b|\bstd::bad_alloc\b|memory allocation of \d+ bytes failed"
)
_SAID = (
    (
        r"[:\]] No space left on device\b",
        "no room: /tmp takes {disk} MB and counts as memory; write to /workspace",
    ),
    (r"[:\]] File (too large|size limit exceeded)\b", _MET[Ending.DISK]),
    (r"[:\]] Too many open files\b", "too many open files: `ulimit -n` says how many one process may have"),
    (_NO_MEMORY, "out of memory: all together may use {memory} MB, /tmp included"),
    (_NO_PROCESS, _MET[Ending.PROCESSES]),
)
"""How programs say that they met a limit, and what it is. An ordinary user has no counters of the kernel."""
_TAIL = 2000
"""How much of the end of an output is read for that."""


def in_words(result: CommandResult, timeout_s: float, limits: Limits) -> str:
    """Return the output of *result*, then how it ended and which of the *limits* it met."""
    output = (result.stdout + result.stderr).decode(errors="replace")
    if output and not output.endswith("\n"):
        output += "\n"
    told = limit_met(result, limits, output, timeout_s)
    if result.truncated and not told:
        told = "the output is too long: its middle is left out; write it to a file and read parts of it"
    if result.exit_code is None:
        return f"{output}[{told}]"
    return f"{output}[exit code {result.exit_code}{told and '; '}{told}]"


def limit_met(result: CommandResult, limits: Limits, output: str = "", seconds: float = 0.0) -> str:
    """Return a clause that names the limit that *result* met; empty: none is known."""
    sentence = ""
    if result.exit_code is None:
        who = "ended" if result.ending is Ending.TIMEOUT else "the sandbox was ended"
        sentence = f"{who}: {_ENDED[result.ending]}"
    elif found := [one for one in (result.ending, *result.met) if one in _MET]:
        sentence = _MET[found[0]]
    else:
        sentence = next((told for words, told in _SAID if _says(output, words)), "")
    return _filled(sentence, limits, seconds)


def limit_of_program(result: CommandResult, limits: Limits) -> str | None:
    """Return a clause that names the limit that ended a program, for reports; None: it ended otherwise."""
    sentence = _PROGRAM_ENDED.get(result.ending)
    return None if sentence is None else _filled(sentence, limits)


def _filled(sentence: str, limits: Limits, seconds: float = 0.0) -> str:
    memory, disk = f"{limits.memory_mb:,}", f"{limits.disk_mb:,}"
    return sentence.format(seconds=seconds, memory=memory, processes=limits.processes, disk=disk)


def processes_ran_out(result: CommandResult) -> bool:
    """Whether a command met the limit of processes, which those in the background may go on to hold."""
    output = (result.stdout + result.stderr).decode(errors="replace")
    return Ending.PROCESSES in (result.ending, *result.met) or _says(output, _NO_PROCESS)


def _says(output: str, words: str) -> bool:
    return re.search(words, output[-_TAIL:], re.MULTILINE) is not None
