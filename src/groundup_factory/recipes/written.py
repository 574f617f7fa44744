"""A specification that a model writes, and what is checked of it without a model.

The model sees sources and docs, and no test. What it wrote must have all sections, state every name that the
hidden tests use and every text of the library that they expect, hold no run of lines of a test or of a function's
body, and its examples must run with the original. What fails goes back to it as a list of gaps, for a few rounds.
"""

import ast
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from groundup.domain.conversations import ChatRequest, Message
from groundup.domain.names import printable
from groundup.grading.context import GradingContext
from groundup.grading.library.execution import sandbox_to_look_around
from groundup.grading.library.hidden import LibraryUnderTest, source_files
from groundup.models.protocol import ChatModel, ContextOverflowError, RefusedError
from groundup.sandbox.protocol import Command
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.trees.writer import in_thread
from groundup_factory.recipes.extracted import (
    bodies_of_tests,
    body_lines,
    copied_runs,
    environment_section,
    extracted,
    modules_of,
    title,
    unstated_names,
    unstated_texts,
    used_names,
)
from groundup_factory.recipes.unpublished import Say

MARK = "written"
SECTIONS = ("Purpose", "Installation", "API", "Behaviour", "Examples")
RunExample = Callable[[str], Awaitable[str]]
"""Runs a program with the original; returns what went wrong, or nothing."""
_ROOM = 150_000
"""Characters of sources and docs that a model gets."""
_EXAMPLE_S = 60.0
_DOCS = (".md", ".rst", ".txt")
_ASKED = f"""Write the specification of a Python library, from which somebody who never saw it can write it anew,
so that the hidden tests of its authors pass. Use these sections, each a heading of the second level:
{", ".join(SECTIONS)}.

- API: every public name with its module, signature, parameters, result and errors.
- Behaviour: every rule that the sources show, with its special cases, exact messages and formats.
- Examples: blocks of ```python that run alone, with `assert` for what they show.

Tell what it does and not how: copy no body of a function. Answer with the specification alone.
"""


class WrittenSpecification(NamedTuple):
    """What a model wrote."""

    text: str
    rounds: int
    gaps: tuple[str, ...]
    """What is still wrong with it; none: it holds."""


class Specified(NamedTuple):
    """The specification of a task."""

    text: str
    refused: WrittenSpecification | None = None
    """What a model wrote and the checks refused, so that *text* is extracted."""


async def checked_specification(
    recipe: Recipe, original: Path, canary: str, model: ChatModel, rounds: int, context: GradingContext, say: Say
) -> Specified:
    """Return the specification that *model* wrote of *recipe* where all checks hold, else what is extracted."""
    run_example = example_runner(recipe, original, context)
    found = await write_specification(recipe, original, canary, model, rounds, run_example, say)
    if not found.gaps:
        say(f"specification written by {model.name}, in round {found.rounds}")
        return Specified(found.text)
    say(f"specification extracted: after {found.rounds} rounds the written one has {len(found.gaps)} gaps")
    return Specified(await in_thread(extracted, recipe, original, canary), found)


async def write_specification(
    recipe: Recipe,
    original: Path,
    canary: str,
    model: ChatModel,
    rounds: int,
    run_example: RunExample,
    say: Say,
) -> WrittenSpecification:
    """Return what *model* writes of *recipe*, whose original is at *original*. Raises what the model raises.

    A request that is too long for it, or that it will not answer, is a gap, too.
    """
    asked = f"The library is {recipe.source.label}.\n\n{_ASKED}\n{_material(recipe, original)}"
    messages = [Message(role="user", content=asked)]
    text, gaps = "", list[str]()
    for number in range(1, rounds + 1):
        try:
            reply = await model.complete(ChatRequest(messages=tuple(messages)))
        except (ContextOverflowError, RefusedError) as error:
            said = " ".join(str(error).split())
            gaps = [f"{model.name} does not answer {len(asked):,} characters of sources and docs: {said}", *gaps]
            return WrittenSpecification(text, number, tuple(gaps))
        answer = reply.message.content or ""
        text = f"{title(recipe, canary, MARK, model.name)}\n{environment_section(recipe)}\n{answer.strip()}\n"
        gaps = await gaps_of(answer, recipe, original, run_example)
        if reply.finish == "length":
            gaps.insert(0, "the answer was cut off: it is longer than the model may answer")
        if not gaps:
            return WrittenSpecification(text, number, ())
        for gap in gaps:
            say(f"round {number}: {gap}")
        listed = "\n".join(f"- {gap}" for gap in gaps)
        messages.append(Message(role="assistant", content=answer))
        messages.append(
            Message(role="user", content=f"These gaps were found; answer with the whole, mended:\n{listed}")
        )
    return WrittenSpecification(text, rounds, tuple(gaps))


