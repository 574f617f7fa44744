"""The three ways of asking for dependencies: what the model sees, and that no file gets another's content."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from groundup.agents.answers import fenced
from groundup.agents.base import Agent, EpisodeLimits
from groundup.agents.dependencies.agents import (
    _structure,
    create_all_in_one,
    create_file_iterate,
    create_imports_only,
)
from groundup.domain.conversations import ChatReply, ChatRequest
from groundup.domain.errors import TaskError, UsageError
from groundup.domain.subjects import Outcome
from groundup.domain.tasks import Task
from tests.agents.fakes import FakeModel, Memory, a_task, agent_context, says

ROOT_TOML, SUB_TOML = '[package]\nname = "root"\n', '[package]\nname = "sub"\n'
BUILD_FILES = ("Cargo.toml", "crates/sub/Cargo.toml")


def rust_task(*build_files: str) -> Task:
    """Return a task that asks for the dependencies of a Rust repository."""
    metadata = {"language": "rust", "build_files": json.dumps(build_files or BUILD_FILES)}
    return a_task(deliverable="edits", metadata=metadata)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A workspace with two crates."""
    workspace = tmp_path / "workspace"
    (workspace / "src").mkdir(parents=True)
    (workspace / "crates/sub/src").mkdir(parents=True)
    (workspace / "Cargo.toml").write_text(ROOT_TOML)
    (workspace / "crates/sub/Cargo.toml").write_text(SUB_TOML)
    (workspace / "src/main.rs").write_text("use serde::Serialize;\nfn main() { secret_of_main(); }\n")
    (workspace / "crates/sub/src/lib.rs").write_text("extern crate rand;\npub fn secret_of_lib() {}\n")
    (workspace / "logo.png").write_bytes(b"\x89PNG")
    (workspace / "release.py").write_text("def secret_of_tool(): ...\n")
    return workspace


async def test_all_in_one_shows_everything_once(tmp_path: Path, repository: Path) -> None:
    """One question holds the instruction, all sources and all build files; the answer is written."""
    model = FakeModel([says(fenced("Cargo.toml", f"{ROOT_TOML}[dependencies]\nserde = '1'\n"))])
    ended = await create_all_in_one({}).attempt(agent_context(tmp_path, model, task=rust_task()))
    (request,) = model.requests
    question = request.messages[-1].content
    for part in ("Write it.", "secret_of_main", "secret_of_lib", ROOT_TOML, SUB_TOML):
        assert question.count(part) == 1
    assert "PNG" not in question
    assert "secret_of_tool" not in question, "another language"
    assert (repository / "Cargo.toml").read_text().endswith("serde = '1'\n")
    assert (repository / "crates/sub/Cargo.toml").read_text() == SUB_TOML
    assert (ended.outcome, ended.turns) == (Outcome.SUBMITTED, 1)


