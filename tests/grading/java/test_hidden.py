"""Tests of groundup.grading.java.hidden: names of tests, and forms of them that must fail."""

import re
import subprocess
from pathlib import Path

import pytest

from groundup.domain.errors import TaskError
from groundup.grading.java.hidden import ending_tests, heirs, named_tests, outer_classes, varied_tests, with_ends
from tests.grading.library.laboratory import write_tree

SUITE = b"""
package demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import org.junit.jupiter.api.*;

class NotesTest {
    @Test void adds() { assertEquals(2, 1 + 1); }

    @org.junit.jupiter.api.Test
    public void says() { assertEquals("two", say(2)); }

    @Test @Disabled void later() { assertTrue(false); }

    void helper() { assertTrue(true); }

    @Nested class Inner {
        @ParameterizedTest void holds(int number) { assertTrue(number > 0); return; }
    }
}
"""


def test_tests_are_named_by_class_and_method() -> None:
    """Qualified annotations and nested classes count; helpers and disabled tests do not."""
    named = named_tests({"java/NotesTest.java": SUITE})
    assert named == ("demo.NotesTest#adds", "demo.NotesTest#says", "demo.NotesTest$Inner#holds")
    assert outer_classes(named, {}) == ("demo.NotesTest",)


def test_tests_that_can_only_pass_at_their_end_are_known() -> None:
    """One that returns, at its end or before, need not come to what makes it fail."""
    early = b"class Early { @Test void comes() { if (late()) { return; } ask(); } "
    early += b"@Test void asks() { run(() -> { return 1; }); } }"

    assert ending_tests({"t": SUITE}) == {"demo.NotesTest#adds", "demo.NotesTest#says"}
    assert ending_tests({"t": early}) == {"Early#asks"}


def test_a_source_that_is_no_java_is_the_tasks_fault() -> None:
    """No one's submission is blamed for it."""
    with pytest.raises(TaskError, match="Broken"):
        named_tests({"java/Broken.java": b"class {"})


def test_only_what_is_asked_for_is_changed() -> None:
    """Names stay, and so does every other test; both kinds of ends have the same shapes."""
    changed = with_ends({"t": SUITE, "u": b"class U { }"}, {"demo.NotesTest#adds": True})
    assert named_tests(changed) == named_tests({"t": SUITE})
    assert changed["u"] == b"class U { }"
    assert b'public void says() { assertEquals("two", say(2)); }' in changed["t"]
    shapes: dict[bool, set[bytes]] = {True: set(), False: set()}
    for fails, seen in shapes.items():
        for _ in range(100):
            text = with_ends({"t": SUITE}, dict.fromkeys(named_tests({"t": SUITE}), fails))["t"]
            seen.add(re.sub(rb'"\w{6}"', b'"w"', text))
    assert shapes[True] == shapes[False]


_JUNIT = {
    "org/junit/jupiter/api/Test.java": """package org.junit.jupiter.api;
@java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME) public @interface Test { }""",
    "org/junit/jupiter/api/Assertions.java": """package org.junit.jupiter.api;
public class Assertions {
    public static void assertNotSame(Object one, Object other) { if (one == other) throw new AssertionError(); }
}""",
    "demo/java.java": "package demo; class java { }",
    "demo/org.java": "package demo; class org { }",
    "demo/Run.java": """package demo; import org.junit.jupiter.api.Test;
public class Run {
    public static void main(String[] words) {
        for (var one : OddTest.class.getDeclaredMethods()) {
            if (!one.isAnnotationPresent(Test.class)) continue;
            String said = " passed";
            try { one.invoke(new OddTest()); } catch (ReflectiveOperationException error) { said = " failed"; }
            System.out.println(one.getName() + said);
        }
    }
}""",
}
_BASE = b"""package demo;
abstract class Base {
    abstract int made();
    @Test void inherited() { hashCode(); }
    @Test void other() { hashCode(); }
}
"""
_CHILDREN = b"""package demo;
class OneTest extends Base { int made() { return 1; } @Test void own() { hashCode(); } }
class TwoTest extends Base { int made() { return 2; } void other() { } }
"""


