"""SUITE+hints, SUITE+node, SUITE+go: other things are asked of subjects; no run of one is mixed with another."""

from pathlib import Path

import pytest
from typing_extensions import override

from groundup.api.requests import evaluation
from groundup.domain.errors import TaskError, UsageError
from groundup.domain.languages import ServiceToolchain, ToolchainName
from groundup.environments.toolchains import Toolchain, find_toolchain
from groundup.grading.context import GradingContext
from groundup.settings import Settings, environment
from groundup.suites.base import Graded
from groundup.suites.opening import named_suite, open_suite
from groundup.suites.places import split_variants, with_data_set, with_variants
from groundup.suites.pulling import take_folder
from groundup.suites.repogenesis.strict import RepoGenesisStrictGrader
from groundup.suites.repogenesis.suite import RepoGenesis, RepoGenesisData
from groundup.suites.repogenesis.tasks import shipped_tasks
from tests.grading.library.laboratory import write_tree
from tests.suites.repogenesis.folders import OWN_TASK, make_task
from tests.suites.repogenesis.trials import LIFECYCLE, TASK, ServiceBuilder, Trial, passed, share

TOKEN = "Requests carry the token t-1."
FLAG = '[[flags]]\nkind = "hidden-requirement"\ngraders = ["strict"]\nreason = "x"\n'
HINTED = f'hints = ["{TOKEN}"]\n{OWN_TASK}\n{FLAG}'
GO = """
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

var notes = map[string]string{}

func answer(method, path, body string) (string, string) {
	id := strings.TrimPrefix(path, "/notes/")
	text, known := notes[id]
	switch {
	case path == "/health":
		return "200 OK", `{"status": "ok"}`
	case path == "/notes" && method == "POST":
		id = strconv.Itoa(len(notes) + 1)
		if part := strings.Split(body, `"`); len(part) > 3 {
			notes[id] = part[3]
		}
		return "201 Created", `{"id": "` + id + `"}`
	case !known:
		return "404 Not Found", `{"error": "no such note ` + id + `"}`
	case method == "DELETE":
		delete(notes, id)
		return "204 No Content", ""
	}
	return "200 OK", `{"text": "` + text + `"}`
}

func main() {
	port, _ := net.Listen("tcp", ":8123")
	for {
		asked, _ := port.Accept()
		lines, size := bufio.NewReader(asked), 0
		first, _ := lines.ReadString('\\n')
		for {
			line, problem := lines.ReadString('\\n')
			if problem != nil || strings.TrimSpace(line) == "" {
				break
			}
			if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "content-length") {
				size, _ = strconv.Atoi(strings.TrimSpace(value))
			}
		}
		body := make([]byte, size)
		io.ReadFull(lines, body)
		if words := strings.Fields(first); len(words) > 1 {
			status, text := answer(words[0], words[1], string(body))
			fmt.Fprintf(asked, "HTTP/1.1 %s\\r\\nContent-Type: application/json\\r\\n", status)
			fmt.Fprintf(asked, "Connection: close\\r\\nContent-Length: %d\\r\\n\\r\\n%s", len(text), text)
		}
		asked.Close()
	}
}
"""
"""On sockets alone: to compile net/http for the first time takes most of a minute of processor time."""
COMPILING = LIFECYCLE.but(install_s=600, overall_s=900)
MODULE = "module notes\n\ngo 1.19\n"
NODE = """
const notes = new Map();
require("http").createServer((question, answer) => {
  const tell = (status, body) => { answer.writeHead(status); answer.end(body ? JSON.stringify(body) : ""); };
  const [, place, id] = question.url.split("/");
  let text = "";
  question.on("data", part => { text += part; });
  question.on("end", () => {
    if (place === "health") return tell(200, {status: "ok"});
    if (place !== "notes") return tell(404);
    if (question.method === "POST") { const id = notes.size + 1; notes.set(String(id), JSON.parse(text).text);
      return tell(201, {id}); }
    if (!notes.has(id)) return tell(404, {error: "no such note"});
    if (question.method === "DELETE") { notes.delete(id); return tell(204); }
    return tell(200, {text: notes.get(id)});
  });
}).listen(8123, "0.0.0.0");
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return settings with the data set `mine`, whose one task has a hint and a flag."""
    found = Settings(cache_dir=tmp_path / "cache", data_dir=tmp_path / "data", output=tmp_path / "runs")
    make_task(tmp_path / "tasks", record=HINTED)
    _, of_set = with_data_set("repogenesis@mine", found)
    take_folder("repogenesis", tmp_path / "tasks", of_set, RepoGenesisData().check)
    return found