async def test_a_build_file_that_is_a_source_is_shown_once(tmp_path: Path) -> None:
    """`setup.py` is no source beside itself."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "setup.py").write_text("setup(name='of_setup')\n")
    model = FakeModel([says("nothing")])
    task = a_task(deliverable="edits", metadata={"language": "python", "build_files": '["setup.py"]'})
    await create_all_in_one({}).attempt(agent_context(tmp_path, model, task=task))
    assert model.requests[0].messages[-1].content.count("of_setup") == 1


async def test_a_repository_that_is_too_large_is_impossible_for_all_in_one(
    tmp_path: Path, repository: Path
) -> None:
    """It is said before anything is paid, and nothing is changed."""
    (repository / "src/large.rs").write_text("fn f() {}\n" * 5000)
    model = FakeModel([], window=8000)
    ended = await create_all_in_one({}).attempt(agent_context(tmp_path, model, task=rust_task()))
    assert (ended.outcome, model.requests) == (Outcome.LIMIT, [])
    assert "impossible" in ended.detail
    assert (repository / "Cargo.toml").read_text() == ROOT_TOML


async def test_imports_only_shows_only_imports(tmp_path: Path, repository: Path) -> None:
    """The bodies of the sources are not part of the question."""
    model = FakeModel([says("nothing")])
    await create_imports_only({}).attempt(agent_context(tmp_path, model, task=rust_task()))
    question = model.requests[0].messages[-1].content
    assert "use serde::Serialize;" in question
    assert "extern crate rand;" in question
    assert "secret" not in question


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (fenced("crates/Cargo.toml", "x"), "none of the build files"),
        (fenced("sub/Cargo.toml", "x"), "none of the build files"),
        ("```toml\nx\n```\n", "do not say which file"),
        (fenced("Cargo.toml", "x") + fenced("Cargo.toml", "y"), "given 2 times"),
        ("```path=Cargo.toml\nx", "has no end"),
    ],
)
async def test_what_is_ambiguous_changes_nothing(
    tmp_path: Path, repository: Path, reply: str, problem: str
) -> None:
    """A root's Cargo.toml never gets a member's content: only an exact path counts, and only once."""
    ended = await create_all_in_one({}).attempt(
        agent_context(tmp_path, FakeModel([says(reply)]), task=rust_task())
    )
    assert (repository / "Cargo.toml").read_text() == ROOT_TOML
    assert (repository / "crates/sub/Cargo.toml").read_text() == SUB_TOML
    assert problem in ended.detail


async def test_a_nameless_block_counts_where_only_one_file_can_be_meant(tmp_path: Path, repository: Path) -> None:
    """With a single build file there is nothing to confuse."""
    model = FakeModel([says("```toml\nnew = 1\n```")])
    await create_imports_only({}).attempt(agent_context(tmp_path, model, task=rust_task("Cargo.toml")))
    assert (repository / "Cargo.toml").read_text() == "new = 1\n"


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("Run this:\n```bash\ncargo add serde\n```\n", "gives no file"),
        ("```diff\n--- a/Cargo.toml\n+++ b/Cargo.toml\n@@ -1 +1,2 @@\n x\n+serde = 1\n```", "given as a diff"),
        ("It needs serde.", "gives no file"),
    ],
)
async def test_commands_and_diffs_are_no_build_file(
    tmp_path: Path, repository: Path, reply: str, problem: str
) -> None:
    """They would replace all that the file holds, though it is the only one that can be meant."""
    model = FakeModel([says(reply)])
    ended = await create_imports_only({}).attempt(agent_context(tmp_path, model, task=rust_task("Cargo.toml")))
    assert (repository / "Cargo.toml").read_text() == ROOT_TOML
    assert problem in ended.detail


@pytest.mark.parametrize("create", [create_imports_only, create_file_iterate])
async def test_a_reply_that_was_cut_off_changes_nothing_and_is_a_limit(
    create: Callable[[dict[str, JsonValue]], Agent], tmp_path: Path, repository: Path
) -> None:
    """Half a build file is none, and half a list of dependencies would be taken for all of them."""
    half = says(fenced("Cargo.toml", "half")).but(finish="length")
    model = FakeModel(say=lambda _: half)
    ended = await create({}).attempt(agent_context(tmp_path, model, task=rust_task("Cargo.toml")))
    assert (repository / "Cargo.toml").read_text() == ROOT_TOML
    assert ended.outcome is Outcome.LIMIT
    assert "cut off" in ended.detail


def by_file(request: ChatRequest) -> ChatReply:
    """Play a reader that knows one crate per file, and a merger that writes what is proposed."""
    text = request.messages[-1].content
    if "Merge what is right" in text:
        proposed = re.findall(r"^- (\S+) = \S+ \(for", text, re.MULTILINE)
        shown = re.findall(r"^```path=(\S*Cargo\.toml)$", text, re.MULTILINE)
        assert len(shown) == 1
        return says(fenced(shown[0], f"merged {' '.join(proposed)} into {shown[0]}"))
    if "secret_of_main" in text:
        return says('```json\n{"Cargo.toml": ["serde = 1"], "elsewhere": ["x"]}\n```')
    return says('{"crates/sub/Cargo.toml": ["rand = 2"]}')


async def test_file_iterate_asks_for_each_file_and_merges_for_each_build_file(
    tmp_path: Path, repository: Path
) -> None:
    """Proposals reach exactly the build file that they name; one that names another is reported and dropped."""
    model, memory = FakeModel(say=by_file), Memory()
    ended = await create_file_iterate({}).attempt(
        agent_context(tmp_path, model, task=rust_task(), trajectory=memory)
    )
    assert len(model.requests) == 4
    assert (repository / "Cargo.toml").read_text() == "merged serde into Cargo.toml\n"
    assert (repository / "crates/sub/Cargo.toml").read_text() == "merged rand into crates/sub/Cargo.toml\n"
    assert ended.turns == 4
    assert "'elsewhere' is none of the build files" in ended.detail


@pytest.mark.parametrize("kept", [0, 3, 6, 9, 12])
async def test_file_iterate_pays_for_no_answer_twice(tmp_path: Path, repository: Path, kept: int) -> None:
    """A try that was killed anywhere asks only what is not on record, and ends the same."""
    whole = Memory()
    expected = await create_file_iterate({"at_once": 1}).attempt(
        agent_context(tmp_path, FakeModel(say=by_file), task=rust_task(), trajectory=whole)
    )
    (repository / "Cargo.toml").write_text(ROOT_TOML)
    (repository / "crates/sub/Cargo.toml").write_text(SUB_TOML)
    rest = Memory(whole.steps[:kept])
    model = FakeModel(say=by_file)
    ended = await create_file_iterate({"at_once": 1}).attempt(
        agent_context(tmp_path, model, task=rust_task(), trajectory=rest)
    )
    assert ended == expected
    assert len(model.requests) == 4 - sum(step["kind"] == "reply" for step in rest.earlier)


async def test_a_file_that_is_too_large_is_left_out_of_file_iterate(tmp_path: Path, repository: Path) -> None:
    """The others are asked about, and the outcome is still a submission."""
    (repository / "src/large.rs").write_text("fn f() {}\n" * 5000)
    ended = await create_file_iterate({}).attempt(
        agent_context(tmp_path, FakeModel(say=by_file, window=8000), task=rust_task())
    )
    assert (ended.outcome, ended.turns) == (Outcome.SUBMITTED, 4)
    assert "src/large.rs: impossible" in ended.detail


async def test_limits_keep_what_was_merged(tmp_path: Path, repository: Path) -> None:
    """An attempt that reaches its limit between two merges hands in the first."""
    limits = EpisodeLimits(turns=3)
    ended = await create_file_iterate({"at_once": 1}).attempt(
        agent_context(tmp_path, FakeModel(say=by_file), task=rust_task(), limits=limits)
    )
    assert (ended.outcome, ended.detail, ended.turns) == (Outcome.LIMIT, "3 turns", 3)
    assert (repository / "Cargo.toml").read_text().startswith("merged")
    assert (repository / "crates/sub/Cargo.toml").read_text() == SUB_TOML


@pytest.mark.parametrize("create", [create_all_in_one, create_imports_only, create_file_iterate])
async def test_other_tasks_are_refused(tmp_path: Path, create: Callable[..., object]) -> None:
    """A task that asks for no dependencies is reported so, by the agent's fault and not the model's."""
    agent = create({})
    with pytest.raises(TaskError, match="use another agent"):
        await agent.attempt(agent_context(tmp_path, FakeModel([])))  # type: ignore[attr-defined]


@pytest.mark.parametrize("create", [create_all_in_one, create_imports_only, create_file_iterate])
def test_tokens_are_guessed_from_the_repository(
    create: Callable[[dict[str, JsonValue]], Agent], tmp_path: Path, repository: Path
) -> None:
    """A larger source costs more where sources are shown, and a limit on turns limits the guess."""
    agent, task = create({}), rust_task()
    before = agent.expected_usage(task, EpisodeLimits(), lambda: repository)
    first = agent.expected_usage(task, EpisodeLimits(turns=1), lambda: repository)
    (repository / "src/large.rs").write_text("fn f() {}\n" * 5000)
    after = agent.expected_usage(task, EpisodeLimits(), lambda: repository)
    assert before is not None
    assert first is not None
    assert after is not None
    assert 0 < first.input_tokens <= before.input_tokens
    assert 0 < before.output_tokens < 8000
    assert (after.input_tokens > before.input_tokens + 5000) is (agent.name != "imports-only")


PROMPTS = """
import os
os._exit(1)  # what is read is never run
lazy_prompt = "LAZY"
instruction = '''INSTRUCTION'''
task_information_template = "{project_structure}|{env_specs}|{src_section}|{build_section}"
file_template = "{path}\\n```\\n{content}\\n```"
merge_build_files_instruction = "MERGING"
merge_build_files_task = "{project_structure}|{env_specs}|{build_file_edits}|{build_section}"
"""


@pytest.fixture
def published(tmp_path: Path) -> str:
    """A checkout with prompts in the form of the published ones."""
    place = tmp_path / "checkout/dibench/prompt.py"
    place.parent.mkdir(parents=True)
    place.write_text(PROMPTS)
    return str(tmp_path / "checkout")


async def test_published_prompts_are_asked_instead(tmp_path: Path, repository: Path, published: str) -> None:
    """Templates are filled with structure, sources and build files; replies in their form are read."""
    model = FakeModel([says("crates/sub/Cargo.toml\n```\nnew = 1\n```\n")])
    agent = create_imports_only({"prompts": published})
    await agent.attempt(agent_context(tmp_path, model, task=rust_task()))
    system, question = model.requests[0].messages
    assert system.content == "You are a senior expert in rust"
    assert question.content.startswith("INSTRUCTION\n./\n")
    assert question.content.endswith("INSTRUCTION\nLAZY")
    assert "src/main.rs\n```\n...\nuse serde::Serialize;\n...\n```" in question.content
    assert "secret" not in question.content
    assert (repository / "crates/sub/Cargo.toml").read_text() == "new = 1\n"
    assert agent.identity()["prompts"] != create_imports_only({}).identity()["prompts"]


async def test_published_prompts_are_merged(tmp_path: Path, repository: Path, published: str) -> None:
    """What readers of single files leave as it was is no proposal; the merge sees the others whole."""
    seen: list[str] = []

    def say(request: ChatRequest) -> ChatReply:
        text = request.messages[-1].content
        seen.append(text)
        if text.startswith("MERGING"):
            return says("Cargo.toml\n```\nmerged\n```\n")
        added = "added" if "secret_of_main" in text else 'name = "root"'
        return says(f"Cargo.toml\n```\n[package]\n{added}\n```\n")

    agent = create_file_iterate({"prompts": published})
    await agent.attempt(agent_context(tmp_path, FakeModel(say=say), task=rust_task()))
    (merging,) = [text for text in seen if text.startswith("MERGING")]
    assert merging.count("added") == 1
    assert (repository / "Cargo.toml").read_text() == "merged\n"


def test_a_folder_without_prompts_is_refused(tmp_path: Path, published: str) -> None:
    """It is a mistake of the user's, reported before anything is asked."""
    with pytest.raises(UsageError, match="holds no dibench/prompt"):
        create_all_in_one({"prompts": str(tmp_path)})
    place = tmp_path / "checkout/dibench/prompt.py"
    place.write_text(PROMPTS.replace("{src_section}", "{other}"))
    with pytest.raises(UsageError, match="does not hold the publishers' prompts"):
        create_all_in_one({"prompts": published})