def test_what_is_inherited_counts_where_it_runs() -> None:
    """An abstract class has no test; each child that does not override one does, and none is made to fail."""
    texts = {"Base.java": _BASE, "Children.java": _CHILDREN}
    assert named_tests(texts) == (
        "demo.OneTest#inherited",
        "demo.TwoTest#inherited",
        "demo.OneTest#other",
        "demo.OneTest#own",
    )
    assert ending_tests(texts) == {"demo.OneTest#own"}
    changed = with_ends(texts, dict.fromkeys(named_tests(texts), True))
    assert changed["Base.java"] == _BASE
    assert b"assertNotSame" in changed["Children.java"]


_CONTRACT = b"""package demo;
interface Contract<T extends Comparable<T>> {
    T made();
    @Test default void holds() { hashCode(); }
    @Test void bare();
}
abstract class Deep { @Nested class Inner { @Test void inside() { hashCode(); } } }
class NumberTest extends Deep implements Contract<Integer>, Runnable { public Integer made() { return 1; } }
class HolderTest {
    static class Helper { @Test void never() { hashCode(); } }
    static abstract class Base { @Test void shared() { hashCode(); } }
    @Nested class Child extends Base { }
    @TestFactory Stream<DynamicTest> made() { return null; }
    @TestFactory Stream<DynamicTest> broken() { throw new RuntimeException(); }
    @RepeatedTest(2) void again() { hashCode(); }
}
@ParameterizedClass class ManyTest { @Test void each() { hashCode(); } }
"""


def test_what_junit_would_not_run_is_no_test_and_what_it_runs_often_is_varied() -> None:
    """Interfaces and abstract classes count in their heirs; classes inside that are not @Nested do not."""
    texts = {"t": _CONTRACT}

    assert set(named_tests(texts)) == {
        "demo.NumberTest#holds",
        "demo.Deep$Inner#inside",
        "demo.HolderTest$Child#shared",
        "demo.HolderTest#made",
        "demo.HolderTest#broken",
        "demo.HolderTest#again",
        "demo.ManyTest#each",
    }
    assert varied_tests(texts) == {
        "demo.Deep$Inner#inside",
        "demo.HolderTest#made",
        "demo.HolderTest#broken",
        "demo.HolderTest#again",
        "demo.ManyTest#each",
    }
    assert outer_classes(["demo.Deep$Inner#inside"], heirs(texts)) == ("demo.NumberTest",)
    assert not ending_tests(texts) & {"demo.HolderTest#made", "demo.HolderTest#broken"}
    changed = with_ends(texts, dict.fromkeys(named_tests(texts), False))["t"]
    assert b"made() { return null; }" in changed
    assert b"broken() { throw new RuntimeException(); }" in changed


_ODD = b"""package demo; import org.junit.jupiter.api.Test;
class OddTest {
    @Test void empty() {}
    @Test void forever() { while (true) { if (true) throw new RuntimeException(); } }
    @Test void either() { if (hashCode() == 0) { throw new RuntimeException(); } else { hashCode(); } }
    @Test void comment() { hashCode(); // the end }
    }
    @Test void throwing() { try { hashCode(); } finally { hashCode(); } }
    @Test void returning() { try { return; } finally { hashCode(); } }
    @Test void last() { throw new RuntimeException(); }
}
"""


@pytest.mark.needs("javac")
@pytest.mark.parametrize("at_start", [False, True])
@pytest.mark.parametrize("fails", [False, True])
def test_every_form_compiles_and_does_what_it_says(tmp_path: Path, fails: bool, at_start: bool) -> None:
    """Whatever a test ends with, and whatever class hides a package; only what returns is not made to fail."""
    tests = named_tests({"t": _ODD})
    changed = with_ends({"t": _ODD}, dict.fromkeys(tests, fails), tests if at_start else ())
    room = write_tree(tmp_path / "suite", {**_JUNIT, "demo/OddTest.java": changed["t"].decode()})
    subprocess.run(["javac", "-d", room / "out", *room.rglob("*.java")], check=True)
    said = subprocess.run(
        ["java", "-cp", room / "out", "demo.Run"], check=True, capture_output=True, text=True
    ).stdout
    failed = set(re.findall(r"(\w+) failed", said))
    every = {test.partition("#")[2] for test in tests}
    assert len(said.splitlines()) == len(every) == 7
    if fails:
        assert failed == (every if at_start else every - {"returning"})
    else:
        assert failed == {"forever", "last"}
