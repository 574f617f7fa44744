"""Task folders on the disk."""

from pathlib import Path

import pytest
from typing_extensions import override

from groundup.domain.errors import MachineError, TaskError, UsageError
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Reason, Stage
from groundup.environments.interpreters import stand_in_advice
from groundup.environments.requests import PythonEnvironment, PythonRequest
from groundup.grading.context import GradingContext
from groundup.settings import Settings
from groundup.suites.pulling import take_folder
from groundup.suites.repogenesis import tasks
from groundup.suites.repogenesis.strict import RepoGenesisStrictGrader
from groundup.suites.repogenesis.suite import all_graders, create
from groundup.suites.repogenesis.tasks import ServiceProblem, lifecycle, read_dataset, shipped_tasks
from tests.grading.library.laboratory import HostBuilder
from tests.sandbox.fake import FakeProvider
from tests.suites.repogenesis.folders import OWN_TASK, make_task, published


def test_a_task_of_ones_own_needs_data_only(tmp_path: Path) -> None:
    """A folder with README, tests and task.toml becomes a task; the published ones are not listed beside it."""
    make_task(tmp_path / "mine")
    settings = Settings(data_dir=tmp_path / "data")
    suite = create(settings)
    take_folder(suite.name, tmp_path / "mine", settings, suite.data_source().check)
    filled = create(settings)
    assert list(filled.gradable()) == ["greeter"]
    task = next(task for task in filled.tasks() if task.id == "greeter")
    assert task.instruction is not None
    assert "start.sh" in task.instruction
    assert task.seeds[0].content.decode() in task.instruction
    assert [seed.path for seed in task.seeds] == ["README.md"]
    assert len(suite.tasks()) == len(shipped_tasks())
    assert [one.id for one in filled.tasks()] == ["greeter"]


def test_another_interpreter_can_stand_in(tmp_path: Path) -> None:
    """For the tests and the service; a record that names the service's keeps it, and verdicts say who stood in."""
    make_task(tmp_path / "mine")
    settings = Settings(data_dir=tmp_path / "data", python="3.12")
    pinned = make_task(tmp_path / "mine", "pinned", OWN_TASK.replace("greeter", "pinned"))
    (pinned / "task.toml").write_text(f'python = "3.9"\n{(pinned / "task.toml").read_text()}')
    take_folder("repogenesis", tmp_path / "mine", settings, create(settings).data_source().check)
    suite = create(settings)
    one, other = suite.problems["greeter"], suite.problems["pinned"]
    assert (one.tests_python, one.service_python) == ("3.12", "3.12")
    assert (other.tests_python, other.service_python) == ("3.12", "3.9")
    assert tasks.test_environment(one).python == "3.12"
    task = next(task for task in suite.tasks() if task.id == "greeter")
    zero = suite.graders()["strict"].zero(task, Reason(stage=Stage.INTAKE, message="too large"))
    assert zero.verdict.grader.environment == "stand-in"


def test_an_interpreter_older_than_the_tests_packages_is_refused_before_a_run(tmp_path: Path) -> None:
    """Nobody's agent works for a grade that cannot be; the list of tasks says so as well."""
    make_task(tmp_path / "mine")
    settings = Settings(data_dir=tmp_path / "data", python="3.9")
    take_folder("repogenesis", tmp_path / "mine", settings, create(settings).data_source().check)
    suite = create(settings)

    with pytest.raises(TaskError, match=r"Python 3\.9 cannot stand in .* want 3\.10 or later"):
        suite.graders()["strict"].check(suite.by_name()["greeter"])
    assert tasks.whether_here(suite.problems["greeter"]) == "Python 3.9 is too old"


def test_a_task_can_bring_its_reference(tmp_path: Path) -> None:
    """The oracle hands in its folder `reference`, with the README; the version of the data stays as it was."""
    folder = make_task(tmp_path / "mine")
    before = read_dataset(tmp_path / "mine")
    assert before.problems[0].reference is None
    (folder / "reference").mkdir()
    (folder / "reference/app.py").write_text("serve()")
    after = read_dataset(tmp_path / "mine")

    (tmp_path / "handed-in").mkdir()
    tasks.write_reference(after.problems[0], tmp_path / "handed-in")

    assert sorted(path.name for path in (tmp_path / "handed-in").iterdir()) == ["README.md", "app.py"]
    assert after.version == before.version


def test_published_folders_need_no_record_of_their_own(tmp_path: Path) -> None:
    """Folders named as published tasks are known by the shipped records; a Java one brings its build file."""
    folder = make_task(tmp_path, "quarkus-blog-cms", record=None)
    (folder / "pom.xml").write_text("<project/>")
    (folder / "src" / "test").mkdir(parents=True)
    (problem,) = read_dataset(tmp_path).problems
    assert problem.pom == b"<project/>"
    assert problem.hidden_tests() == folder / "src" / "test"


def test_a_whole_checkout_is_accepted(tmp_path: Path) -> None:
    """The folder of tasks is found inside a checkout of the published repository."""
    make_task(tmp_path / "RepoGenesis" / "repo")
    assert [problem.task.id for problem in read_dataset(tmp_path).problems] == ["greeter"]


def test_the_version_changes_with_any_text(tmp_path: Path) -> None:
    """Another README, hidden test or record is another version of the data."""
    folder = make_task(tmp_path)
    first = read_dataset(tmp_path).version
    (folder / "tests" / "test_greeter.py").write_text("")
    second = read_dataset(tmp_path).version
    (folder / "README.md").write_text("")
    third = read_dataset(tmp_path).version
    (folder / "task.toml").write_text(OWN_TASK.replace("8090", "8091"))
    assert len({first, second, third, read_dataset(tmp_path).version}) == 4