async def gaps_of(text: str, recipe: Recipe, original: Path, run_example: RunExample) -> list[str]:
    """Return what is wrong with *text* as a specification of *recipe*, a sentence each."""
    modules = dict(modules_of(original, recipe.tests))
    used = used_names(original, recipe.tests, modules)
    headings = set(re.findall(r"^## (\w+)", text, re.MULTILINE))
    gaps = [f"there is no section `## {one}`" for one in SECTIONS if one not in headings]
    for module, names in unstated_names(text, used).items():
        gaps.append(f"`{module}`: {', '.join(f'`{name}`' for name in names)} must be stated: tests use it")
    gaps += [
        f"`{printable(said[:300])}` must be stated as it is: tests expect this text of the library"
        for said in unstated_texts(text, original, recipe.tests, modules)
    ]
    for what, bodies in (
        ("a hidden test", bodies_of_tests(original, recipe.tests)),
        ("a body of the library", _bodies_of_library(modules)),
    ):
        runs = copied_runs(text, bodies)
        gaps += [f"these lines stand in {what}; say it in words: {lines[0].strip()[:80]} ..." for lines in runs]
    for number, example in enumerate(examples_of(text), start=1):
        wrong = await run_example(example)
        if wrong:
            gaps.append(f"example {number} does not run with the original: {wrong}")
    return gaps


def examples_of(text: str) -> list[str]:
    """Return the blocks of Python in the section of examples."""
    section = re.split(r"^## Examples\b.*$", text, maxsplit=1, flags=re.MULTILINE)[1:]
    inner = re.split(r"^## ", section[0], maxsplit=1, flags=re.MULTILINE)[0] if section else ""
    return re.findall(r"^```python\n(.*?)^```", inner, re.MULTILINE | re.DOTALL)


def example_runner(recipe: Recipe, original: Path, context: GradingContext) -> RunExample:
    """Return what runs examples in the sandbox of the hidden tests, each in a new one."""
    numbers = iter(range(1_000_000))

    async def run(example: str) -> str:
        environment = await context.builder.python(recipe.environment.request())
        library = LibraryUnderTest(original, original, recipe.tests, environment)
        scratch = context.scratch / f"example-{next(numbers)}"
        scratch.mkdir()
        async with await context.provider.open(sandbox_to_look_around(library, scratch)) as sandbox:
            ended = await sandbox.run(
                Command(argv=(environment.executable, "-"), stdin=example.encode(), timeout_s=_EXAMPLE_S)
            )
        if ended.exit_code == 0:
            return ""
        said = what_went_wrong(example, ended.stderr.decode(errors="replace"))
        return said or f"it ended with {ended.exit_code}"

    return run


def what_went_wrong(example: str, stderr: str) -> str:
    """Return what Python said last of *example*, which it read from its input, and the line at which it ended."""
    said = stderr.strip().splitlines()[-1:]
    for number in re.findall(r'^  File "<stdin>", line (\d+)', stderr, re.MULTILINE)[-1:]:
        said += [f"at `{line.strip()}`" for line in example.splitlines()[int(number) - 1 : int(number)]]
    return " ".join(printable(one[:300]) for one in said)


def _material(recipe: Recipe, original: Path) -> str:
    """Return sources and docs, without tests, as far as there is room: the library, its README, the rest."""
    parts, left_out, room = [], [], _ROOM
    sources = set(source_files(original, recipe.tests))
    protected = [original / kept for kept in recipe.tests.protected]

    def rank(path: Path) -> tuple[bool, bool, int, Path]:
        return path not in sources, path.stem.lower() != "readme", path.stat().st_size, path

    readable = [path for path in original.rglob("*") if path.is_file() and not path.is_symlink()]
    for path in sorted(readable, key=rank):
        hidden = any(path.is_relative_to(kept) for kept in protected) or path.parent.suffix == ".egg-info"
        if hidden or path.suffix not in (".py", *_DOCS):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if len(text) <= room:
            parts.append(f"=== {path.relative_to(original)}\n{text}")
            room -= len(text)
        else:
            left_out.append(str(path.relative_to(original)))
    return "\n".join([*parts, *([f"=== Left out for want of room: {', '.join(left_out)}"] if left_out else [])])


def _bodies_of_library(modules: dict[str, ast.Module]) -> Iterator[list[str]]:
    for tree in modules.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                documented = ast.get_docstring(node) is not None
                yield body_lines("\n".join(ast.unparse(one) for one in node.body[documented:]))
