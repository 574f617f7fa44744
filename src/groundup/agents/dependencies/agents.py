"""The agents `all-in-one`, `imports-only` and `file-iterate`: dependencies from what a model reads.

What they ask is our own wording, or the published one, which is never part of this package. It is read, and never
run, from `prompt.py` of a checkout of the benchmark's publishers. What is filled in is chosen here.
"""

import ast
import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from pydantic import Field, JsonValue, ValidationError
from typing_extensions import override

from groundup.agents.answers import FORM, put_file
from groundup.agents.asking import ModelQuestions, Spent, Unanswerable
from groundup.agents.base import Agent, AgentContext, AgentResult, EpisodeLimits, Seeded, read_options
from groundup.agents.dependencies.repository import (
    MaskedRepository,
    Proposals,
    proposals,
    read_repository,
    shown_source,
    whole_files,
)
from groundup.domain.conversations import ChatReply, ChatRequest, Message
from groundup.domain.digests import digest_of
from groundup.domain.errors import SubmissionError, UsageError
from groundup.domain.records import Record, SettingRecord
from groundup.domain.subjects import Outcome
from groundup.domain.tasks import Task
from groundup.domain.usage import TokenUsage
from groundup.grammars import python_tree
from groundup.languages import LANGUAGES
from groundup.models.prices import estimated_text_tokens, estimated_tokens
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

Messages = tuple[Message, ...]


class Wording(ABC):
    """The questions of all three methods."""

    digest: str

    @abstractmethod
    def about_code(self, repository: MaskedRepository, task: Task) -> Messages:
        """Ask with all sources."""

    @abstractmethod
    def about_imports(self, repository: MaskedRepository, task: Task) -> Messages:
        """Ask with all import statements."""

    @abstractmethod
    def about_file(self, repository: MaskedRepository, file: SourceFile) -> Messages:
        """Ask what one source file needs."""

    @abstractmethod
    def proposed(self, repository: MaskedRepository, text: str) -> Proposals:
        """Read the reply to that."""

    @abstractmethod
    def merging(self, repository: MaskedRepository, path: str, said: Mapping[str, tuple[str, ...]]) -> Messages:
        """Ask for the build file *path* with what was proposed for it, by source file."""


class OwnWording(Wording):
    """Ours."""

    digest = digest_of([_ROLE, _WHOLE, _CODE, _IMPORTS, _BUILD, _ONE_FILE, _MERGE])

    @override
    def about_code(self, repository: MaskedRepository, task: Task) -> Messages:
        return self._whole(repository, task, f"{_CODE}\n\n{repository.shown_sources()}")

    @override
    def about_imports(self, repository: MaskedRepository, task: Task) -> Messages:
        return self._whole(repository, task, f"{_IMPORTS}\n\n{repository.shown_imports()}")

    def _whole(self, repository: MaskedRepository, task: Task, shown: str) -> Messages:
        parts = (task.instruction or "", shown, _BUILD, repository.shown_build_files(), _WHOLE)
        return _own(repository, *parts)

    @override
    def about_file(self, repository: MaskedRepository, file: SourceFile) -> Messages:
        return _own(repository, _ONE_FILE, shown_source(file), _BUILD, repository.shown_build_files())

    @override
    def proposed(self, repository: MaskedRepository, text: str) -> Proposals:
        return proposals(text, repository.build_files)

    @override
    def merging(self, repository: MaskedRepository, path: str, said: Mapping[str, tuple[str, ...]]) -> Messages:
        proposed = "\n".join(f"- {line} (for {source})" for source in sorted(said) for line in said[source])
        return _own(repository, _MERGE.format(form=FORM), repository.shown_build_file(path), proposed)


def _own(repository: MaskedRepository, *parts: str) -> Messages:
    role = _ROLE.format(language=LANGUAGES[repository.language].name)
    return Message(role="system", content=role), Message(role="user", content="\n\n".join(parts))


class PublishedPrompts(Record):
    """The texts of the publishers' `prompt.py`, by the names that they have there."""

    lazy_prompt: str
    instruction: str
    task_information_template: str
    file_template: str
    merge_build_files_instruction: str
    merge_build_files_task: str