_TWO = "class TestGreeter:\n    def test_one(self):\n        pass\n\n    def test_two(self):\n        pass\n"


@pytest.mark.parametrize(
    ("tests", "count", "refused"),
    [
        (_TWO, 2, None),
        (_TWO, 1, "counts 1, and its hidden tests are 2"),
        (_TWO, 4, "counts 4, and its hidden tests are 2"),
        (f"import pytest\n@pytest.mark.parametrize('n', range(3))\n{_TWO}", 4, None),
        (f"import pytest\n@pytest.mark.parametrize('n', range(3))\n{_TWO}", 1, "are at least 2"),
        ("def test_one(:\n", 1, r"its hidden tests cannot be read: invalid syntax \(test_greeter.py, line 1\)"),
    ],
)
def test_a_typed_count_is_compared_with_the_tests(
    tmp_path: Path, tests: str, count: int, refused: str | None
) -> None:
    """Data whose record promises fewer or more tests than there are is refused when it is pulled."""
    folder = make_task(tmp_path, record=OWN_TASK.replace("count = 1", f"count = {count}"))
    (folder / "tests" / "test_greeter.py").write_text(tests)
    check = create(Settings()).data_source().check
    if refused is None:
        assert check(tmp_path)
    else:
        with pytest.raises(UsageError, match=refused):
            check(tmp_path)


def test_unknown_folders_are_named(tmp_path: Path) -> None:
    """A folder that is no known task and has no record is refused, saying what it lacks."""
    make_task(tmp_path, "other", record=None)
    with pytest.raises(UsageError, match=r"other/task\.toml: missing"):
        read_dataset(tmp_path)


def test_misnamed_and_incomplete_folders_are_named(tmp_path: Path) -> None:
    """A record under another name, and a task without tests or README, are refused."""
    make_task(tmp_path / "misnamed", "other", record=OWN_TASK)
    with pytest.raises(UsageError, match="name it as its folder"):
        read_dataset(tmp_path / "misnamed")
    (make_task(tmp_path / "unread") / "README.md").unlink()
    with pytest.raises(UsageError, match=r"README\.md: cannot be read"):
        read_dataset(tmp_path / "unread")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no task folders"):
        read_dataset(tmp_path / "empty")


def test_hidden_tests_that_are_absent_say_how_to_get_them() -> None:
    """Grading without data fails as a fault of the task's data, with the command that mends it."""
    problem = ServiceProblem(task=shipped_tasks()["eve"])
    with pytest.raises(TaskError, match="data pull repogenesis"):
        problem.hidden_tests()


def test_the_published_data_is_the_known_release() -> None:
    """The pulled data is the release whose figures the suite ships."""
    dataset = published()
    if {problem.task.id for problem in dataset.problems} == shipped_tasks().keys():
        assert dataset.version == "c090b7d"


def test_only_tests_that_read_tables_get_pandas(tmp_path: Path) -> None:
    """Others need not wait for its installation; with it the environment is the whole lock, and never more."""
    folder = make_task(tmp_path)
    (folder / "tests" / "helpers").mkdir()
    (folder / "tests" / "requirements.txt").write_text("pandas\n")  # which no test imports
    (problem,) = read_dataset(tmp_path).problems
    without = {line.partition("==")[0] for line in tasks.test_environment(problem).requirements}
    locked = {line.partition("==")[0] for line in tasks.tests_lock().requirements}
    assert locked - without == {"pandas", "numpy", "openpyxl", "et-xmlfile"}
    assert tasks.test_environment(None) == tasks.test_environment(problem)
    (folder / "tests" / "helpers" / "frames.py").write_text("def frame():\n    import pandas as pd\n")
    assert tasks.test_environment(problem) == tasks.tests_lock()


def test_graders_take_along_what_a_container_needs_of_one_task(tmp_path: Path) -> None:
    """The task's own folder, read there as it was; a service in Java needs tools that no container has."""
    make_task(tmp_path / "data")
    make_task(tmp_path / "data", "other", OWN_TASK.replace("greeter", "other"))
    problems = {problem.task.id: problem for problem in read_dataset(tmp_path / "data").problems}
    (tmp_path / "taken").mkdir()
    task = Task(id="greeter", suite="repogenesis", instruction=None, data_version="own")
    assert RepoGenesisStrictGrader(problems, lifecycle()).write_data(task, tmp_path / "taken")
    (taken,) = read_dataset(tmp_path / "taken").problems
    assert taken.digest == problems["greeter"].digest
    own = problems["greeter"]
    java = own.but(task=own.task.but(language="java", kind="java"))
    assert not RepoGenesisStrictGrader({"greeter": java}, lifecycle()).write_data(task, tmp_path / "none")


async def test_for_an_interpreter_that_a_record_names_nothing_stands_in(tmp_path: Path) -> None:
    """`--python` is for the tests' interpreter, so it is not advised; this is said before an agent begins."""
    pinned = make_task(tmp_path / "mine")
    (pinned / "task.toml").write_text(f'python = "3.9"\n{(pinned / "task.toml").read_text()}')
    problem = read_dataset(tmp_path / "mine").problems[0]
    grader = all_graders({"greeter": problem}, Settings(data_dir=tmp_path))["strict"]
    task = Task(id="greeter", suite="repogenesis", instruction="", data_version="own")

    class Lacking(HostBuilder):
        @override
        async def python(self, request: PythonRequest) -> PythonEnvironment:
            raise MachineError(f"Python {request.python} is not on this machine; install it, {stand_in_advice()}")

    context = GradingContext(provider=FakeProvider(), builder=Lacking(tmp_path), scratch=tmp_path)
    with pytest.raises(MachineError, match=r"^Python 3\.9 .* install it, or name another one in its task\.toml$"):
        await grader.layers(task, context)
