"""What a submission makes build files declare, file by file."""

import json
from pathlib import Path

import pytest

from groundup.domain.errors import SubmissionError
from groundup.suites.dibench.answers import USUAL, answer, refuse_excess, submitted
from groundup.suites.dibench.dataset import Instance, InstanceProblem, InstanceSet, read_dataset
from groundup.suites.dibench.metrics import MatchCounts, score_instance
from groundup.suites.dibench.missed import compared
from tests.suites.dibench.made import PYTHON_ORIGINAL, diff, instance, write_tree


def problem(
    tmp_path: Path, masked: dict[str, str], original: dict[str, str], language: str = "python"
) -> InstanceProblem:
    """Return a problem of its own."""
    fields = instance("one_alpha", language=language, patch=diff(masked, original), build_files=list(original))
    return InstanceProblem(
        id="own",
        subset="regular",
        instance=Instance.model_validate(fields),
        repository=write_tree(tmp_path / "repository", masked),
    )


def names(found: InstanceProblem, submission: Path) -> tuple[MatchCounts, dict[str, str]]:
    """Return the counts by name and what could not be read."""
    compared, broken = answer(found, submitted(found, submission))
    return score_instance(compared).total.name_only, broken


def test_one_malformed_file_leaves_the_others_alone(tmp_path: Path) -> None:
    """Only its own dependencies are missing, and the reason is reported."""
    masked = {"a/package.json": '{"dependencies": {}}', "package.json": '{"dependencies": {}}'}
    full = {
        "a/package.json": '{"dependencies": {"x": "1", "z": "1"}}',
        "package.json": '{"dependencies": {"y": "1"}}',
    }
    found = problem(tmp_path, masked, full, "javascript")
    submission = write_tree(
        tmp_path / "s", {"a/package.json": '{"dependencies": {"x": ', "package.json": full["package.json"]}
    )
    counts, broken = names(found, submission)
    assert counts == MatchCounts(true_positives=1, false_negatives=2)
    assert list(broken) == ["a/package.json"]


def test_a_hunk_that_does_not_fit_breaks_its_file_only(tmp_path: Path) -> None:
    """The other files of the patch count."""
    masked = {"a/package.json": '{"dependencies": {}}\n', "package.json": '{"dependencies": {}}\n'}
    full = dict.fromkeys(masked, '{"dependencies": {"x": "1"}}\n')
    found = problem(tmp_path, masked, full, "javascript")
    patch = diff(masked, full).replace('-{"dependencies": {}}', "-something else", 1)
    counts, broken = names(found, write_tree(tmp_path / "s", {"patch.diff": patch}))
    assert counts == MatchCounts(true_positives=1, false_negatives=1)
    assert "does not fit" in broken["a/package.json"]


def test_what_the_mask_left_is_given(tmp_path: Path, dataset: InstanceSet) -> None:
    """A development dependency that is still declared is neither right nor wrong; to drop it changes nothing."""
    found = next(one for one in dataset.problems if one.id == "one_alpha")
    without = PYTHON_ORIGINAL.replace('dev = ["pytest"]', "dev = []")
    counts, _ = names(found, write_tree(tmp_path / "s", {"pyproject.toml": without}))
    assert counts == MatchCounts(true_positives=2)


def test_referred_requirements_are_read(tmp_path: Path) -> None:
    """`file:` in setup.cfg means what the file of requirements declares, unless it is a build file itself."""
    masked = {"setup.cfg": "[options]\ninstall_requires = file: requirements.txt\n", "requirements.txt": ""}
    full = {"setup.cfg": masked["setup.cfg"] + "zip_safe = no\n", "requirements.txt": "a\nb\n"}
    found = problem(tmp_path, masked, full)
    alone = found.but(instance=found.instance.but(build_files=("setup.cfg",)))
    submission = write_tree(tmp_path / "s", {"patch.diff": diff(masked, full)})
    assert names(found, submission)[0] == MatchCounts(true_positives=2)
    expected, _ = answer(alone, None)
    assert {item.name for item in expected.files[0].expected} == {"a", "b"}


@pytest.mark.parametrize("name", ["one_alpha", "two_beta", "three_gamma", "four_delta"])
def test_an_empty_submission_declares_nothing_new(name: str, dataset: InstanceSet, tmp_path: Path) -> None:
    """The masked repository alone is worth nothing in any language."""
    found = next(one for one in dataset.problems if one.id == name)
    (tmp_path / "empty").mkdir()
    counts, broken = names(found, tmp_path / "empty")
    assert (counts.true_positives, counts.false_positives) == (0, 0)
    assert counts.false_negatives > 0
    assert broken == {}


