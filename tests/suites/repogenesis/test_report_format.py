"""The published report: written from verdicts, read as verdicts, averaged as published."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.subjects import AttemptKey, Subject
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.suites.base import AttemptResult, Results
from groundup.suites.repogenesis.report_format import read_report, repository, summary_table, write_report
from groundup.suites.repogenesis.suite import summaries
from groundup.suites.repogenesis.tasks import ServiceProblem, shipped_tasks

PROBLEMS = {name: ServiceProblem(task=task) for name, task in shipped_tasks().items()}
OFFICIAL = GraderIdentity(name="official", version="1", data_version="c090b7d")
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def official(
    passed: int, failed: int, errors: int, *, deployed: bool, found: int = 1, extracted: int = 2
) -> Verdict:
    """Return a verdict as the official grader makes it."""
    total = passed + failed + errors
    return Verdict(
        status=Status.GRADED,
        score=Score(numerator=passed, denominator=total),
        scores={
            "deployed": Score(numerator=int(deployed), denominator=1),
            "api_coverage": Score(numerator=found, denominator=extracted),
        },
        facts={
            "dsr_success": deployed,
            "dsr_message": "Service started successfully" if deployed else "No service entry point found",
            "passed": passed,
            "failed": failed,
            "errors": errors,
            "total": total,
            "exit_code": 0,
        },
        timings_s={"total": 4.567},
        grader=OFFICIAL,
    )


BROKEN = Verdict(
    status=Status.INFRASTRUCTURE,
    score=None,
    reasons=(Reason(stage=Stage.ENVIRONMENT, message="no network"),),
    grader=OFFICIAL,
    cacheable=False,
)
VERDICTS: dict[str, Verdict | None] = {
    "Blog": official(0, 0, 0, deployed=True, found=0, extracted=0),
    "Chatroom": official(8, 1, 0, deployed=True, found=1, extracted=3),
    "eve": official(1, 0, 1, deployed=False),
    "javalin-online-judge": official(2, 1, 0, deployed=True),
    "flask": BROKEN,
    "synapse": None,
}


def results(verdicts: dict[str, Verdict | None]) -> Results:
    """Return a run of one attempt per task; TaskManagement is pending."""
    return Results(
        name="run-1",
        created_at=NOW,
        subject=Subject(agent="copilot", model="sonnet"),
        origin="/predictions",
        seconds=12.345,
        attempts=tuple(
            AttemptResult(key=AttemptKey(task=task), verdict=verdict, seconds=6.0)
            for task, verdict in verdicts.items()
        ),
        pending=(AttemptKey(task="TaskManagement"),),
    )


def test_the_document_has_the_published_fields() -> None:
    """Names, order of fields, roundings and averages are the published ones."""
    document = json.loads(write_report(results(VERDICTS), PROBLEMS).document)
    assert list(document) == ["metadata", "summary", "results"]
    assert document["metadata"]["model_name"] == "sonnet"
    assert document["metadata"]["total_elapsed_seconds"] == 12.35
    assert document["summary"] == {
        "total_repos": 5,
        "python_repos": 4,
        "java_repos": 1,
        "avg_pass_at_1": 0.6852,  # (0.8889 + 0.5 + 0.6667) / 3: what has no counted test is left out
        "avg_api_coverage": 0.4444,  # (0.3333 + 0.5 + 0.5) / 3
        "deployment_success_rate": 0.6,
        "pass_at_1_by_lang": {"python": 0.6945, "java": 0.6667},  # rounded twice
        "ac_by_lang": {"python": 0.4166, "java": 0.5},
        "dsr_by_lang": {"python": 0.5, "java": 1.0},
    }
    chatroom = document["results"][1]
    assert chatroom == {
        "repo_name": "Chatroom",
        "lang": "python",
        "port": 8083,
        "framework": "any",
        "exit_code": 0,
        "dsr": {"success": True, "message": "Service started successfully"},
        "pass_at_1": {"passed": 8, "failed": 1, "errors": 0, "skipped": 0, "total": 9, "score": 0.8889},
        "api_coverage": {"total_apis": 3, "implemented_apis": 1, "score": 0.3333},
        "elapsed_seconds": 4.57,
    }


def test_what_the_form_does_not_hold_is_named() -> None:
    """Tasks without a verdict are not in the results, as published, but in the metadata and a note."""
    written = write_report(results(VERDICTS), PROBLEMS)
    assert json.loads(written.document)["metadata"]["not_in_results"] == ["TaskManagement", "synapse"]
    assert "2 tasks" in written.notes[0]


def test_several_attempts_are_an_entry_each() -> None:
    """Repositories are counted once, averages are over attempts, and what is written is read again."""
    one = results(VERDICTS)
    twice = AttemptResult(key=AttemptKey(task="eve", index=1), verdict=VERDICTS["Chatroom"])
    more = one.but(attempts=(*one.attempts, twice))
    single, both = (write_report(found, PROBLEMS) for found in (one, more))
    before, after = json.loads(single.document), json.loads(both.document)
    assert after["summary"]["total_repos"] == before["summary"]["total_repos"]
    assert [row["attempt"] for row in after["results"] if row["repo_name"] == "eve"] == [0, 1]
    assert "attempt" not in before["results"][0]
    assert "eve/1 " in both.table
    read = read_report(both.document, "report.json")
    assert read is not None
    assert AttemptKey(task="eve", index=1) in {attempt.key for attempt in read.attempts}


def test_the_table_is_the_published_one() -> None:
    """A row per repository, sorted by name, and the averages below."""
    lines = write_report(results(VERDICTS), PROBLEMS).table.splitlines()
    assert lines[2] == "  RepoGenesis Evaluation Results"
    assert lines[8] == "Chatroom                            python   PASS   8/9 (0.89) 1/3 (0.33)"
    assert lines[9] == "eve                                 python   FAIL   1/2 (0.50) 1/2 (0.50)"
    assert "  Avg Pass@1:               0.6852" in lines
    assert "  DSR (Python):     0.5000  | DSR (Java):     1.0000" in lines


def test_what_was_written_is_read_again() -> None:
    """Scores, deployment and the grader survive; a failure of the machine is none of the submission's."""
    written = write_report(results(VERDICTS), PROBLEMS).document
    found = read_report(written, "report_1.json")
    assert found is not None
    assert (found.name, found.subject) == ("report_1", Subject(agent="copilot", model="sonnet"))
    again = {one.key.task: one.verdict for one in found.attempts}
    assert set(again) == {"Blog", "Chatroom", "eve", "javalin-online-judge", "flask"}
    assert {key.task for key in found.pending} == {"synapse", "TaskManagement"}
    eve, flask = again["eve"], again["flask"]
    assert eve is not None
    assert flask is not None
    assert eve.score == Score(numerator=1, denominator=2)
    assert eve.scores["deployed"].value == 0
    assert eve.grader == OFFICIAL
    assert flask.status is Status.INFRASTRUCTURE
    assert flask.score is None


