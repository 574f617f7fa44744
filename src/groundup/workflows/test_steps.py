"""Which steps of a job run tests, told by what their scripts call."""

import re
from collections.abc import Mapping

from pydantic import JsonValue

from groundup.workflows.expressions import resolved
from groundup.workflows.workflow import Job, Step

_WORD = r"(?:[\w./-]*/)?"
_RUNNER = r"(?:run|exec|dlx)\s+(?:-\S+\s+)*"
_RULES: Mapping[str, str] = {
    "pytest": rf"{_WORD}(?:pytest|py\.test|nosetests|nose2|stestr|trial|green|ward|avocado)\b(?!-)",
    "coverage": r"coverage\s+run\b",
    "unittest": r"-m\s+(?:unittest|pytest|nose2?|trial|doctest|xmlrunner|green|ward|test)\b",
    "tox or nox": rf"{_WORD}(?:tox|nox)\b(?!\.ini|file)",
    "setup.py test": r"setup\.py\s+(?:\S+\s+)*?(?:test|pytest|nosetests)\b",
    "manage.py test": r"(?:manage\.py|django-admin|runtests?\.py|run_tests?\.\w+|test\.sh)\b(?:\s+test\b)?",
    "hatch": r"hatch\s+(?:-\S+\s+)*(?:test\b|run\s+\S*(?:test|cov)\S*)",
    "python runner": rf"(?:poetry|pdm|uv|pipenv|rye|pixi|poe|invoke|inv|doit|task)\s+(?:{_RUNNER})?\S*test\S*",
    "make": r"(?:make|just|task|ninja|rake|gulp|grunt)\s+(?:-\S+\s+(?:\S+\s+)?)*"
    r"\S*(?:test|check|ci|coverage|spec)\S*",
    "cargo": r"(?:cargo|cross)\s+(?:\+\S+\s+)?(?:(?:--?\S+\s+)*)"
    r"(?:test|t|nextest|llvm-cov|tarpaulin|hack\s+.*\btest|miri\s+test|all-features\s+test|xtask\s+\S*(?:test|ci)\S*)\b",
    "npm": r"(?:npm|yarn|pnpm|bun|lerna|turbo|nx|rush|wireit|npm-run-all)\s+(?:(?:-\S+|--\S+)\s+)*"
    r"(?:(?:run|run-script|exec|recursive|-r|workspaces?\s+\S+|workspace\s+\S+|affected|-ws)\s+(?:--?\S+\s+)*)*"
    r"(?:t|\S*(?:test|spec|coverage|cover|jest|mocha|vitest|karma|ava|tap|ci:)\S*)(?=\s|$|;|&|\|)",
    "javascript runner": rf"(?:npx\s+(?:-\S+\s+)*|{_WORD})"
    r"(?:jest|vitest|mocha|ava|tap|karma|jasmine|tape|uvu|nyc|c8|playwright|cypress)\b(?!\.config)|node\s+(?:\S+\s+)*--test\b|node\s+\S*test\S*\.[cm]?js",
    "dotnet": r"dotnet\s+(?:test|vstest|cake|nuke|run\s+.*tests?\b)|(?:^|\s)\S*build\.(?:sh|ps1|cake)\s.*test",
    "java or go": r"(?:\./)?(?:mvnw?|gradlew?)\b.*\b(?:test|verify|check|build|install)\b|go\s+test\b|ctest\b",
}
_COMMANDS = {
    kind: re.compile(rf"(?:^|[\s;&|(]|\bxvfb-run\s)(?:{rule})", re.IGNORECASE) for kind, rule in _RULES.items()
}
_ONLY_PREPARES = re.compile(
    r"^\s*(?:(?:python\S*\s+-m\s+)?pip3?|uv\s+pip|apt(?:-get)?|sudo\s+apt(?:-get)?|brew|conda|mamba|echo|printf|cat|mv|cp|"
    r"mkdir|cd|export|rm|ls|which|rustup|cargo\s+install|npm\s+(?:i|ci|install)|yarn\s+(?:add|install)|pnpm\s+(?:i|add|"
    r"install)|pipx\s+install|uv\s+(?:sync|tool\s+install)|poetry\s+install|pdm\s+install|dotnet\s+(?:restore|build|tool))\b"
)
_NO_RUN = re.compile(r"--no-run\b|--collect-only\b|--co\b|--list\b")


def test_commands(script: str) -> tuple[tuple[str, str], ...]:
    """Return the kind of test runner and the line, for each line of *script* that runs tests."""
    found = []
    for line in _lines(script):
        for command in re.split(r"&&|\|\||;", line):
            if _ONLY_PREPARES.match(command) or _NO_RUN.search(command):
                continue
            kind = next((kind for kind, rule in _COMMANDS.items() if rule.search(command)), None)
            if kind:
                found.append((kind, command.strip()))
    return tuple(found)


def runs_tests(step: Step, leg: Mapping[str, JsonValue], environment: Mapping[str, str]) -> bool:
    """Whether *step* runs tests, as far as its script or the inputs of its action say."""
    if step.run is not None:
        script = resolved(step.run, leg, environment)
        return bool(test_commands(step.run if script is None else script))
    if step.uses and step.uses.split("@")[0].lower() in ("actions-rs/cargo", "actions-rs-plus/cargo"):
        command = resolved(step.inputs.get("command", ""), leg, environment) or ""
        return bool(test_commands(f"cargo {command} {step.inputs.get('args', '')}"))
    return False


def test_steps(job: Job, leg: Mapping[str, JsonValue]) -> tuple[Step, ...]:
    """Return the steps of *job* that run tests in *leg*; where no script says so, those that are named a test."""
    found = tuple(step for step in job.steps if runs_tests(step, leg, {**job.environment, **step.environment}))
    if found:
        return found
    return tuple(
        step for step in job.steps if step.run and re.search(r"\btests?\b", step.name or "", re.IGNORECASE)
    )


def _lines(script: str) -> list[str]:
    joined = re.sub(r"\\\r?\n", " ", script)
    return [line for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]
