"""Strict textual metrics: counts, rates, groups."""

from random import Random
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from groundup.languages.csharp.msbuild import MsBuild
from groundup.languages.javascript.package_json import PackageJson
from groundup.languages.rust.cargo_toml import CargoToml
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, Language
from groundup.suites.dibench.declarations import exact_key, name_key
from groundup.suites.dibench.metrics import (
    DependencyCounts,
    FileAnswer,
    InstanceAnswer,
    MatchCounts,
    aggregate,
    band,
    declared_elsewhere,
    score_instance,
)
from groundup.suites.dibench.summaries import Row, summaries


def npm(name: str, constraint: str = "^1", kind: DependencyKind = DependencyKind.RUNTIME) -> Dependency:
    """Return a dependency of a package.json."""
    return Dependency(language="javascript", name=name, normalised=name, constraint=constraint, kind=kind)


def answer(*files: FileAnswer, subset: str = "regular") -> InstanceAnswer:
    """Return an instance with these build files."""
    return InstanceAnswer(id="one", language="javascript", subset=subset, files=files, lines=120)


def test_counts_per_file_and_sums_them() -> None:
    """A name in another build file than expected is wrong there and missing here."""
    score = score_instance(
        answer(
            FileAnswer(path="a", expected=(npm("x"), npm("y")), predicted=(npm("x"), npm("y", "^2"))),
            FileAnswer(path="b", expected=(npm("z"),), predicted=(npm("x"),)),
        )
    )
    assert score.total.exact == MatchCounts(true_positives=1, false_positives=2, false_negatives=2)
    assert score.total.name_only == MatchCounts(true_positives=2, false_positives=1, false_negatives=1)
    assert score.expected == 3


def test_a_missing_prediction_counts_as_missing_everything() -> None:
    """No prediction, or a file that cannot be read, is all false negatives; other files keep their counts."""
    missing = FileAnswer(path="a", expected=(npm("x"), npm("y")), predicted=None)
    there = FileAnswer(path="b", expected=(npm("z"),), predicted=(npm("z"),))
    score = score_instance(answer(missing, there))
    assert score.total.exact == MatchCounts(true_positives=1, false_negatives=2)
    assert score_instance(answer(missing)).total.exact.precision.value is None
    assert aggregate([score_instance(answer(missing)).total]).exact_macro.precision.value == 0


def test_kinds_are_counted_apart() -> None:
    """The right name under the wrong kind is wrong in one and missing in the other, and no hit of the whole."""
    score = score_instance(
        answer(FileAnswer(path="a", expected=(npm("x"),), predicted=(npm("x", kind=DependencyKind.DEV),)))
    )
    assert score.kinds[DependencyKind.RUNTIME].name_only == MatchCounts(false_negatives=1)
    assert score.kinds[DependencyKind.DEV].name_only == MatchCounts(false_positives=1)
    assert score.total.name_only == MatchCounts(false_positives=1, false_negatives=1)
    assert score.elsewhere == 1
    assert score.total.exact == MatchCounts(false_positives=1, false_negatives=1)
    assert set(score.kinds) == {DependencyKind.RUNTIME, DependencyKind.DEV}


def test_kinds_can_be_left_out() -> None:
    """Only the kinds asked for are counted."""
    file = FileAnswer(path="a", expected=(npm("x"),), predicted=(npm("x"), npm("y", kind=DependencyKind.DEV)))
    assert score_instance(answer(file), {DependencyKind.RUNTIME}).total.exact == MatchCounts(true_positives=1)


def test_a_name_in_another_build_file_is_elsewhere() -> None:
    """Before it, another section of the same file; what belongs where it stands is not elsewhere."""
    dev = npm("x", kind=DependencyKind.DEV)
    first = FileAnswer(path="a", expected=(npm("x"), npm("y"), npm("z")), predicted=(dev,))
    other = FileAnswer(path="b", expected=(npm("z"),), predicted=(npm("x"), npm("y"), npm("z")))
    found = declared_elsewhere((first, other))
    assert {key.name: (one.path, one.dependency.kind) for (_, key), one in found.items()} == {
        "x": ("a", DependencyKind.DEV),
        "y": ("b", DependencyKind.RUNTIME),
    }
    assert score_instance(answer(first, other)).elsewhere == 2


def test_a_given_name_in_another_version_is_no_new_name() -> None:
    """What the masked file still declares counts neither way by name; exactly, the change is one too many."""
    given = npm("jest", "^29", DependencyKind.DEV)
    changed = given.but(constraint="^30")
    file = FileAnswer(path="a", expected=(npm("x"),), predicted=(npm("x"), changed), given=(given,))
    score = score_instance(answer(file))
    assert score.total.name_only == MatchCounts(true_positives=1)
    assert score.total.exact == MatchCounts(true_positives=1, false_positives=1)


def test_duplicates_count_once() -> None:
    """A prediction gains and loses nothing by saying a thing twice."""
    file = FileAnswer(path="a", expected=(npm("x"),), predicted=(npm("x"), npm("x"), npm("y"), npm("y")))
    assert score_instance(answer(file)).total.exact == MatchCounts(true_positives=1, false_positives=1)


def test_micro_and_macro() -> None:
    """Micro rates sum counts; macro rates average instances, without those that have no rate."""
    rows = [
        DependencyCounts(exact=MatchCounts(true_positives=9, false_positives=1)),
        DependencyCounts(exact=MatchCounts(true_positives=0, false_positives=0, false_negatives=1)),
        DependencyCounts(),
    ]
    found = aggregate(rows)
    assert found.instances == 3
    assert (found.exact_micro.precision.value, found.exact_micro.recall.value) == (0.9, 0.9)
    assert found.exact_micro.f1.value == 0.9
    assert (found.exact_macro.recall.numerator, found.exact_macro.recall.denominator) == (1.0, 2)
    assert found.exact_macro.precision.value == 0.45
    assert found.exact_macro.f1.denominator == 2