def test_a_report_of_the_harness_is_read() -> None:
    """Fields that the harness leaves out or adds do no harm; its grader is named as the published one."""
    entry = {
        "repo_name": "eve",
        "lang": "python",
        "port": 5001,
        "framework": "eve",
        "exit_code": -3,
        "dsr": {"success": False, "message": "No DSR markers found in container output"},
        "pass_at_1": {"passed": 0, "failed": 0, "errors": 0, "skipped": 0, "total": 0, "score": 0.0},
        "build_error": "Build failed (exit 1): \x1b[31mno space",
        "elapsed_seconds": 3.2,
    }
    document = {
        "metadata": {"timestamp": "2026-01-02T03:04:05.123456", "harness_version": "1.0.0", "more": 1},
        "summary": {
            "total_repos": 1,
            "avg_pass_at_1": 0.0,
            "avg_api_coverage": 0.0,
            "deployment_success_rate": 0.0,
        },
        "results": [entry],
    }
    found = read_report(json.dumps(document).encode(), "report_2026-01-02.json")
    assert found is not None
    verdict = found.attempts[0].verdict
    assert verdict is not None
    assert verdict.grader.name == "published"
    assert verdict.grader.environment == "image"
    assert verdict.reasons[0].stage is Stage.INSTALL
    assert "\x1b" not in verdict.reasons[0].message
    assert verdict.score == Score(numerator=0, denominator=0)


@pytest.mark.parametrize(
    "document", [b"", b"[]", b'{"runs": []}', b'{"metadata": {}, "summary": {}, "results": []}']
)
def test_other_documents_are_not_taken_for_it(document: bytes) -> None:
    """What has another form is left to others."""
    assert read_report(document, "x.json") is None


def test_a_repository_twice_is_refused() -> None:
    """A damaged report is named, not averaged."""
    document = json.loads(write_report(results(VERDICTS), PROBLEMS).document)
    document["results"].append(document["results"][0])
    with pytest.raises(UsageError, match="twice"):
        read_report(json.dumps(document).encode(), "x.json")


def test_official_runs_are_summed_up_as_published() -> None:
    """The averages with their denominators, by language."""
    verdicts = {AttemptKey(task=task): verdict for task, verdict in VERDICTS.items()}
    table, _ = summaries(verdicts, "official", PROBLEMS)
    everything = table.scores["all"]
    assert everything["deployed"] == Score(numerator=3, denominator=5)
    assert everything["Pass@1"].denominator == 3
    assert everything["Pass@1"].value == pytest.approx(0.6852, abs=1e-4)
    assert list(table.scores) == ["all", "java", "python"]
    assert [one.layout for one in summaries(verdicts, "strict", PROBLEMS)] == ["paper"]


