"""The agents `all-in-one`, `imports-only` and `file-iterate`: dependencies from what a model reads."""

import asyncio
from abc import abstractmethod
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from pydantic import Field, JsonValue
from typing_extensions import override

from groundup.agents.answers import put_file
from groundup.agents.asking import ModelQuestions, Spent, Unanswerable
from groundup.agents.base import Agent, AgentContext, AgentResult, EpisodeLimits, Seeded, read_options
from groundup.agents.dependencies.repository import MaskedRepository, read_repository, whole_files
from groundup.agents.dependencies.wording import Messages, OwnWording, PublishedWording, read_prompts
from groundup.domain.conversations import ChatReply, ChatRequest, TokenUsage
from groundup.domain.errors import SubmissionError
from groundup.domain.records import Record
from groundup.domain.subjects import Outcome
from groundup.domain.tasks import Task
from groundup.models.prices import estimated_text_tokens, estimated_tokens
from groundup.sources.files import SourceFile

_LONGEST_REPLY = 8000
_PROPOSAL_TOKENS = 200
"""For guesses: what a reply says besides the build files that it repeats."""


class DependencyOptions(Record):
    """Settings of these agents."""

    at_once: int = Field(default=8, ge=1, description="questions at once in one attempt (file-iterate)")
    prompts: Path | None = Field(
        default=None, description="a checkout of DI-Bench's repository, whose prompts are asked instead of ours"
    )


class DependencyAgent(Agent):
    """What the three have in common."""

    version = "1"
    needs_model = True
    goes_on = False
    preferred: Mapping[str, JsonValue] = {"temperature": 0.0, "max_output_tokens": _LONGEST_REPLY}

    def __init__(self, options: DependencyOptions) -> None:
        self.options = options
        self.wording = OwnWording() if options.prompts is None else PublishedWording(read_prompts(options.prompts))

    @override
    def identity(self) -> Mapping[str, JsonValue]:
        """Return the digest of the prompts, and how the model is asked."""
        return {"prompts": self.wording.digest, **self.preferred}

    @override
    def expected_usage(self, task: Task, limits: EpisodeLimits, seeded: Seeded) -> TokenUsage:
        """Count the tokens of what would be asked, and guess those of the replies."""
        repository = read_repository(task, seeded())
        usage = TokenUsage()
        for messages, reply_tokens in islice(self.questions(repository, task), limits.turns):
            asked = estimated_tokens(ChatRequest(messages=messages))
            usage += TokenUsage(input_tokens=asked, output_tokens=reply_tokens)
        return usage

    @abstractmethod
    def questions(self, repository: MaskedRepository, task: Task) -> Iterator[tuple[Messages, int]]:
        """Yield about what would be asked, each with the tokens of a usual reply."""

    @override
    async def attempt(self, context: AgentContext) -> AgentResult:
        """Ask, and write the build files that come."""
        asking = ModelQuestions(context, self.options.at_once)
        repository = await asyncio.to_thread(read_repository, context.task, context.workspace)
        outcome, detail = Outcome.SUBMITTED, ""
        answer = _Answer(context.workspace)
        try:
            await asking.within_time(self.ask(asking, repository, context.task, answer))
        except Unanswerable as error:
            outcome, detail = error.outcome, str(error)
        if answer.cut_off and outcome is Outcome.SUBMITTED:
            outcome = Outcome.LIMIT
        context.trajectory.append("files", written=[*answer.written], problems=[*answer.problems])
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
        """Whether *reply* was not cut off; otherwise that is noted as a problem."""
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


class AllInOne(DependencyAgent):
    """The whole code base in one question."""

    name = "all-in-one"

    @override
    async def ask(self, asking: ModelQuestions, repository: MaskedRepository, task: Task, answer: _Answer) -> None:
        """Ask once."""
        messages = await asyncio.to_thread(self.wording.about_code, repository, task)
        answer.take(await asking.ask("all", messages), repository.build_files)

    @override
    def questions(self, repository: MaskedRepository, task: Task) -> Iterator[tuple[Messages, int]]:
        """Yield the one."""
        yield self.wording.about_code(repository, task), _build_tokens(repository)


class ImportsOnly(DependencyAgent):
    """Import statements only."""

    name = "imports-only"

    @override
    async def ask(self, asking: ModelQuestions, repository: MaskedRepository, task: Task, answer: _Answer) -> None:
        """Ask once."""
        messages = await asyncio.to_thread(self.wording.about_imports, repository, task)
        answer.take(await asking.ask("all", messages), repository.build_files)

    @override
    def questions(self, repository: MaskedRepository, task: Task) -> Iterator[tuple[Messages, int]]:
        """Yield the one."""
        yield self.wording.about_imports(repository, task), _build_tokens(repository)


class FileIterate(DependencyAgent):
    """A question for each source file, then one for each build file. A file that is too large is left out."""

    name = "file-iterate"

    @override
    async def ask(self, asking: ModelQuestions, repository: MaskedRepository, task: Task, answer: _Answer) -> None:
        """Collect proposals, then have them merged."""
        said: dict[str, dict[str, tuple[str, ...]]] = {path: {} for path in repository.build_files}

        async def read(file: SourceFile) -> None:
            messages = self.wording.about_file(repository, file)
            reply = await _asked(asking, f"source {file.path}", messages, answer)
            if reply is not None and answer.whole(file.path, reply):
                found = self.wording.proposed(repository, reply.message.content)
                answer.problems.extend(f"{file.path}: {problem}" for problem in found.problems)
                for path, lines in found.lines.items():
                    said[path][file.path] = lines

        async def merge(path: str) -> None:
            messages = self.wording.merging(repository, path, said[path])
            reply = await _asked(asking, f"build file {path}", messages, answer)
            if reply is not None:
                answer.take(reply, (path,))

        await _all(read(file) for file in _with_content(repository))
        await _all(merge(path) for path in repository.build_files if any(said[path].values()))

    @override
    def questions(self, repository: MaskedRepository, task: Task) -> Iterator[tuple[Messages, int]]:
        """Yield one for each source file, and one for each build file with a proposal of each source file."""
        files = _with_content(repository)
        for file in files:
            yield self.wording.about_file(repository, file), _PROPOSAL_TOKENS
        for path in repository.build_files:
            said = {file.path: ("a-package==1.0",) for file in files}
            yield self.wording.merging(repository, path, said), _build_tokens(repository)


def _with_content(repository: MaskedRepository) -> list[SourceFile]:
    return [file for file in repository.sources if file.data.strip()]


def _build_tokens(repository: MaskedRepository) -> int:
    """Return what a reply with all build files has, with room for what is added."""
    return min(_LONGEST_REPLY, estimated_text_tokens(repository.shown_build_files()) + _PROPOSAL_TOKENS)


async def _asked(asking: ModelQuestions, about: str, messages: Messages, answer: _Answer) -> ChatReply | None:
    """Return the reply; None, with a problem noted, where only this question has none. Raises `Spent`."""
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


async def _all(work: Iterable[Coroutine[object, object, None]]) -> None:
    """Do everything; the first error ends the others and is raised by itself."""
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                group.create_task(one)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from errors
