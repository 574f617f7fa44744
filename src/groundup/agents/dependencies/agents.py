"""The agents `all-in-one`, `imports-only` and `file-iterate`: dependencies from what a model reads."""

import asyncio
from abc import abstractmethod
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import Field, JsonValue
from typing_extensions import override

from groundup.agents.answers import FORM, put_file
from groundup.agents.asking import ModelQuestions, Spent, Unanswerable
from groundup.agents.base import Agent, AgentResult, Assignment, read_options
from groundup.agents.dependencies.replies import proposals, whole_files
from groundup.agents.dependencies.repository import MaskedRepository, read_repository, shown_source
from groundup.domain.conversations import ChatReply, Message
from groundup.domain.digests import digest_of
from groundup.domain.errors import SubmissionError
from groundup.domain.records import Record
from groundup.domain.subjects import Outcome
from groundup.domain.tasks import Task
from groundup.sources.files import SourceFile

_ROLE = "You know the packages of {language} and how its projects declare what they depend on."
_WHOLE = f"""Give each build file that you change with its whole new content; leave out those that stay the same.

{FORM}"""
_CODE = "These are the source files of the repository:"
_IMPORTS = "These are the import statements in the source files of the repository, by file:"
_BUILD = "These are its build files as they are now:"
_ONE_FILE = """Below are one source file of the repository and all its build files. Which external packages does
this file need that have to be declared, and in which of the build files? Packages that come with the language, and
the repository's own modules, are none. Answer with one JSON object: the path of each build file that has to
declare something, with a list of dependencies, each written as a line of that file would have it, with a version
where you know one. An empty object says that nothing is needed."""
_MERGE = """Below are a build file of the repository and what readers of single source files propose to declare in
it. Merge what is right among it into the file: each package once, in the form and the section that such a file
has, and nothing that the repository itself or the language brings. Give the build file with its whole new content.

{form}"""


class DependencyOptions(Record):
    """Settings of these agents."""

    at_once: int = Field(default=8, ge=1, description="questions at once in one attempt (file-iterate)")


class _Method(Agent):
    """What the three have in common. Implements `Agent`."""

    version = "1"
    needs_model = True
    preferred: Mapping[str, JsonValue] = {"temperature": 0.0, "max_output_tokens": 8000}

    def __init__(self, options: DependencyOptions) -> None:
        self.options = options

    @override
    def identity(self) -> Mapping[str, JsonValue]:
        """Return the digest of the prompts, and how the model is asked."""
        texts = [_ROLE, _WHOLE, _CODE, _IMPORTS, _BUILD, _ONE_FILE, _MERGE]
        return {"prompts": digest_of(texts), **self.preferred}

    @override
    def reservation_mb(self, task: Task) -> int:
        """Return what a repository's sources may take."""
        return 64

    @override
    async def attempt(self, assignment: Assignment) -> AgentResult:
        """Ask, and write the build files that come."""
        asking = ModelQuestions(assignment, self.options.at_once)
        repository = await asyncio.to_thread(read_repository, assignment.task, assignment.workspace)
        outcome, detail = Outcome.SUBMITTED, ""
        answer = _Answer(assignment.workspace)
        try:
            await asking.within_time(self.ask(asking, repository, assignment.task, answer))
        except Unanswerable as error:
            outcome, detail = error.outcome, str(error)
        if answer.cut_off and outcome is Outcome.SUBMITTED:
            outcome = Outcome.LIMIT
        assignment.trajectory.append("files", written=[*answer.written], problems=[*answer.problems])
        return asking.ended(outcome, detail or "; ".join(answer.problems[:3]))

    @abstractmethod
    async def ask(
        self, asking: ModelQuestions, repository: MaskedRepository, task: Task, answer: "_Answer"
    ) -> None:
        """Ask, and put the replies into *answer*. Raises `Unanswerable`."""


class _Answer:
    """The build files that were given so far."""

    def __init__(self, workspace: Path) -> None:
        self.written: list[str] = []
        self.problems: list[str] = []
        self.cut_off = False
        """Whether some reply was."""
        self._workspace = workspace

    def whole(self, about: str, reply: ChatReply) -> bool:
        """Whether *reply* was not cut off; told as a problem otherwise."""
        if reply.finish != "length":
            return True
        self.cut_off = True
        self.problems.append(f"{about}: the reply was cut off after {reply.usage.output_tokens} tokens")
        return False

    def take(self, reply: ChatReply, wanted: Sequence[str]) -> None:
        """Write the files in *wanted* that *reply* gives; one that was cut off gives none."""
        if not self.whole(", ".join(wanted[:3]), reply):
            return
        edits = whole_files(reply.message.content, wanted)
        self.problems += edits.problems
        for path, content in edits.files.items():
            try:
                put_file(self._workspace, path, content)
                self.written.append(path)
            except SubmissionError as error:
                self.problems.append(str(error))