def test_the_paper_s_table_has_pass_coverage_and_deployment_by_language() -> None:
    """The published averages under the paper's names; strict counts what was not handed in in every figure."""
    verdicts: dict[AttemptKey, Verdict | None] = {AttemptKey(task=task): one for task, one in VERDICTS.items()}
    table, paper = summaries(verdicts, "official", PROBLEMS)
    assert list(paper.scores) == ["java", "python"]
    for language, row in paper.scores.items():
        assert row["Pass@1"] == table.scores[language]["Pass@1"]
        assert row["AC"] == table.scores[language]["API coverage"]
        assert row["DSR"] == table.scores[language]["deployed"]
    (strict,) = summaries(dict.fromkeys(verdicts), "strict", PROBLEMS)
    counts = [row["Pass@1"] for row in strict.scores.values()]
    assert sum(one.denominator for one in counts) == sum(task in PROBLEMS for task in VERDICTS)
    assert all(row[name].value == 0 for row in strict.scores.values() for name in ("Pass@1", "AC", "DSR"))


def test_legacy_coverage_is_that_of_all_endpoints_together() -> None:
    """1 of 3 and 1 of 2 are 2 of 5, not the mean of the two shares."""
    verdicts: dict[AttemptKey, Verdict | None] = {
        AttemptKey(task=task): VERDICTS[task] for task in ("Chatroom", "eve", "flask", "synapse")
    }
    table, _ = summaries(verdicts, "legacy", PROBLEMS)
    assert table.scores["all"]["API coverage"] == Score(numerator=2, denominator=5)
    assert table.scores["all"]["deployed"] == Score(numerator=1, denominator=2)


STRICT = GraderIdentity(name="strict", version="3", data_version="d")


def graded(**fields: Any) -> Verdict:
    """Return a verdict of 3 of 7 tests by a grader of ours."""
    found = {"status": Status.GRADED, "score": Score(numerator=3, denominator=7), "grader": STRICT, **fields}
    return Verdict.model_validate(found)


def entry(verdict: Verdict, seconds: float | None = None) -> dict[str, Any]:
    """Return the entry of a verdict on Chatroom, as JSON."""
    return repository("Chatroom", verdict, seconds, PROBLEMS).model_dump(mode="json")


def test_a_verdict_of_any_grader_has_the_published_figures() -> None:
    """What it does not say follows from its score; what failed for the machine's reasons is said as published."""
    late = Reason(stage=Stage.START, message="it is late")
    of_tests = Reason(stage=Stage.TEST, message="lost")
    deployed = {"deployed": Score(numerator=1, denominator=1)}
    plain = entry(graded(scores=deployed, reasons=(of_tests, late), facts={"errors": 1, "skipped": 2}), 1.234)
    assert plain["dsr"] == {"success": True, "message": "it is late"}
    assert plain["pass_at_1"] == {
        "passed": 3, "failed": 3, "errors": 1, "skipped": 2, "total": 7, "score": 0.4286,
    }  # fmt: skip
    assert (plain["exit_code"], plain["elapsed_seconds"], plain["api_coverage"]) == (0, 1.23, None)
    told = entry(graded(facts={"dsr_success": False, "dsr_message": "", "exit_code": 5, "failed": True}))
    assert told["dsr"] == {"success": False, "message": ""}
    assert (told["exit_code"], told["pass_at_1"]["failed"], told["elapsed_seconds"]) == (5, 4, 0.0)
    assert entry(graded(scores={"deployed": Score(numerator=1, denominator=2)}))["dsr"]["success"] is False
    assert entry(graded())["dsr"] == {"success": False, "message": ""}
    shares = {
        "api_coverage": Score(numerator=2, denominator=3),
        "official_api_coverage": Score(numerator=1, denominator=4),
    }
    assert entry(graded(scores=shares))["api_coverage"] == {"total_apis": 4, "implemented_apis": 1, "score": 0.25}
    none = entry(graded(scores={"api_coverage": Score(numerator=0, denominator=0)}))
    assert none["api_coverage"] == {"total_apis": 0, "implemented_apis": 0, "score": 0.0}
    broken = entry(BROKEN)
    assert (broken["dsr"]["message"], broken["exit_code"]) == ("Evaluation error: no network", -99)
    assert entry(BROKEN.but(reasons=()))["dsr"]["message"] == "Evaluation error: infrastructure"
    static = entry(graded(grader=GraderIdentity(name="static", version="1")))
    assert static["dsr"] == {"success": False, "message": "Docker evaluation skipped"}
    assert (static["exit_code"], static["pass_at_1"]["total"]) == (None, 0)