class PublishedWording(Wording):
    """The publishers', with the sources and statements that we would show."""

    def __init__(self, prompts: PublishedPrompts) -> None:
        self.digest = digest_of(prompts)
        self._prompts = prompts

    @override
    def about_code(self, repository: MaskedRepository, task: Task) -> Messages:
        sources = {file.path: file.data.decode(errors="replace") for file in repository.sources}
        return self._whole(repository, sources)

    @override
    def about_imports(self, repository: MaskedRepository, task: Task) -> Messages:
        found = repository.imports().items()
        return self._whole(repository, {path: "\n...\n".join(["", *lines, ""]).strip() for path, lines in found})

    @override
    def about_file(self, repository: MaskedRepository, file: SourceFile) -> Messages:
        return self._whole(repository, {file.path: file.data.decode(errors="replace")})

    @override
    def proposed(self, repository: MaskedRepository, text: str) -> Proposals:
        """Read whole build files, of which those count that are not as they were."""
        edits = whole_files(text, repository.build_files)
        changed = {
            path: (self._file(path, content.decode(errors="replace")),)
            for path, content in edits.files.items()
            if content.strip() != (repository.build_file(path) or b"").strip()
        }
        return Proposals(changed, edits.problems)

    @override
    def merging(self, repository: MaskedRepository, path: str, said: Mapping[str, tuple[str, ...]]) -> Messages:
        edits = "\n".join(text for source in sorted(said) for text in said[source])
        build = self._build_file(repository, path)
        task = _filled(
            self._prompts.merge_build_files_task, repository, build_file_edits=edits, build_section=build
        )
        return self._asked(repository, self._prompts.merge_build_files_instruction, task)

    def _whole(self, repository: MaskedRepository, sources: Mapping[str, str]) -> Messages:
        task = _filled(
            self._prompts.task_information_template,
            repository,
            src_section="\n".join(self._file(path, text) for path, text in sources.items()),
            build_section="\n".join(self._build_file(repository, path) for path in repository.build_files),
        )
        return self._asked(repository, self._prompts.instruction, task)

    def _asked(self, repository: MaskedRepository, instruction: str, task: str) -> Messages:
        text = "\n".join([instruction, task, instruction, self._prompts.lazy_prompt])
        role = f"You are a senior expert in {repository.language}"
        return Message(role="system", content=role), Message(role="user", content=text)

    def _file(self, path: str, content: str) -> str:
        return self._prompts.file_template.format(path=path, content=content)

    def _build_file(self, repository: MaskedRepository, path: str) -> str:
        return self._file(path, (repository.build_file(path) or b"").decode(errors="replace"))


def _filled(template: str, repository: MaskedRepository, **parts: str) -> str:
    """Fill a template in; a task does not say on which system its project runs, so only the language is named."""
    return template.format(
        project_structure=_structure(repository.root), env_specs=f"- SDK: {repository.language}", **parts
    )


def _structure(root: Path) -> str:
    """Return the folders and files below *root*, indented; what is hidden is left out."""
    lines = ["./"]
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        depth = len(Path(folder).relative_to(root).parts)
        if depth:
            lines.append(f"{'  ' * depth}{Path(folder).name}/")
        lines += [f"{'  ' * (depth + 1)}{name}" for name in sorted(files) if not name.startswith(".")]
    return "\n".join(lines)


def read_prompts(folder: Path) -> PublishedPrompts:
    """Read `prompt.py` in *folder*, a checkout of the publishers' repository. Raises `UsageError`."""
    folder = folder.expanduser()
    places = [folder / "dibench" / "prompt.py", folder / "prompt.py"]
    place = next((place for place in places if place.is_file()), None)
    if place is None:
        raise UsageError(f"{folder} holds no dibench/prompt.py; name a checkout of the publishers' repository")
    try:
        prompts = PublishedPrompts.model_validate(_texts(place.read_text(encoding="utf-8")))
        _check(prompts)
    except (OSError, SyntaxError, ValueError, ValidationError, KeyError, IndexError) as error:
        raise UsageError(f"{place} does not hold the publishers' prompts: {str(error).splitlines()[0]}") from error
    return prompts


def _texts(source: str) -> dict[str, str]:
    """Return the module's names whose values are plain texts."""
    return {
        target.id: node.value.value
        for node in python_tree(source).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, str)
        if target.id in PublishedPrompts.model_fields
    }


def _check(prompts: PublishedPrompts) -> None:
    """Raise `KeyError`, `IndexError` or `ValueError` when a template asks for what nothing fills in."""
    shared = {"project_structure": "", "env_specs": "", "build_section": ""}
    prompts.file_template.format(path="", content="")
    prompts.task_information_template.format(**shared, src_section="")
    prompts.merge_build_files_task.format(**shared, build_file_edits="")


_LONGEST_REPLY = 8000
_PROPOSAL_TOKENS = 200
"""For guesses: what a reply says besides the build files that it repeats."""


class DependencyOptions(SettingRecord):
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
        messages = await asyncio.to_thread(self.wording.about_code, repository, task)
        answer.take(await asking.ask("all", messages), repository.build_files)

    @override
    def questions(self, repository: MaskedRepository, task: Task) -> Iterator[tuple[Messages, int]]:
        yield self.wording.about_code(repository, task), _build_tokens(repository)


class ImportsOnly(DependencyAgent):
    """Import statements only."""

    name = "imports-only"

    @override
    async def ask(self, asking: ModelQuestions, repository: MaskedRepository, task: Task, answer: _Answer) -> None:
        messages = await asyncio.to_thread(self.wording.about_imports, repository, task)
        answer.take(await asking.ask("all", messages), repository.build_files)

    @override
    def questions(self, repository: MaskedRepository, task: Task) -> Iterator[tuple[Messages, int]]:
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
    return AllInOne(read_options(DependencyOptions, AllInOne.name, options))


def create_imports_only(options: Mapping[str, JsonValue]) -> ImportsOnly:
    return ImportsOnly(read_options(DependencyOptions, ImportsOnly.name, options))


def create_file_iterate(options: Mapping[str, JsonValue]) -> FileIterate:
    return FileIterate(read_options(DependencyOptions, FileIterate.name, options))


async def _all(work: Iterable[Coroutine[object, object, None]]) -> None:
    """Do everything; the first error ends the others and is raised by itself."""
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                group.create_task(one)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from errors