class _OneQuestion(_Method):
    """One question for the whole repository."""

    @override
    async def ask(self, asking: ModelQuestions, repository: MaskedRepository, task: Task, answer: _Answer) -> None:
        """Ask once."""
        shown = await asyncio.to_thread(self.shown, repository)
        parts = (task.instruction or "", shown, _BUILD, repository.shown_build_files(), _WHOLE)
        answer.take(await asking.ask("all", _messages(repository, *parts)), repository.build_files)

    def shown(self, repository: MaskedRepository) -> str:
        """Return what the model sees of the sources."""
        raise NotImplementedError


class AllInOne(_OneQuestion):
    """The whole code base in one question."""

    name = "all-in-one"

    @override
    def shown(self, repository: MaskedRepository) -> str:
        """All sources."""
        return f"{_CODE}\n\n{repository.shown_sources()}"


class ImportsOnly(_OneQuestion):
    """Import statements only."""

    name = "imports-only"

    @override
    def shown(self, repository: MaskedRepository) -> str:
        """The import statements."""
        return f"{_IMPORTS}\n\n{repository.shown_imports()}"


class FileIterate(_Method):
    """A question for each source file, then one for each build file. A file that is too large is left out."""

    name = "file-iterate"

    @override
    async def ask(self, asking: ModelQuestions, repository: MaskedRepository, task: Task, answer: _Answer) -> None:
        """Collect proposals, then have them merged."""
        said: dict[str, dict[str, tuple[str, ...]]] = {path: {} for path in repository.build_files}

        async def read(file: SourceFile) -> None:
            parts = (_ONE_FILE, shown_source(file), _BUILD, repository.shown_build_files())
            reply = await _asked(asking, f"source {file.path}", _messages(repository, *parts), answer)
            if reply is not None and answer.whole(file.path, reply):
                found = proposals(reply.message.content, repository.build_files)
                answer.problems.extend(f"{file.path}: {problem}" for problem in found.problems)
                for path, lines in found.lines.items():
                    said[path][file.path] = lines

        async def merge(path: str) -> None:
            proposed = "\n".join(
                f"- {line} (for {source})" for source in sorted(said[path]) for line in said[path][source]
            )
            parts = (_MERGE.format(form=FORM), repository.shown_build_file(path), proposed)
            reply = await _asked(asking, f"build file {path}", _messages(repository, *parts), answer)
            if reply is not None:
                answer.take(reply, (path,))

        await _all(read(file) for file in repository.sources if file.data.strip())
        await _all(merge(path) for path in repository.build_files if any(said[path].values()))


async def _asked(
    asking: ModelQuestions, about: str, messages: tuple[Message, ...], answer: _Answer
) -> ChatReply | None:
    """Return the reply; None, told as a problem, where only this question has none. Raises `Spent`."""
    try:
        return await asking.ask(about, messages)
    except Spent:
        raise
    except Unanswerable as error:
        answer.problems.append(f"{about}: {error}")
        return None


def create_all_in_one(options: Mapping[str, JsonValue]) -> AllInOne:
    """Return the agent. Raises `UsageError`."""
    return AllInOne(read_options(DependencyOptions, AllInOne.name, options))


def create_imports_only(options: Mapping[str, JsonValue]) -> ImportsOnly:
    """Return the agent. Raises `UsageError`."""
    return ImportsOnly(read_options(DependencyOptions, ImportsOnly.name, options))


def create_file_iterate(options: Mapping[str, JsonValue]) -> FileIterate:
    """Return the agent. Raises `UsageError`."""
    return FileIterate(read_options(DependencyOptions, FileIterate.name, options))


def _messages(repository: MaskedRepository, *parts: str) -> tuple[Message, ...]:
    names = {"python": "Python", "rust": "Rust", "javascript": "JavaScript", "csharp": "C#"}
    return (
        Message(role="system", content=_ROLE.format(language=names[repository.language])),
        Message(role="user", content="\n\n".join(parts)),
    )


async def _all(work: Iterable[Coroutine[object, object, None]]) -> None:
    """Do everything; the first error ends the others and is raised by itself."""
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                group.create_task(one)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from errors