def test_a_report_of_nothing_is_the_published_one() -> None:
    """The harness writes other keys then, and its table has no languages."""
    written = write_report(results({"synapse": None}), PROBLEMS)
    assert json.loads(written.document)["summary"] == {
        "total_repos": 0,
        "evaluated": 0,
        "avg_pass_at_1": 0.0,
        "avg_api_coverage": 0.0,
        "deployment_success_rate": 0.0,
    }
    assert written.notes == ("not in the results, as published: 2 tasks without a verdict or a submission",)
    assert "Python" not in written.table


def test_the_whole_table() -> None:
    """Long names are cut, attempts are numbered, and what has no coverage says so."""
    found = [repository("Chatroom", graded(), None, PROBLEMS)]
    found.append(found[0].but(repo_name="x" * 40, attempt=1))
    assert summary_table(found).splitlines() == [
        "",
        "=" * 90,
        "  RepoGenesis Evaluation Results",
        "=" * 90,
        "",
        "Repo Name                           Lang     DSR    Pass@1     AC        ",
        "-" * 90,
        "Chatroom                            python   FAIL   3/7 (0.43) N/A       ",
        f"{'x' * 30}/1    python   FAIL   3/7 (0.43) N/A       ",
        "-" * 90,
        "  Total repos:              2",
        "  Avg Pass@1:               0.4286",
        "  Deployment Success Rate:   0.0000",
        "  Avg API Coverage:          0.0000",
        "",
        "  Pass@1 (Python):  0.4286  | Pass@1 (Java):  0.0000",
        "  DSR (Python):     0.0000  | DSR (Java):     0.0000",
        "  AC (Python):      0.0000  | AC (Java):      0.0000",
        "=" * 90,
    ]


def read_again(metadata: dict[str, Any] | None = None, **fields: Any) -> Verdict:
    """Return the verdict in a report of the harness with one entry, changed."""
    document = json.loads(write_report(results({"eve": VERDICTS["eve"]}), PROBLEMS).document)
    document["results"][0] |= fields
    document["metadata"] |= metadata or {}
    found = read_report(json.dumps(document).encode(), "r.json")
    assert found is not None
    assert found.attempts[0].verdict is not None
    return found.attempts[0].verdict


TESTS = {"passed": 2, "failed": 0, "errors": 0, "skipped": 0, "total": 2, "score": 1.0}
UP = {"success": True, "message": ""}


@pytest.mark.parametrize(
    ("fields", "reasons"),
    [
        ({"dsr": UP, "pass_at_1": TESTS}, []),
        (
            {"dsr": UP, "pass_at_1": TESTS | {"passed": 1, "failed": 1}},
            ["test: 1 passed, 1 failed, 0 errors"],
        ),
        ({"dsr": UP, "pass_at_1": TESTS | {"passed": 0, "total": 0}}, ["test: 0 passed, 0 failed, 0 errors"]),
        ({"dsr": UP | {"success": False}, "pass_at_1": TESTS}, ["start: not deployed"]),
        ({"dsr": {"success": False, "message": "no port"}, "pass_at_1": TESTS}, ["start: no port"]),
        ({"exit_code": -3, "pass_at_1": TESTS}, ["install: build failed"]),
        ({"exit_code": -2, "dsr": {"success": False, "message": "no daemon"}, "pass_at_1": TESTS},
         ["environment: the harness failed: no daemon"]),
        ({"exit_code": -99, "error": "no key", "pass_at_1": TESTS}, ["environment: the harness failed: no key"]),
        ({"exit_code": -1, "dsr": UP, "pass_at_1": TESTS}, []),
    ],
)  # fmt: skip
def test_why_a_published_entry_lost_points(fields: dict[str, Any], reasons: list[str]) -> None:
    """Only what failed for the harness's own reasons has no score."""
    verdict = read_again(**fields)
    assert [f"{one.stage.value}: {one.message}" for one in verdict.reasons] == reasons
    is_harness = fields.get("exit_code") in (-2, -99)
    assert (verdict.score is None, "deployed" in verdict.scores) == (is_harness, not is_harness)
    assert verdict.timings_s == {"total": 4.57}


def test_who_graded_is_named_where_one_grader_did() -> None:
    """Of several nobody knows which graded an entry: then it is the harness that the report names."""
    assert read_again({"grader": "strict 3, data d"}).grader == STRICT
    for grader in ("strict 3", "strict 3, data d; official 1, data e"):
        assert read_again({"grader": grader, "harness_version": "9"}).grader == GraderIdentity(
            name="published", version="9", environment="image"
        )
    assert "deployed" not in read_again(exit_code=None).scores


def test_a_damaged_report_is_named() -> None:
    """By its file, with what is wrong and what it should be."""
    with pytest.raises(UsageError, match=r"^r\.json: .*; is this a report of the published harness\?$"):
        read_again({"timestamp": "yesterday"})
