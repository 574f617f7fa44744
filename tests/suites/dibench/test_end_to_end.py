"""DI-Bench through the command line: subjects, predictions, faults of the published code, reports."""

import json
import re
import shutil
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from groundup.extensions import ExtensionPackage
from groundup.settings import Settings, load
from groundup.suites.places import PublishedFile, PublishedRelease
from groundup.suites.pulling import pull_release, take_folder, unpack_archives
from groundup.viewer.app import Viewer
from tests.suites.dibench.conftest import Groundup
from tests.suites.dibench.made import (
    INSTANCES,
    JAVASCRIPT_ORIGINAL,
    PYTHON_MASKED,
    PYTHON_ORIGINAL,
    RUST_MASKED,
    diff,
    instance,
    write_dataset,
    write_prediction,
    write_tree,
)


def run_of(document: Any) -> Any:
    """Return the only run of a report."""
    return document["runs"][0]


def scores(document: Any) -> dict[str, tuple[float, float]]:
    """Return numerator and denominator of each graded task."""
    rows = {row["task"]: row["score"] for row in run_of(document)["attempts"] if row["score"]}
    return {task: (score["numerator"], score["denominator"]) for task, score in rows.items()}


def table(document: Any, headline: str) -> Any:
    """Return the scores of one of the suite's tables."""
    return next(one["scores"] for one in run_of(document)["summaries"] if one["headline"].startswith(headline))


@pytest.mark.parametrize("grader", ["strict", "official"])
def test_the_oracle_has_everything(groundup: Groundup, grader: str) -> None:
    """The published patch gets the full score in every language, by both graders."""
    ended = groundup("run", "dibench", "-a", "oracle", "--grader", grader, "--json")
    assert ended.code == 0
    assert all(right == total > 0 for right, total in scores(ended.document).values())
    assert len(scores(ended.document)) == 4


@pytest.mark.parametrize("grader", ["strict", "official"])
def test_an_untouched_repository_has_nothing(groundup: Groundup, grader: str) -> None:
    """What a masked build file still declares counts for nothing."""
    ended = groundup("run", "dibench", "-a", "nop", "--grader", grader, "--json")
    assert ended.code == 0
    assert all(right == 0 and total > 0 for right, total in scores(ended.document).values())
    assert len(scores(ended.document)) == 4


@pytest.mark.needs("groundup_infer")
def test_the_static_subject_needs_no_model(groundup: Groundup) -> None:
    """Inference from the masked repository finds what is imported, and the repository's own crates by path."""
    ended = groundup("run", "dibench", "-a", "static", "--json")
    expected = {"one_alpha": (4, 4), "two_beta": (4, 4), "three_gamma": (2, 2)}
    assert expected.items() <= scores(ended.document).items()
    assert run_of(ended.document)["subject"]["agent"] == "static"


