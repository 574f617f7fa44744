"""Canaries look like their neighbours, fail honestly, and are others each time."""

import ast

from groundup.grading.library.canary import Canary, draw_canaries, own_tests, told_of
from groundup.grading.library.hidden import HiddenTests, NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.library.twin import HiddenSuite

SOURCE = '''"""Tests of words."""
import re

LIMIT = 3

class Helper:
    pass

def make(): return Helper()

def test_split_simple_words():
    assert "a b".split() == ["a", "b"]

def test_join_every_letter():
    thing = make()
    assert "".join(["a", "b"]) == "ab"

class TestUpper:
    def test_upper_case(self): assert "a".upper() == "A"
'''
FOLDER = HiddenTests(packages=("words",), arguments=("tests",), protected=("tests",))
FILE = HiddenTests(packages=("words",), arguments=("tests/test_words.py",), protected=("tests",))
SUITE = HiddenSuite({"tests/test_words.py": SOURCE.encode()})
WORDS = {"split", "simple", "words", "join", "every", "letter", "upper", "case"}


def _function(canary: Canary) -> ast.FunctionDef:
    functions = [node for node in ast.parse(canary.content).body if isinstance(node, ast.FunctionDef)]
    return next(node for node in functions if node.name.startswith("test"))


def test_they_are_copies_of_the_suites_tests_with_its_words() -> None:
    """File and test have names of the suite's words that nothing else has; what the copy needs comes along."""
    for _ in range(20):
        canaries = draw_canaries(FOLDER, SUITE)
        for canary in canaries:
            function = _function(canary)
            file = canary.path.removeprefix("tests/test_").removesuffix(".py")
            assert set(file.split("_")) | set(function.name.removeprefix("test_").split("_")) <= WORDS
            assert canary.key.id == f"{canary.path}::{function.name}"
            assert function.name not in SUITE.names()
            assert b"import re" in canary.content
            assert b"TestUpper" not in canary.content
            assert (b"make()" in canary.content) == (b"class Helper" in canary.content)
        assert len({canary.path for canary in canaries}) == 2


def test_they_are_made_up_where_a_copy_may_leave_something_behind() -> None:
    """A copy that starts a frozen clock and fails would break the tests after it."""
    for canary in draw_canaries(FOLDER.model_copy(update={"copied_canaries": False}), SUITE):
        assert not canary.is_copy
        assert b"import re" not in canary.content


def test_they_cannot_pass() -> None:
    """Run as they stand, they fail: by their false expectation and by nothing else."""
    for _ in range(20):
        for canary in draw_canaries(FOLDER, SUITE):
            space: dict[str, object] = {}
            exec(compile(canary.content, canary.path, "exec"), space)
            test = space[_function(canary).name]
            assert callable(test)
            try:
                test()
            except AssertionError:
                continue
            raise RuntimeError("a canary passed")


def test_they_are_others_each_time() -> None:
    """Nothing can be learned of them from an earlier run."""
    assert len({canary.path for _ in range(10) for canary in draw_canaries(FOLDER, SUITE)}) > 2


def test_a_file_is_named_where_files_are_named() -> None:
    """Where pytest is given files, it is given the canaries' too."""
    assert all(canary.named for canary in draw_canaries(FILE, SUITE))
    assert not any(canary.named for canary in draw_canaries(FOLDER, SUITE))


def test_a_suite_without_tests_to_copy_has_made_up_ones() -> None:
    """There are always two, with the name that pytest collects here."""
    for suite in (None, HiddenSuite({}), HiddenSuite({"tests/test_a.py": b"def test_a(): pass\n"})):
        canaries = draw_canaries(FOLDER, suite)
        assert len({canary.path for canary in canaries}) == 2
        assert all(_function(canary).name in canary.key.id for canary in canaries)


def test_copies_that_no_mistake_passes_are_preferred() -> None:
    """They have a word that is nowhere else; where there are not two of them, none accuses."""
    first = b'def test_text_split(): assert "some words".title() == "Some Words"\n'
    second = b'def test_text_join(): assert "other letters".title() == "Other Letters"\n'
    negated = b"def test_truth_every(x=1): assert x\ndef test_simple_letter(x=2): assert x\n"
    few = HiddenSuite({"tests/test_a.py": first + negated})
    enough = HiddenSuite({"tests/test_a.py": first + negated, "tests/test_b.py": second})

    assert sum(all(canary.is_telling for canary in draw_canaries(FOLDER, enough)) for _ in range(20)) > 15
    assert not any(canary.is_telling for _ in range(20) for canary in draw_canaries(FOLDER, few))


def test_what_restores_something_at_its_end_is_not_copied() -> None:
    """A copy fails before it comes to that, and the tests after it would find what it left."""
    tidy = "".join(f"def test_case_{word}(): assert {word!r}.upper() == {word.upper()!r}\n" for word in WORDS)
    untidy = (
        "def test_variable():\n    os.environ['user'] = 'someone'\n    assert os.environ['user'] == 'someone'\n"
        "    del os.environ['user']\n"
        "def test_folder():\n    os.chdir('/')\n    assert os.getcwd() == '/'\n    os.chdir('/tmp')\n"
        "def test_flag():\n    sys.flag = 1\n    assert sys.flag == 1\n    sys.flag = 0\n"
    )
    suite = HiddenSuite({"tests/test_case.py": f"import os, sys\n{tidy}{untidy}".encode()})

    for _ in range(40):
        for canary in draw_canaries(FOLDER, suite):
            assert canary.is_copy
            assert b".upper()" in canary.content


def test_avoided_tests_are_not_copied() -> None:
    """What may pass with false expectations would accuse an honest submission."""
    for _ in range(10):
        for canary in draw_canaries(FOLDER, SUITE, {"test_split_simple_words"}):
            assert b'"a b".split()' not in canary.content


def test_all_results_of_their_files_are_ours() -> None:
    """What a fixture makes of a canary is known as such, and is no test of the original's."""
    canary = draw_canaries(FOLDER, SUITE)[0]
    results = {
        NumberedTest(f"{canary.key.id}[x]"): Result(outcome="failed"),
        NumberedTest("tests/test_words.py::test_a"): Result(outcome="passed"),
    }

    assert own_tests([canary], results) == {NumberedTest(f"{canary.key.id}[x]")}
    assert [result.outcome for result in told_of(canary, results)] == ["failed"]