@pytest.mark.parametrize(
    ("name", "plain", "words"),
    [
        ("repogenesis", "repogenesis", ()),
        ("repogenesis+hints", "repogenesis", ("hints",)),
        ("repogenesis+node+hints@a+b", "repogenesis@a+b", ("hints", "node")),
        ("my.package:create", "my.package:create", ()),
        ("my.package:create+hints", "my.package:create", ("hints",)),
        ("./a+b", "./a+b", ()),
    ],
)
def test_a_variant_is_part_of_the_suites_name(name: str, plain: str, words: tuple[str, ...]) -> None:
    """What stands behind `@` is a data set's, whatever is in it; paths have no variants."""
    assert split_variants(name) == (plain, words)
    assert split_variants(with_variants(plain, words))[1] == words


def test_hints_are_in_the_instruction_and_beside_it(settings: Settings) -> None:
    """Who gets them reads them twice; who does not finds no trace of them."""
    told, plain = (open_suite(name, settings) for name in ("repogenesis+hints@mine", "repogenesis@mine"))
    task, bare = told.by_name()["greeter"], plain.by_name()["greeter"]

    assert task.instruction is not None
    assert TOKEN in task.instruction
    assert {seed.path for seed in task.seeds} == {"README.md", "HINTS.md"}
    assert TOKEN not in bare.model_dump_json()
    assert told.name == "repogenesis+hints"


def test_with_its_hints_a_task_is_valid(settings: Settings) -> None:
    """What is hidden from others is no fault for who is told it; graders judge by the same record."""
    told, plain = (open_suite(name, settings) for name in ("repogenesis+hints@mine", "repogenesis@mine"))
    assert isinstance(told, RepoGenesis)
    assert isinstance(plain, RepoGenesis)

    assert told.groups()["valid"] == ["greeter"]
    assert plain.groups()["valid"] == []
    identities = [suite.graders()["strict"].identity(suite.by_name()["greeter"]) for suite in (told, plain)]
    assert identities[0] == identities[1]


def test_each_task_whose_tests_want_something_hidden_has_hints() -> None:
    """Of the published tasks exactly those with such a flag have a page."""
    hidden = {
        name
        for name, task in shipped_tasks().items()
        if any(flag.kind in ("hidden-names", "hidden-requirement") for flag in task.flags)
    }

    assert {name for name, task in shipped_tasks().items() if task.hints} == hidden


def test_services_in_go_are_asked_for_as_those_in_node_are() -> None:
    """The same tasks, in words of its own; a run of one is none of the other."""
    suite = open_suite("repogenesis+go", Settings(data_dir=Path("/nowhere")))
    other = open_suite("repogenesis+node", Settings(data_dir=Path("/nowhere")))
    assert isinstance(suite, RepoGenesis)
    assert isinstance(other, RepoGenesis)
    task = suite.by_name()["mail_service"]

    assert task.metadata["language"] == "go"
    assert suite.blocked().keys() == other.blocked().keys()
    assert set(suite.blocked().values()) == {"no task for services in Go"}
    assert suite.problems["mail_service"].asked.count("go build") == 1


def test_services_in_node_are_asked_for_where_the_readme_names_no_framework() -> None:
    """The task says what to hand in; one with a framework, or whose tests import it, says why it is none."""
    suite = open_suite("repogenesis+node", Settings(data_dir=Path("/nowhere")))
    assert isinstance(suite, RepoGenesis)
    task = suite.by_name()["mail_service"]

    assert task.metadata["language"] == "javascript"
    assert list(suite.graders()) == ["strict"]
    assert suite.referenced() == ()
    assert {"Blog", "eve", "javalin-task-manager"} <= suite.blocked().keys()
    assert "mail_service" not in suite.blocked()


def test_a_task_with_a_framework_is_refused_by_name(settings: Settings) -> None:
    """Before anything runs, with the framework that its README asks for."""
    make_task(settings.output.parent / "more", record=OWN_TASK.replace("port =", 'framework = "eve"\nport ='))
    _, of_set = with_data_set("repogenesis@more", settings)
    take_folder("repogenesis", settings.output.parent / "more", of_set, RepoGenesisData().check)
    suite = open_suite("repogenesis+node@more", settings)

    with pytest.raises(TaskError, match=r"no task for services in Node\.js: its README asks for eve"):
        suite.graders()["strict"].check(suite.by_name()["greeter"])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("repogenesis+cobol", "repogenesis has no variant 'cobol'; choose from: hints, node, go"),
        ("dibench+hints", "dibench has no variant 'hints'; leave it out"),
        ("repogenesis+go+node", "services are in one language; name node or go"),
    ],
)
def test_what_is_no_variant_is_named(name: str, words: str, settings: Settings) -> None:
    """One sentence with those that there are."""
    with pytest.raises(UsageError) as raised:
        open_suite(name, settings)

    assert str(raised.value) == words


