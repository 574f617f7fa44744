"""Which tasks a board ranks runs by, and every sentence on a claim that its suite shows to be false."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import GraderIdentity
from groundup.store.folder import RunFolder
from groundup.store.records import ConfigFile, Planned, VerdictLine
from groundup.trees.archives import extract_archive
from groundup_board.bundles import Bundle, pack
from groundup_board.claims import TaskSet, board_sets, check_claims
from tests.groundup_board.test_bundles import OPEN
from tests.reports.made import Word, run_of
from tests.runs.toy import ToySuite
from tests.store.folders import write_run

SUITE = ToySuite(5)
NAMES = tuple(task.id for task in SUITE.tasks())
GRADER = GraderIdentity(name="strict", version="1", data_version="1", environment="rebuilt")
WHOLE = TaskSet(name="whole", digest="sha256:0", tasks=NAMES)
Lines = dict[AttemptKey, VerdictLine]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """An opened bundle, whose plan and verdicts each test replaces."""
    folder = tmp_path_factory.mktemp("bundle")
    pack(RunFolder(write_run(folder / "mine", "dibench")), folder / "mine.tar.gz", OPEN)
    extract_archive(folder / "mine.tar.gz", folder / "opened")
    return Bundle(folder / "opened")


def claimed(names: Sequence[str] = NAMES, **more: list[Word]) -> tuple[ConfigFile, Lines]:
    """Return plan and verdicts of a run that got all points of these tasks."""
    full: list[Word] = [(2.0, 2.0)]
    config, lines = run_of("r", {**dict.fromkeys(names, full), **more}, GRADER)
    pinned = {"suite": "toy 1"} | {f"task {task.id}": task.digest for task in SUITE.tasks()}
    return planned(config, config.planned, pinned), lines


def planned(config: ConfigFile, plan: Planned, pinned: Mapping[str, str]) -> ConfigFile:
    """Return *config* with another plan."""
    digest = ConfigFile.digest_for(config.configuration, plan, dict(pinned))
    return config.but(planned=plan, pinned=dict(pinned), digest=digest)


def faults(bundle: Bundle, config: ConfigFile, lines: Lines, sets: Sequence[TaskSet] = (WHOLE,)) -> list[str]:
    """Return why the run cannot stand for what it claims, beside what needs no suite."""
    (bundle.run.path / "config.json").write_text(config.model_dump_json())
    bundle.lines = lines
    known = set(bundle.faults())
    return [one for one in check_claims(bundle, SUITE, sets).faults if one not in known]


def test_a_whole_run_has_its_set_and_no_fault(bundle: Bundle) -> None:
    """Whichever of the sets its tasks are; pins of the whole task and of what graders see of it do alike."""
    config, lines = claimed()
    assert faults(bundle, config, lines) == []
    few = TaskSet(name="few", digest="sha256:1", tasks=NAMES[:2])
    assert check_claims(bundle, SUITE, [few, WHOLE]).tasks == WHOLE
    pinned = {"suite": "toy 1"} | {f"task {task.id}": task.graded_digest for task in SUITE.tasks()}
    assert faults(bundle, planned(config, config.planned, pinned), lines) == []


def test_tasks_that_are_no_set(bundle: Bundle) -> None:
    """The sets are named with their sizes."""
    few = TaskSet(name="few", digest="sha256:1", tasks=NAMES[:2])
    for size, said in ((4, "4 tasks"), (1, "1 task")):
        config, lines = claimed(NAMES[-size:])
        assert faults(bundle, config, lines, [few, WHOLE]) == [
            f"its {said}: no fixed set, which are few (2 tasks), whole (5 tasks); "
            "--set NAME=FILE fixes one of your own"
        ]
        assert check_claims(bundle, SUITE, [few, WHOLE]).tasks is None


def test_what_cannot_be_true_of_a_plan(bundle: Bundle) -> None:
    """Tasks twice, another suite, other content, verdicts too many and too few; three names of each."""
    config, lines = claimed()
    twice = Planned(tasks=(*NAMES, NAMES[0]), attempts=1)
    assert "its plan does not name each task as often as the others" in faults(
        bundle, planned(config, twice, config.pinned), lines
    )
    other = planned(config, config.planned, config.pinned | {"suite": "toy 2"})
    assert faults(bundle, other, lines) == ["it was made with the suite toy 2; here is toy 1"]
    advice = "`groundup data pull toy`, or grade the run again with this version and pack it"
    for changed, named in (
        (NAMES[:1], NAMES[0]),
        (NAMES[:3], ", ".join(NAMES[:3])),
        (NAMES, f"{', '.join(NAMES[:3])} and 2 more"),
    ):
        pinned = config.pinned | {f"task {name}": "sha256:0" for name in changed}
        assert faults(bundle, planned(config, config.planned, pinned), lines) == [
            f"the suite here has other content for {named}: {advice}"
        ]
    key = AttemptKey(task=NAMES[0], index=1)
    beyond = lines | {key: lines[AttemptKey(task=NAMES[0], index=0)].but(attempt=key)}
    assert faults(bundle, config, beyond) == [f"it has verdicts on what it did not plan: {NAMES[0]}/1"]
    lacking = dict(list(lines.items())[1:])
    assert faults(bundle, config, lacking) == [f"it has no verdict on {NAMES[0]}/0"]


def test_what_cannot_be_true_of_verdicts(bundle: Bundle) -> None:
    """Points that there are not, and graders that the run does not have."""
    three: list[Word] = [(3.0, 3.0)]
    config, lines = claimed(NAMES[1:], **{NAMES[0]: three})
    ordered = planned(config, config.planned.but(tasks=NAMES), config.pinned)
    assert faults(bundle, ordered, lines) == [f"its score is of 3 points, and there are 2: {NAMES[0]}/0"]
    config, lines = claimed()
    first = AttemptKey(task=NAMES[0], index=0)
    verdict = lines[first].verdict
    assert verdict
    for name, version, said in (("lax", "7", "lax 7, strict 1"), ("strict", "2", "strict 1, strict 2")):
        grader = GRADER.but(name=name, version=version)
        several = lines | {first: lines[first].but(verdict=verdict.but(grader=grader))}
        assert faults(bundle, config, several) == [f"its grader is strict, and its verdicts are of {said}"]
    alike = {key: line.but(verdict=verdict.but(grader=GRADER.but(name="lax"))) for key, line in lines.items()}
    assert faults(bundle, config, alike) == ["its grader is strict, and its verdicts are of lax 1"]


def test_sets_of_a_board(tmp_path: Path) -> None:
    """A set of one's own is read from a file, in order, and known by the content of its tasks."""
    own = tmp_path / "own.txt"
    own.write_text(f"{NAMES[2]}\n\n{NAMES[0]} {NAMES[2]}\n")
    *_, found = board_sets(SUITE, [f"mine={own}"])
    assert (found.name, found.tasks) == ("mine", (NAMES[0], NAMES[2]))
    *_, same = board_sets(SUITE, [f"again={own}"])
    assert (same.name, same.digest) == ("again", found.digest)
    *_, newer = board_sets(ToySuite(5, version="2"), [f"mine={own}"])
    assert newer.digest != found.digest
    assert len(board_sets(SUITE, [])) == len(board_sets(SUITE, [f"mine={own}"])) - 1


def test_sets_that_are_none(tmp_path: Path) -> None:
    """A task that the suite lacks, a group that it lacks, and a file that cannot be read."""
    own = tmp_path / "own.txt"
    own.write_text("task-9")
    with pytest.raises(UsageError, match=r"^of the set mine: unknown task 'task-9'"):
        board_sets(SUITE, [f"mine={own}"])
    with pytest.raises(UsageError, match=r"^unknown group 'mine'.*; --set NAME=FILE reads a set from a file$"):
        board_sets(SUITE, ["mine"])
    with pytest.raises(UsageError, match=r"^--set mine=/none: /none cannot be read: .*No such file"):
        board_sets(SUITE, ["mine=/none"])
