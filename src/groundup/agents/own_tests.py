"""Running the tests that an agent wrote itself, to choose among attempts by them.

In a fresh sandbox with the agent's registries, where what the workspace declares is installed first. What they say
is the agent's own word and enters no score.
"""

import re

from groundup.agents.base import AgentContext
from groundup.agents.workspace import SandboxExtras, is_python, open_workspace
from groundup.domain.limits import OwnTests
from groundup.sandbox.protocol import Command

_SECONDS = 900.0
_OUTPUT_BYTES = 64_000
_SCRIPT = """
{ [ ! -f requirements.txt ] || pip install -q -r requirements.txt
  [ ! -f pyproject.toml ] && [ ! -f setup.py ] || pip install -q -e .; } > /dev/null 2>&1
exec python -m pytest -q --tb=no --no-header -p no:cacheprovider
"""
_COUNT = re.compile(r"\b(\d{1,9}) (passed|failed|errors?)\b")


async def run_own_tests(context: AgentContext) -> OwnTests | None:
    """Return what the tests in the workspace do; None where there are none, or another language has them."""
    if not is_python(context.task):
        return None
    async with open_workspace(context, SandboxExtras()) as place:
        result = await place.run(
            Command(argv=("/bin/bash", "-c", _SCRIPT), timeout_s=_SECONDS, output_bytes=_OUTPUT_BYTES)
        )
    context.keep("own-tests.log", result.stdout + result.stderr)
    return counted(result.stdout.decode(errors="replace"))


def counted(output: str) -> OwnTests | None:
    """Return the counts in the last line of pytest's *output*; None where no test ran."""
    lines = [line for line in output.splitlines() if _COUNT.search(line)]
    if not lines:
        return None
    found = {word.rstrip("s"): int(number) for number, word in _COUNT.findall(lines[-1])}
    return OwnTests(passed=found.get("passed", 0), failed=found.get("failed", 0) + found.get("error", 0))