def test_without_inference_its_subject_says_what_it_needs(
    groundup: Groundup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ends with the sentence that names the package; nothing is graded in its place."""
    monkeypatch.setattr(ExtensionPackage, "present", lambda self: False)
    ended = groundup("run", "dibench", "-a", "static")
    assert ended.code == 2
    assert "inference of dependencies without a model needs the package groundup_infer" in ended.err


@pytest.mark.needs("groundup_infer")
def test_an_unknown_subject_is_named(groundup: Groundup) -> None:
    """The error lists what the suite offers."""
    ended = groundup("run", "dibench", "-a", "statik")
    assert ended.code == 2
    assert "'static'" in ended.err


def test_published_results_are_taken_as_they_lie(groundup: Groundup, tmp_path: Path) -> None:
    """`<results>/<language>/<id>/patch.diff` is a prediction; what the published tools leave beside it is not."""
    results = tmp_path / "results"
    write_prediction(results, "one_alpha", {"pyproject.toml": PYTHON_ORIGINAL})
    write_prediction(results, "three_gamma", {"package.json": JAVASCRIPT_ORIGINAL.replace("^1.3.0", "1")})
    ended = groundup("evaluate", "dibench", "-p", results, "--json")
    assert ended.code == 0, ended.err
    assert scores(ended.document) == {"one_alpha": (4, 4), "three_gamma": (2, 2)}
    submission = tmp_path / "runs" / run_of(ended.document)["run_id"] / "attempts/one_alpha/0/submission"
    assert [path.name for path in submission.iterdir()] == ["patch.diff"]


def test_missing_predictions_count_for_strict_only(groundup: Groundup, tmp_path: Path) -> None:
    """Strict sums what a missing prediction should have declared; the published code leaves it out."""
    results = tmp_path / "results"
    write_prediction(results, "one_alpha", {"pyproject.toml": PYTHON_ORIGINAL})
    strict = groundup("evaluate", "dibench", "-p", results, "--json").document
    everything = table(strict, "Dependencies")["all"]
    assert everything["instances"]["numerator"] == 4
    assert (everything["R"]["numerator"], everything["R"]["denominator"]) == (2, 7)
    assert everything["P"]["value"] == 1
    official = groundup("evaluate", "dibench", "-p", results, "--grader", "official", "--json").document
    assert table(official, "Dependencies")["all"]["instances"]["numerator"] == 1
    assert table(official, "Dependencies")["all"]["F1"]["value"] == 1
    notes = [note for one in run_of(official)["summaries"] for note in one["notes"]]
    assert any("3 without a prediction" in note for note in notes)


def test_lines_may_hold_patches(groundup: Groundup, tmp_path: Path) -> None:
    """A JSONL file with `model_patch` is a set of predictions; an empty patch changes nothing and gets 0."""
    _, masked, original = INSTANCES["two_beta"]
    rows = [
        {"instance_id": "two_beta", "model_name_or_path": "m1", "model_patch": diff(masked, original)},
        {"instance_id": "one_alpha", "model_name_or_path": "m1", "model_patch": ""},
    ]
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = groundup("evaluate", "dibench", "-p", path, "--json")
    assert scores(ended.document) == {"two_beta": (4, 4), "one_alpha": (0, 2)}
    assert run_of(ended.document)["subject"]["model"] == "m1"


def test_a_tree_is_laid_over_the_repository(groundup: Groundup, tmp_path: Path) -> None:
    """Files of a tree stand in the place of the masked ones; what is no build file is reported and ignored."""
    write_tree(tmp_path / "p/one_alpha", {"pyproject.toml": PYTHON_ORIGINAL, "requirements.txt": "made-up-name\n"})
    ended = groundup("evaluate", "dibench", "-p", tmp_path / "p", "--tasks", "one_alpha", "--json")
    assert scores(ended.document) == {"one_alpha": (4, 4)}
    facts = verdict(tmp_path, ended.document)["facts"]
    assert facts["other files"] == 1
    assert facts["added"] == 2


def verdict(tmp_path: Path, document: Any) -> Any:
    """Return the first verdict of a run, as its line holds it."""
    line = (tmp_path / "runs" / run_of(document)["run_id"] / "verdicts.jsonl").read_text().splitlines()[0]
    return json.loads(line)["verdict"]


def test_what_was_added_is_looked_up(groundup: Groundup, tmp_path: Path) -> None:
    """Fake, version-missing and unverifiable are apart, and a fake is reported by name."""
    declared = (
        '["requests>=2.31", "made-up-name", "old>=2", "asked-by-nobody", "x @ git+https://example.invalid/x"]'
    )
    edited = PYTHON_MASKED.replace("dependencies = []", f"dependencies = {declared}", 1)
    write_tree(tmp_path / "p/one_alpha", {"pyproject.toml": edited})
    ended = groundup("evaluate", "dibench", "-p", tmp_path / "p", "--tasks", "one_alpha", "--json")
    found = verdict(tmp_path, ended.document)
    counted = {key: found["facts"][key] for key in ("fake", "version-missing", "unverifiable", "internal-missing")}
    assert counted == {"fake": 1, "version-missing": 1, "unverifiable": 2, "internal-missing": 0}
    assert found["scores"]["fake rate"] == {"numerator": 1, "denominator": 3, "value": pytest.approx(1 / 3)}
    assert "made-up-name" in found["reasons"][0]["message"]
    assert found["cacheable"] is False


def test_what_was_missed_is_named_with_file_and_line(groundup: Groundup, tmp_path: Path) -> None:
    """In reasons, JUnit, page and `why`: what is missing, too many, in no registry, or declared otherwise."""
    edited = PYTHON_MASKED.replace(
        "dependencies = []", 'dependencies = ["made-up-name", "unused", "requests<1"]', 1
    )
    write_tree(tmp_path / "p/one_alpha", {"pyproject.toml": edited})
    ended = groundup("evaluate", "dibench", "-p", tmp_path / "p", "--tasks", "one_alpha", "--json")
    reasons = " | ".join(one["message"] for one in verdict(tmp_path, ended.document)["reasons"])
    assert "made-up-name" in reasons
    line = next(number for number, text in enumerate(edited.splitlines(), 1) if "made-up-name" in text)
    assert f"1 that no registry has: made-up-name in pyproject.toml:{line} (dependencies)" in reasons
    assert f"unused in pyproject.toml:{line}" in reasons
    assert f"1 declared otherwise: requests in pyproject.toml:{line}" in reasons
    assert re.search(r"\d missing: \S+ in pyproject\.toml:\d", reasons)
    exchanged = groundup("report", run_of(ended.document)["run_id"], "--format", "junit").out
    assert f"unused in pyproject.toml:{line}" in exchanged
    document = groundup("why", run_of(ended.document)["run_id"], "one_alpha", "--json").document
    lost = {one["id"]: one["detail"] for one in document["lost"]}
    assert "no registry has it" in lost["pyproject.toml::dependencies::made-up-name"]
    assert f"in dependencies, line {line}" in lost["pyproject.toml::dependencies::made-up-name"]
    assert "the original does not declare it" in lost["pyproject.toml::dependencies::unused"]
    missing = [detail for detail in lost.values() if detail.startswith("missing: the original declares `")]
    assert len(missing) == len(lost) - 2 > 0
    (otherwise,) = document["otherwise"]
    assert otherwise["detail"].startswith(
        f'declared otherwise: `"requests<1"` in dependencies, line {line}; the original has'
    )
    shown = groundup("why", run_of(ended.document)["run_id"], "one_alpha")
    wrong = f"{len(lost)} of {len(lost) + 1} names missing, too many or elsewhere"
    assert shown.out.splitlines()[0].endswith(f"; {wrong}")
    cause = "1 name: pyproject.toml, dependencies: one too many: no registry has it"
    assert f'{cause}\n  pyproject.toml:{line}: "made-up-name"\n  made-up-name: ' in shown.out
    assert "test: " not in shown.out, "reasons say the same"
    whole = groundup("why", run_of(ended.document)["run_id"], "one_alpha", "--full").err
    counted = (
        f"{len(lost)} of {len(lost) + 1} dependencies are missing, too many or elsewhere; 1 declared otherwise"
    )
    assert counted in whole
    assert "expected tests" not in whole
    viewer = Viewer(load({"output": str(tmp_path / "runs")}))
    with closing(viewer.index), TestClient(viewer.app()) as client:
        page = client.get(f"/run/{run_of(ended.document)['run_id']}/attempt/one_alpha/0").text
    assert f"{len(lost)} dependencies are missing, or one too many" in page
    assert "the original declares" in page


def test_why_names_sections_and_what_no_registry_has(groundup: Groundup, tmp_path: Path) -> None:
    """A name in another section is one loss, with both sections; a right name may be one that no registry has."""
    source = write_dataset(tmp_path / "more")
    gone = instance("three_gamma")
    masked, original = INSTANCES["three_gamma"][1], {"package.json": JAVASCRIPT_ORIGINAL}
    both = {"package.json": original["package.json"].replace('"left-pad"', '"made-up-name": "1", "left-pad"')}
    gone["patch"] = diff(masked, both)
    (source / "dataset-dibench-regular.jsonl").write_text(json.dumps(gone) + "\n")
    assert groundup("data", "pull", "dibench@more", "--from", source).code == 0
    moved = {"dependencies": {"made-up-name": "1"}, "devDependencies": {"jest": "^29.0.0", "left-pad": "^1.3.0"}}
    write_tree(tmp_path / "p/three_gamma", {"package.json": json.dumps(moved)})
    ended = groundup("evaluate", "dibench@more", "-p", tmp_path / "p", "--tasks", "three_gamma", "--json")
    found = verdict(tmp_path, ended.document)
    assert found["scores"]["declared elsewhere"]["numerator"] == 1
    assert found["facts"]["declared elsewhere"] == 1
    said = [one["message"] for one in found["reasons"]]
    assert said == [
        "1 that no registry has: made-up-name in package.json:1 (dependencies)",
        "1 declared elsewhere: left-pad in package.json:1 (devDependencies, not dependencies)",
    ]
    run = run_of(ended.document)["run_id"]
    (lost,) = groundup("why", run, "three_gamma", "--json").document["lost"]
    assert lost["id"] == "package.json::dependencies::left-pad"
    assert "in devDependencies, line 1; the original has" in lost["detail"]
    assert '"left-pad": "^1.3.0"` in dependencies, line ' in lost["detail"]
    shown = groundup("why", run, "three_gamma")
    assert "package.json, dependencies: declared elsewhere" in shown.out
    assert "package.json, dependencies: no registry has it" in shown.out
    every = groundup("why", run, "three_gamma", "--full")
    assert "1 of 2 dependencies are missing, too many or elsewhere; 1 that no registry has" in every.err


def test_paths_are_looked_for_in_the_repository(groundup: Groundup, tmp_path: Path) -> None:
    """A path dependency is never asked of a registry by strict; the published code asks for its name."""
    edited = RUST_MASKED + 'made-up-name = { path = "core" }\nserde = { path = "nowhere" }\n'
    write_tree(tmp_path / "p/two_beta", {"Cargo.toml": edited})
    strict = groundup("evaluate", "dibench", "-p", tmp_path / "p", "--tasks", "two_beta", "--json")
    facts = verdict(tmp_path, strict.document)["facts"]
    assert (facts["fake"], facts["internal-missing"]) == (0, 1)
    official = groundup(
        "evaluate", "dibench", "-p", tmp_path / "p", "--tasks", "two_beta", "--grader", "official", "--json"
    )
    assert verdict(tmp_path, official.document)["facts"]["fake"] == 1


def test_what_no_one_was_asked_about_is_not_fake(
    groundup: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a registry everything is unverifiable; the published code calls any failure fake."""
    monkeypatch.setenv("GROUNDUP_REGISTRY", "none")
    for grader in ("strict", "official"):
        ended = groundup("run", "dibench", "-a", "oracle", "--tasks", "one_alpha", "--grader", grader, "--json")
        facts = verdict(tmp_path, ended.document)["facts"]
        assert (facts["fake"], facts["unverifiable"]) == (0, 2)


def test_a_patch_that_leads_outside_gets_nothing(groundup: Groundup, tmp_path: Path) -> None:
    """Nothing is written, everything counts as missing, and the reason is reported."""
    _, masked, original = INSTANCES["one_alpha"]
    hostile = diff(masked, original).replace("pyproject.toml", "../../pyproject.toml")
    write_tree(tmp_path / "p/one_alpha", {"patch.diff": hostile})
    ended = groundup("evaluate", "dibench", "-p", tmp_path / "p", "--tasks", "one_alpha", "--json")
    assert scores(ended.document) == {"one_alpha": (0, 2)}
    assert "leads out of the repository" in run_of(ended.document)["attempts"][0]["reasons"][0]["message"]
    ablated = groundup("ablate", run_of(ended.document)["run_id"], "without-fakes", "-o", tmp_path / "names")
    assert "left out: one_alpha" in ablated.err
    assert not (tmp_path / "names/one_alpha").exists(), "an empty folder would be a prediction"


def test_a_report_has_tables_of_its_own(groundup: Groundup) -> None:
    """By language and subset, kind, number of dependencies and size; as text and as scores."""
    ended = groundup("run", "dibench", "-a", "oracle", "--json")
    headlines = [one["headline"] for one in run_of(ended.document)["summaries"]]
    assert headlines == [
        "Dependencies by language and subset",
        "By kind",
        "By number of dependencies",
        "By lines of source code",
        "By tokens of source code",
        "DI-Bench, regular: methods by language",
        "DI-Bench, large: methods by language",
        "Density by number of dependencies",
        "Density by lines of source code",
        "Density by tokens of source code",
    ]
    assert {"all", "csharp", "csharp, large", "large", "regular"} < set(table(ended.document, "Dependencies"))
    assert set(table(ended.document, "By kind")) == {"runtime"}
    assert set(table(ended.document, "By number")) == {"1-5"}
    assert set(table(ended.document, "By tokens")) == {"1-9999"}
    shown = groundup("report", run_of(ended.document)["run_id"])
    assert "By number of dependencies" in shown.out
    assert "methods by language" not in shown.out
    assert "Density" not in shown.out
    paper = groundup("report", run_of(ended.document)["run_id"], "--layout", "paper", "--format", "markdown")
    assert "| run | agent | model | tasks in all |  | Exec | P | R | F1 | FR |" in paper.out
    assert "| oracle | - | 4 | rust | - | 100.0 | 100.0 | 100.0 |" in paper.out
    assert "| tasks in all | csharp Exec | csharp P | csharp R | csharp F1 | csharp FR |" in paper.out
    markdown = groundup("report", run_of(ended.document)["run_id"], "--format", "markdown")
    assert "## By kind" in markdown.out


def test_a_report_without_the_data_says_so(
    groundup: Groundup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A run folder that was copied elsewhere can still be reported; what needs the data is said to be missing."""
    write_prediction(tmp_path / "results", "one_alpha", {"pyproject.toml": PYTHON_ORIGINAL})
    run = run_of(groundup("evaluate", "dibench", "-p", tmp_path / "results", "--json").document)["run_id"]
    monkeypatch.setenv("GROUNDUP_DATA_DIR", str(tmp_path / "elsewhere"))
    document = groundup("report", run, "--json").document
    assert table(document, "Dependencies")["all"]["instances"]["numerator"] == 1
    notes = [note for one in run_of(document)["summaries"] for note in one["notes"]]
    assert any("no data of them" in note for note in notes)


def test_statistics_count_the_source(groundup: Groundup) -> None:
    """Files, lines and tests are of the language's source only; dependencies are those that were masked."""
    printed = groundup("tasks", "dibench", "--statistics", "--json").document["scores"]
    python = printed["regular, python"]
    assert {name: python[name]["value"] for name in ("files", "lines", "dependencies", "tests")} == {
        "files": 2,
        "lines": 4,
        "dependencies": 2,
        "tests": 1,
    }
    assert printed["regular, all"]["repositories"]["numerator"] == 3
    assert "tokenizer: groundup's estimate" in groundup("tasks", "dibench", "--statistics").err


def test_ablations_change_one_kind_of_mistake(groundup: Groundup, tmp_path: Path) -> None:
    """Right names get the original's versions; fake names go; the rest stays as it was."""
    declared = 'dependencies = ["requests==1", "made-up-name", "old"]'
    edited = PYTHON_MASKED.replace("dependencies = []", declared, 1)
    write_tree(tmp_path / "p/one_alpha", {"pyproject.toml": edited})
    ended = groundup(
        "evaluate", "dibench", "-p", tmp_path / "p", "--tasks", "one_alpha", "--json", "--model-name", "m1"
    )
    run = run_of(ended.document)["run_id"]
    assert groundup("ablate", run, "oracle-metadata", "-o", tmp_path / "versions").code == 0
    text = (tmp_path / "versions/one_alpha/0/pyproject.toml").read_text()
    assert '"requests>=2.31"' in text
    assert '"made-up-name"' in text
    assert groundup("ablate", run, "without-fakes", "-o", tmp_path / "names").code == 0
    text = (tmp_path / "names/one_alpha/0/pyproject.toml").read_text()
    assert '"requests==1"' in text
    assert "made-up-name" not in text
    again = groundup("evaluate", "dibench", "-p", tmp_path / "names", "--tasks", "one_alpha", "--json")
    assert verdict(tmp_path, again.document)["facts"]["fake"] == 0
    settings = {"ablation": "without-fakes", "ablated run": run}
    said = {"agent": "predictions", "model": "m1", "settings": settings}
    assert run_of(again.document)["subject"] == said, "whose they are is kept"
    official = groundup("regrade", run_of(again.document)["run_id"], "--grader", "official", "--json")
    regraded = run_of(official.document)["subject"]
    settings["regraded"] = run_of(again.document)["run_id"]
    assert regraded == said
    paper = groundup("report", run, run_of(again.document)["run_id"], "--layout", "paper", "--format", "markdown")
    assert "Ablation without-fakes: P" in paper.out
    assert f"| {run} | predictions | m1 | 1 | python | 33.3 | 50.0 | +16.7 |" in paper.out
    (tmp_path / "names/stray").mkdir()
    refused = groundup("evaluate", "dibench", "-p", tmp_path / "names", "--strict-names")
    assert refused.code == 2
    assert "stray" in refused.err
    (tmp_path / "names/ablation.json").write_text("{}")
    assert groundup("evaluate", "dibench", "-p", tmp_path / "names").code == 2
    assert groundup("ablate", run, "no-such", "-o", tmp_path / "x").code == 2
    (tmp_path / "runs" / run / "attempts/one_alpha/0/submission/added.py").touch()
    changed = groundup("ablate", run, "without-fakes", "-o", tmp_path / "none")
    assert (changed.code, list((tmp_path / "none").glob("one_alpha"))) == (4, [])


def test_a_named_set_stands_beside_the_published_one(groundup: Groundup, tmp_path: Path) -> None:
    """`dibench@mine` is a suite of its own for tasks, run, evaluate, report and ablate; `dibench` stays."""
    mine = tmp_path / "mine"
    name, (language, masked, original) = "my_own", INSTANCES["one_alpha"]
    write_tree(mine / "repo-data" / language / name, masked)
    (mine / "mine.jsonl").write_text(json.dumps(instance("one_alpha", instance_id=name)) + "\n")
    assert groundup("data", "pull", "dibench@mine", "--from", mine).code == 0
    assert name in groundup("tasks", "dibench@mine").out
    assert name not in groundup("tasks", "dibench").out
    oracle = run_of(groundup("run", "dibench@mine", "-a", "oracle", "--json").document)
    assert scores({"runs": [oracle]}) == {name: (4, 4)}
    edited = original["pyproject.toml"].replace("requests", "made-up-name")
    write_tree(tmp_path / "p" / name, {"pyproject.toml": edited})
    found = run_of(groundup("evaluate", "dibench@mine", "-p", tmp_path / "p", "--json").document)
    assert scores({"runs": [found]}) == {name: (2, 4)}
    assert groundup("ablate", found["run_id"], "without-fakes", "-o", tmp_path / "names").code == 0
    again = run_of(groundup("evaluate", "dibench@mine", "-p", tmp_path / "names", "--json").document)
    paper = groundup("report", found["run_id"], again["run_id"], "--layout", "paper", "--format", "markdown").out
    assert "DI-Bench, mine: methods by language" in paper
    assert "Ablation without-fakes" in paper
    assert groundup("regrade", found["run_id"], "--grader", "official").code == 0
    published = groundup("run", "dibench", "-a", "nop", "--json")
    assert set(scores(published.document)) == set(INSTANCES)


def test_no_data_is_said_with_what_to_do(
    groundup: Groundup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without data there are no tasks, and the way to get it is reported."""
    monkeypatch.setenv("GROUNDUP_DATA_DIR", str(tmp_path / "nothing"))
    ended = groundup("tasks", "dibench")
    assert ended.code == 2
    assert "groundup data pull dibench --from" in ended.err


def packed(source: Path, destination: Path) -> Path:
    """Pack the dataset as the release does: an archive per language, the instances beside."""
    destination.mkdir()
    for language in ("python", "rust", "javascript", "csharp"):
        with tarfile.open(destination / f"dibench-regular-{language}.tar.gz", "w:gz") as archive:
            archive.add(source / "repo-data" / language, language)
    (destination / "dataset-dibench-regular.jsonl").write_bytes(
        (source / "dataset-dibench-regular.jsonl").read_bytes()
    )
    return destination


def test_downloaded_archives_are_unpacked(groundup: Groundup, tmp_path: Path) -> None:
    """`--from` takes the release's files as they were downloaded."""
    downloads = packed(write_dataset(tmp_path / "plain"), tmp_path / "downloads")
    shutil.rmtree(tmp_path / "cache/data/dibench")
    assert groundup("data", "pull", "dibench", "--from", downloads).code == 0
    assert "missing" not in groundup("tasks", "dibench").out
    assert groundup("run", "dibench", "-a", "oracle", "--fail-under", "1").code == 0


def test_bad_data_is_never_put_in_place(groundup: Groundup, tmp_path: Path) -> None:
    """An error names line and field, and the data at hand stays."""
    bad = tmp_path / "bad"
    bad.mkdir()
    lines = [json.dumps(instance("one_alpha")), json.dumps(instance("two_beta", build_files=["../x"]))]
    (bad / "regular.jsonl").write_text("\n".join(lines))
    ended = groundup("data", "pull", "dibench", "--from", bad)
    assert ended.code == 2
    assert "line 2: build_files.0:" in ended.err
    assert groundup("tasks", "dibench").code == 0


def test_an_archive_that_is_none_is_said(tmp_path: Path) -> None:
    """A broken download is named."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d/dibench-regular-rust.tar.gz").write_bytes(b"<html>not found</html>")
    with pytest.raises(Exception, match=r"dibench-regular-rust\.tar\.gz"):
        unpack_archives(tmp_path / "d")
    with pytest.raises(Exception, match="no such folder"):
        take_folder("toy", tmp_path / "missing", Settings(cache_dir=tmp_path / "c"), unpack=True)


def test_the_older_schema_is_converted_only_when_asked(groundup: Groundup, tmp_path: Path) -> None:
    """Reading it names the way to convert it; the converted file is read."""
    row = instance("one_alpha")
    older = {key: value for key, value in row.items() if key not in ("act_command", "build_files", "env_specs")}
    older |= {"act_cmd": "act", "dependency_file": "pyproject.toml", "language": "Python", "build_script": "x"}
    (tmp_path / "old").mkdir()
    (tmp_path / "old/old.jsonl").write_text(json.dumps(older) + "\n")
    ended = groundup("data", "pull", "dibench", "--from", tmp_path / "old")
    assert ended.code == 2
    assert "older schema" in ended.err
    assert "groundup data convert" in ended.err
    (tmp_path / "new").mkdir()
    converted = groundup(
        "data", "convert", "dibench", tmp_path / "old/old.jsonl", "-o", tmp_path / "new/regular.jsonl"
    )
    assert converted.code == 0, converted.err
    shutil.rmtree(tmp_path / "cache/data/dibench")
    assert groundup("data", "pull", "dibench", "--from", tmp_path / "new").code == 0


async def test_a_release_is_fetched_and_checked(tmp_path: Path) -> None:
    """Files arrive unpacked; one whose hash is not the one that is known stops everything."""
    from tests.registries.files_served import served

    downloads = packed(write_dataset(tmp_path / "plain"), tmp_path / "downloads")
    settings = Settings(cache_dir=tmp_path / "cache")
    with served(downloads) as address:
        names = sorted(path.name for path in downloads.iterdir())
        files = tuple(PublishedFile(address=f"{address}/{name}") for name in names)
        release = PublishedRelease(address=address, files=files, licence="MIT")
        origin = (await pull_release("toy", release, settings)).origin
        assert (settings.data / "toy/data/dibench-regular-rust/rust/two_beta/Cargo.toml").is_file()
        assert origin.files > 5
        wrong = release.but(files=(files[0].but(sha256="0" * 64),))
        with pytest.raises(Exception, match="SHA-256"):
            await pull_release("toy", wrong, settings)
        gone = release.but(files=(PublishedFile(address=f"{address}/nothing.tar.gz"),))
        with pytest.raises(Exception, match="does not exist"):
            await pull_release("toy", gone, settings)
    assert (settings.data / "toy/data/dibench-regular-rust").is_dir()