def test_flags_name_the_suite_of_the_run(settings: Settings, tmp_path: Path) -> None:
    """`--hints` and `--toolchain node` are in the run's record, also for a set by its short name."""
    folder = write_tree(tmp_path / "made", {"greeter/app.py": "x"})
    new = evaluation("repogenesis@mine", folder, settings=settings, hints=True, toolchain="node")

    assert new.configuration.suite == "repogenesis+hints+node@mine"
    assert named_suite(new.configuration.suite, settings) == new.configuration.suite


class HostToolsBuilder(ServiceBuilder):
    """Lends the toolchains of this machine and no registry."""

    @override
    async def toolchain(self, name: ToolchainName) -> Toolchain:
        """Return the one that PATH has."""
        return await find_toolchain(name, environment(), self._folder / "toolchains")


async def graded_in(toolchain: ServiceToolchain, trial: Trial, files: dict[str, str]) -> Graded:
    """Return what strict grading says of a service that *toolchain* runs."""
    problem = trial.problem().but(toolchain=toolchain)
    submission = write_tree(trial.folder / "submission", files)
    scratch = trial.folder / "scratch"
    scratch.mkdir()
    context = GradingContext(provider=trial.provider, builder=HostToolsBuilder(trial.folder), scratch=scratch)
    return await RepoGenesisStrictGrader({"notes": problem}, COMPILING).grade(TASK, submission, context)


@pytest.mark.end_to_end
@pytest.mark.needs("npm")
async def test_a_service_in_javascript_gets_everything(trial: Trial) -> None:
    """npm installs and builds it, `start` of package.json starts it; the verdict names the machine's Node.js."""
    manifest = '{"name": "notes", "scripts": {"build": "cp server.js built.js", "start": "node built.js"}}'
    graded = await graded_in("node", trial, {"package.json": manifest, "server.js": NODE})

    assert passed(graded) == 4, graded.logs
    assert share(graded, "deployed") == 1
    assert graded.verdict.grader.environment == "host"
    assert {"node", "npm"} <= graded.verdict.facts.keys()


@pytest.mark.end_to_end
@pytest.mark.needs("npm")
@pytest.mark.parametrize(
    ("files", "cause"),
    [
        ({"package.json": "{", "start.sh": "node server.js"}, "`npm install`: "),
        ({"package.json": '{"scripts": {"build": "echo no such word >&2; exit 3"}}'}, "`npm run build"),
        ({"app.py": "print(1)"}, "third level, and package.json names no start or main, and there"),
        ({"package.json": "{}", "start.sh": "node server.js", "server.js": "[].x.y\n"}, "Cannot read properties"),
    ],
)
async def test_a_service_in_javascript_that_cannot_start_says_why(
    trial: Trial, files: dict[str, str], cause: str
) -> None:
    """The cause is in the first 200 characters of one of the reasons."""
    graded = await graded_in("node", trial, files)

    assert passed(graded) == 0
    assert any(cause in reason.message[:200] for reason in graded.verdict.reasons), graded.verdict.reasons


@pytest.mark.end_to_end
@pytest.mark.needs("go")
async def test_a_service_in_go_gets_everything(trial: Trial) -> None:
    """Its programs are built before, and without a script the only one starts; the verdict names the Go."""
    graded = await graded_in("go", trial, {"go.mod": MODULE, "main.go": GO})

    assert passed(graded) == 4, graded.logs
    assert share(graded, "deployed") == 1
    assert graded.verdict.grader.environment == "host"
    assert "go" in graded.verdict.facts


@pytest.mark.end_to_end
@pytest.mark.needs("go")
@pytest.mark.parametrize(
    ("files", "cause"),
    [
        ({"go.mod": "module", "start.sh": "exec bin/notes"}, "go.mod:1"),
        ({"go.mod": MODULE, "main.go": "package main\n\nfunc main() { no() }\n"}, "undefined: no"),
        ({"main.go": GO}, "no go.mod"),
        ({"go.mod": MODULE, "a/x.go": GO, "b/x.go": GO}, "the build left not exactly one program in bin"),
    ],
)
async def test_a_service_in_go_that_cannot_start_says_why(trial: Trial, files: dict[str, str], cause: str) -> None:
    """The cause is in the first 200 characters of one of the reasons."""
    graded = await graded_in("go", trial, files)

    assert passed(graded) == 0
    assert any(cause in reason.message[:200] for reason in graded.verdict.reasons), graded.verdict.reasons
