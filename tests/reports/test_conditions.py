"""The head of a report says what decides its numbers, and a comparison where two runs differ in it."""

from collections.abc import Mapping

import pytest

from groundup.domain.inventory import Inventory
from groundup.domain.limits import Feedback
from groundup.domain.verdicts import GraderIdentity
from groundup.reports.comparison import compare
from groundup.reports.conditions import Conditions, HiddenScores, condition_sentences, conditions_of, differing
from groundup.reports.document import RunReport
from groundup.reports.summary import report_run
from groundup.reports.views import origin
from groundup.store.records import Generated, Predictions, References, RunConfiguration, Served, SubmissionsFrom
from tests.reports.made import GRADER, Run, run_of


@pytest.mark.parametrize(
    ("submissions", "expected"),
    [
        (Generated(agent="loop", model="m"), "shown"),
        (Generated(agent="loop", model="m", feedback=Feedback.HIDDEN), "not shown"),
        (Generated(agent="loop", model="m", feedback=Feedback.END), "not shown"),
        (Generated(agent="cli", model="m"), "not shown"),
        (Generated(agent="cli", model="m", rounds=3), "shown"),
        (Generated(agent="oneshot", model="m"), "not shown"),
        (Generated(agent="mine.agent:create", model="m"), "unknown"),
        (Predictions(path="/p"), "unknown"),
        (References(which="oracle"), "unknown"),
        (Served(), "not shown"),
        (Served(submits=None), "shown"),
        (Served(submits=3, shows_scores=False, reward="end"), "not shown"),
    ],
)
def test_who_saw_hidden_scores(submissions: SubmissionsFrom, expected: HiddenScores) -> None:
    """The loop does by default; a program through the command line, and who hands in once, do not."""
    found = conditions_of(RunConfiguration(suite="toy", submissions=submissions), ())
    assert found.hidden_scores == expected
    said = {"shown": 1, "not shown": 1, "unknown": 0}
    assert len(list(condition_sentences(found.but(verdicts=1)))) == said[expected]
    assert not [*condition_sentences(found)], "nobody is known to have begun"


def conditioned(
    name: str, submissions: SubmissionsFrom, facts: Mapping[str, bool | str], grader: GraderIdentity
) -> RunReport:
    """Report a run of two tasks, the first verdict with *facts*."""
    config, lines = run_of(name, {"a": [(1, 2)], "b": [(1, 2)]}, grader)
    changed: Run = config.but(configuration=config.configuration.but(submissions=submissions)), dict(lines)
    key = next(iter(lines))
    verdict = lines[key].verdict
    assert verdict is not None
    changed[1][key] = lines[key].but(verdict=verdict.but(facts=dict(facts)))
    return report_run(*changed)


def test_the_head_says_it_and_a_comparison_warns() -> None:
    """Stand-ins are interpreters and tools; what is as usual is not said."""
    stand_in = GRADER.but(environment="stand-in")
    base = conditioned("base", Generated(agent="loop", model="m"), {"graded_twice": True}, stand_in)
    other = conditioned("other", Generated(agent="cli", model="m"), {"substitutes": "SDK 10 for 9"}, GRADER)
    assert base.conditions == Conditions(hidden_scores="shown", verdicts=2, stand_ins=2, graded_twice=1)
    assert origin(base)[2] == (
        "the agent saw hidden scores while it worked; another interpreter or tool than the task asks for stood in "
        "for 2 of 2 verdicts; 1 of 2 verdicts graded twice, because the machine was busy; the second counts"
    )
    assert origin(other)[2].startswith("the agent saw no hidden score while it worked; another interpreter")
    assert compare(base, other).warnings == (
        "hidden scores while it worked: shown and not shown",
        "graded twice: 1 of 2 verdicts and 0 of 2 verdicts",
        "different graders, versions, data or environments; grade one again with `groundup regrade`",
    )
    plain = conditioned("plain", Predictions(path="/p"), {}, GRADER)
    assert len(origin(plain)) == 2
    assert compare(plain, plain).warnings == ()
    assert compare(plain, other).warnings[1] == (
        "stand-ins for what tasks ask for: 0 of 2 verdicts and 1 of 2 verdicts"
    )


def test_the_programs_of_agents_are_named_and_compared() -> None:
    """An agent with a compiler is another condition than one without, whatever both are called."""
    made = Generated(agent="loop", model="m")
    programs = {"sh": "dash 1", "convert": "imagemagick 6"}
    one = Inventory(origin="host", digest="sha256:aaaa", programs=programs)
    two = Inventory(origin="./base", digest="sha256:bbbb", programs={"sh": "dash 2"})
    config, lines = run_of("r", {"a": [(1, 2)]}, GRADER)
    config = config.but(configuration=config.configuration.but(submissions=made))
    left, right = (report_run(config, lines, inventories=[found]) for found in (one, two))
    assert (
        origin(left)[2] == "the agent saw hidden scores while it worked; agents had the host's 2 programs (aaaa)"
    )
    assert compare(left, right).warnings == (
        "agents had other programs: the host's 2 programs (aaaa) and ./base's 1 program (bbbb): "
        "dash 1 and dash 2; only the first has convert",
    )
    assert compare(left, left).warnings == ()
    assert "inventories" not in left.model_dump_json(), "the lock has them"


USUAL = Conditions(hidden_scores="shown", verdicts=4, stand_ins=0, graded_twice=1)


@pytest.mark.parametrize(
    ("base", "other", "said"),
    [
        (USUAL, USUAL, []),
        (USUAL, USUAL.but(hidden_scores="unknown"), ["hidden scores while it worked: shown and unknown"]),
        (
            USUAL,
            USUAL.but(stand_ins=2, graded_twice=0),
            [
                "stand-ins for what tasks ask for: 0 of 4 verdicts and 2 of 4 verdicts",
                "graded twice: 1 of 4 verdicts and 0 of 4 verdicts",
            ],
        ),
        (USUAL.but(stand_ins=1), USUAL.but(stand_ins=2, graded_twice=3), []),
        (
            USUAL.but(programs=("x", "y")),
            USUAL.but(programs=("z",)),
            ["agents had other programs: x, then y and z"],
        ),
        (USUAL.but(programs=("x",)), USUAL, []),
    ],
)
def test_in_what_conditions_differ(base: Conditions, other: Conditions, said: list[str]) -> None:
    """Numbers only where one of them is none; programs only where both are known."""
    assert list(differing(base, other)) == said
    assert len(list(differing(other, base))) == len(said)


def test_what_a_reader_must_know_in_its_words() -> None:
    """In one order; without a verdict neither scores nor programs are spoken of."""
    found = USUAL.but(programs=("x", "y"), verdicts=1, stand_ins=1)
    assert list(condition_sentences(found)) == [
        "the agent saw hidden scores while it worked",
        "agents had x, then y",
        "another interpreter or tool than the task asks for stood in for 1 of 1 verdict",
        "1 of 1 verdict graded twice, because the machine was busy; the second counts",
    ]
    assert list(condition_sentences(USUAL.but(programs=("x",), verdicts=0, graded_twice=0))) == []
