"""Counts of code and tests."""

from pathlib import Path
from textwrap import dedent

from groundup.suites.repogenesis.legacy_rules import CodeMetrics, code_metrics, count_tests, legacy_denominator


def write(path: Path, text: str) -> None:
    """Write *text* without its indentation."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))


def test_a_repository_in_python(tmp_path: Path) -> None:
    """Files, lines and tokens as published; functions, classes and decisions by syntax."""
    write(
        tmp_path / "app.py",
        """\
        class A:
            def f(self, x):
                if x and x > 1:
                    return [y for y in x if y]
                return 1 if x else 2

        async def g(): ...
        """,
    )
    write(tmp_path / "notes.md", "not counted\n")
    metrics = code_metrics(tmp_path, "python")
    assert metrics == CodeMetrics(files=1, loc=7, tokens=43, functions=2, classes=1, complexity=7)


def test_a_repository_in_java(tmp_path: Path) -> None:
    """Methods and constructors are functions; both junctions and each case are decisions."""
    write(
        tmp_path / "A.java",
        """\
        class A {
            A() { }
            int f(int x) {
                switch (x) { case 1: return 1; default: return x > 1 && x < 3 || x == 5 ? 1 : 2; }
            }
        }
        """,
    )
    metrics = code_metrics(tmp_path, "java")
    assert (metrics.functions, metrics.classes, metrics.complexity) == (2, 1, 7)


def test_tests_in_python_are_counted_by_name(tmp_path: Path) -> None:
    """Files named as tests that parse; methods and nested functions, no coroutines."""
    tests = """\
        def test_a(): ...
        class Anything:
            def test_b(self):
                def test_c(): ...
        async def test_d(): ...
        def helper(): ...
    """
    write(tmp_path / "test_a.py", tests)
    write(tmp_path / "deep" / "a_test.py", "def test_e(): ...\n")
    write(tmp_path / "conftest.py", "def test_no(): ...\n")
    write(tmp_path / "test_broken.py", "def test_f(: ...\n")
    assert count_tests(tmp_path, "python") == 4


def test_tests_in_java_are_counted_by_annotation(tmp_path: Path) -> None:
    """`@Test`, parameterised ones, and JUnit 3's; helpers are none."""
    write(
        tmp_path / "ATest.java",
        """\
        @TestMethodOrder(X.class)
        public class ATest {
            @Test void one() { }
            @org.junit.jupiter.api.Test void two() { }
            @ParameterizedTest void three() { }
            public void testFour() { }
            void helper() { }
        }
        class B { void testFive() { } }
        class C extends TestCase { void testSix() { } }
        """,
    )
    assert count_tests(tmp_path, "java") == 5


def test_newer_java_is_counted_by_text(tmp_path: Path) -> None:
    """Where the scripts' parser gives up, `@TestMethodOrder` counts as a test as well."""
    write(
        tmp_path / "ATest.java",
        '''\
        @TestMethodOrder(X.class)
        public class ATest {
            @Test void one() { String text = """
                block
                """; }
        }
        ''',
    )
    assert count_tests(tmp_path, "java") == 2


def test_the_larger_count_is_the_denominator() -> None:
    """Parametrised tests raise it, tests that were not collected keep it."""
    assert legacy_denominator(10, 7) == 10
    assert legacy_denominator(10, 12) == 12