def test_a_build_file_that_is_a_link_is_not_read(dataset: InstanceSet, tmp_path: Path) -> None:
    """Links in a submission are not followed."""
    found = next(one for one in dataset.problems if one.id == "one_alpha")
    (tmp_path / "s").mkdir()
    (tmp_path / "s/pyproject.toml").symlink_to("/etc/hostname")
    counts, _ = names(found, tmp_path / "s")
    assert counts == MatchCounts(false_negatives=2)


@pytest.mark.parametrize("as_patch", [False, True])
def test_a_file_larger_than_any_manifest_declares_nothing(tmp_path: Path, *, as_patch: bool) -> None:
    """Whether it is handed in or made by a patch, and others count; one of just 2 MiB is read."""
    masked = {"a/package.json": '{"dependencies": {}}\n', "package.json": '{"dependencies": {}}\n'}
    full = dict.fromkeys(masked, '{"dependencies": {"x": "1"}}\n')
    found = problem(tmp_path, masked, full, "javascript")
    fits = full["package.json"].ljust(2 * 1024 * 1024 - 1) + "\n"
    given = {"a/package.json": f" {fits}", "package.json": fits}
    files = {"patch.diff": diff(masked, given)} if as_patch else given

    counts, broken = names(found, write_tree(tmp_path / "s", files))

    assert counts == MatchCounts(true_positives=1, false_negatives=1)
    assert broken == {"a/package.json": "a/package.json: is larger than any manifest (2 MiB)"}


def test_a_file_with_far_too_many_declarations_says_nothing(tmp_path: Path) -> None:
    """Registries would be asked for each of them, for hours."""
    masked, full = {"package.json": '{"dependencies": {}}'}, {"package.json": '{"dependencies": {"x": "1"}}'}
    found = problem(tmp_path, masked, full, "javascript")
    many = {"x": "1", **{f"p{number}": "1" for number in range(USUAL)}}
    submission = write_tree(tmp_path / "s", {"package.json": json.dumps({"dependencies": many})})

    counts, broken = names(found, submission)

    assert counts == MatchCounts(false_negatives=1)
    said = broken["package.json"]
    assert said == "package.json declares 1001 dependencies, more than 1000; declare what the code needs"


def test_twice_as_many_declarations_as_the_original_are_not_too_many() -> None:
    """Of an original that has more than is usual itself."""
    refuse_excess("a", "dependencies", USUAL, USUAL, 1)
    refuse_excess("a", "dependencies", 2 * USUAL + 2, USUAL, USUAL + 1)
    with pytest.raises(SubmissionError, match="declares 2003 dependencies, more than 2002"):
        refuse_excess("a", "dependencies", 2 * USUAL + 3, USUAL, USUAL + 1)


def test_dataset_is_lazy(tmp_path: Path) -> None:
    """Reading the instances touches no repository."""
    from tests.suites.dibench.made import write_dataset

    root = write_dataset(tmp_path / "a")
    (root / "repo-data").rename(tmp_path / "elsewhere")
    assert len(read_dataset(root).problems) == 4


def test_a_wrong_name_is_told_with_the_one_that_it_stands_for(tmp_path: Path) -> None:
    """By their spelling, one to one within a section; names that share a part of their words stay apart."""
    masked = {"package.json": '{"dependencies": {}}'}
    original = {"package.json": '{"dependencies": {"date-kit": "1", "@deck/core": "1", "left-pad": "1"}}'}
    found = problem(tmp_path, masked, original, "javascript")
    mine = '{"dependencies": {"date-kit-js": "1", "@deck/mesh": "1", "leftpad": "1"}}'
    submission = write_tree(tmp_path / "own", {"package.json": mine})
    told = compared(*answer(found, submitted(found, submission))[:1])
    said = {one.name: one.as_result().message for one in told}
    assert said == {
        "date-kit": "missing: date-kit-js probably stands in its place",
        "date-kit-js": "one too many: probably in the place of date-kit",
        "left-pad": "missing: leftpad probably stands in its place",
        "leftpad": "one too many: probably in the place of left-pad",
        "@deck/core": "missing",
        "@deck/mesh": "one too many",
    }


def test_a_name_that_code_imports_stands_for_the_distribution_that_has_it(tmp_path: Path) -> None:
    """A package of PyPI is called bs4, too, and the two names are not alike."""
    head = '[project]\nname = "x"\nversion = "1"\ndependencies = '
    masked, original = {"pyproject.toml": f"{head}[]"}, {"pyproject.toml": f'{head}["beautifulsoup4", "attrs"]'}
    found = problem(tmp_path, masked, original, "python")
    submission = write_tree(tmp_path / "own", {"pyproject.toml": f'{head}["bs4", "rich"]'})
    told = compared(*answer(found, submitted(found, submission))[:1])
    assert {one.name: one.meant for one in told if one.meant} == {
        "beautifulsoup4": "bs4 probably stands in its place",
        "bs4": "probably in the place of beautifulsoup4",
    }