def test_groups_and_bands() -> None:
    """Results are grouped by language and subset, and by bands of a number."""
    file = FileAnswer(path="a", expected=(npm("x"),), predicted=(npm("x"),))
    scores = [score_instance(answer(file)), score_instance(answer(file, subset="large"))]
    sizes = (2_000_000, None, 0, 60_000, 10)
    scores += [scores[0].but(tokens=tokens) for tokens in sizes]
    by_language, _, _, by_lines, by_tokens = summaries([Row(score=score) for score in scores])
    assert list(by_tokens.scores) == ["<1", "1-9999", "50000-199999", ">=1000000", "unknown"]
    assert {"javascript, large", "javascript, regular"} <= by_language.scores.keys()
    assert "1-999" in by_lines.scores
    assert [band(value, (1, 2, 6)) for value in (0, 1, 5, 6, None)] == ["<1", "1", "2-5", ">=6", "unknown"]


def test_equal_rust_dependencies_are_equal() -> None:
    """The order of features, blanks and the caret that Cargo implies make no difference; spelling does."""
    data = b'[dependencies]\n%s = { version = "%s", features = [%s] }\n'
    one, two = (
        CargoToml().read(data % parts, "Cargo.toml").dependencies[0]
        for parts in ((b"serde_json", b">=1, <2", b'"a", "b"'), (b"serde_json", b"<2,>=1", b'"b", "a"'))
    )
    assert exact_key(one) == exact_key(two)
    plain, caret = (
        CargoToml().read(b'[dependencies]\na = "%s"\n' % text, "Cargo.toml").dependencies[0]
        for text in (b"1", b"^1")
    )
    assert exact_key(plain) == exact_key(caret)


def test_equal_csharp_references_are_equal() -> None:
    """Separators in paths, cases in names, and whether the version is a child make no difference."""
    one, two = (
        MsBuild().read(b"<Project><ItemGroup>" + text + b"</ItemGroup></Project>", "A.csproj").dependencies
        for text in (
            b'<PackageReference Include="A" Version="1"/><ProjectReference Include="..\\B\\B.csproj"/>',
            b'<PackageReference Include="a"><Version>1</Version></PackageReference>'
            b'<ProjectReference Include="../B/B.csproj"/>',
        )
    )
    assert [*map(exact_key, one)] == [*map(exact_key, two)]
    assert name_key(one[1])[:2] == ("ProjectReference", "../B/B.csproj")
    assert one[1].source is DependencySource.PROJECT


def test_javascript_names_and_ranges() -> None:
    """Blanks in a range make no difference; the section does, and so does each letter of a name."""
    one, other, dev = (
        PackageJson()
        .read(
            b'{"dependencies": {"a-b": ">=1  <2", "a_b": ">=1 <2"}, "devDependencies": {"a-b": ">=1 <2"}}',
            "package.json",
        )
        .dependencies
    )
    assert exact_key(one) == exact_key(one.but(constraint=">=1 <2")) != exact_key(other)
    assert name_key(one) != name_key(dev)
    assert name_key(one) != name_key(other)


def test_python_names_fold_all_separators() -> None:
    """`-`, `_` and `.` are the same in a Python name, in runs and in any case."""
    names = ("Ruamel.yaml", "ruamel_yaml", "ruamel--yaml")
    keys = {name_key(Dependency(language="python", name=name, normalised=name)) for name in names}
    assert {key.name for key in keys} == {"ruamel-yaml"}


LANGUAGES: tuple[Language, ...] = get_args(Language)


@st.composite
def dependencies(draw: st.DrawFn) -> tuple[Dependency, ...]:
    """Draw what one build file declares, of few names in all sections."""
    language = draw(st.sampled_from(LANGUAGES))
    found = []
    for _ in range(draw(st.integers(0, 6))):
        name = draw(st.sampled_from(["a-b", "a_b", "A.B", "c"]))
        item = Dependency(
            language=language,
            name=name,
            normalised=name,
            constraint=draw(st.sampled_from(["", "1", "2"])),
            kind=draw(st.sampled_from(list(DependencyKind))),
            group=draw(st.sampled_from(["", "x"])),
        )
        found.append(item)
    return tuple(found)


@given(dependencies(), st.randoms(use_true_random=False))
def test_what_is_declared_alike_is_right_in_any_order(declared: tuple[Dependency, ...], random: Random) -> None:
    """Neither too many nor missing, however it is sorted and repeated."""
    again = [*declared, *declared]
    random.shuffle(again)
    score = score_instance(answer(FileAnswer(path="a", expected=declared, predicted=tuple(again))))
    for counts in (score.total.exact, score.total.name_only):
        assert (counts.false_positives, counts.false_negatives) == (0, 0)
    assert score.elsewhere == 0


@given(dependencies(), dependencies())
def test_what_should_be_there_does_not_depend_on_the_prediction(
    expected: tuple[Dependency, ...], predicted: tuple[Dependency, ...]
) -> None:
    """Right and missing ones are together what is expected; what is elsewhere is missing where it belongs."""
    score = score_instance(answer(FileAnswer(path="a", expected=expected, predicted=predicted)))
    nothing = score_instance(answer(FileAnswer(path="a", expected=expected, predicted=None)))
    for one, none in ((score.total.exact, nothing.total.exact), (score.total.name_only, nothing.total.name_only)):
        assert one.true_positives + one.false_negatives == none.false_negatives
    assert (score.elsewhere or 0) <= score.total.name_only.false_negatives