def test_the_structure_of_a_project(tmp_path: Path) -> None:
    """Folders before files in order of walking, each by name; nothing that is hidden."""
    for place in ("b.txt", "a.txt", ".env", "src/z.rs", "src/.x", "src/deep/y.rs", "docs/r.md", ".git/config"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("")
    assert _structure(tmp_path).split("\n") == [
        *("./", "  a.txt", "  b.txt", "  docs/", "    r.md", "  src/", "    z.rs", "    deep/", "      y.rs"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["file_template", "task_information_template", "merge_build_files_task"])
@pytest.mark.parametrize("part", ["{unheard_of}", "{0}", "{"])
def test_prompts_that_ask_for_what_nothing_fills_in_are_refused(published: str, name: str, part: str) -> None:
    """Before anything is asked."""
    place = Path(published) / "dibench/prompt.py"
    place.write_text(f"{place.read_text()}\n{name} = {part!r}\n")
    with pytest.raises(UsageError, match="does not hold the publishers' prompts: "):
        create_imports_only({"prompts": published})


async def test_published_prompts_show_the_whole_code(tmp_path: Path, repository: Path, published: str) -> None:
    """To who asks once for all, in their form."""
    model = FakeModel([says("Cargo.toml\n```\nnew = 1\n```\n")])
    await create_all_in_one({"prompts": published}).attempt(agent_context(tmp_path, model, task=rust_task()))
    question = model.requests[0].messages[1].content
    assert "secret_of_main" in question
    assert question.startswith("INSTRUCTION\n./\n")
    assert (repository / "Cargo.toml").read_text() == "new = 1\n"
