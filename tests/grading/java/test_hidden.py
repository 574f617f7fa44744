"""Tests of groundup.grading.java.hidden: names of tests, and their falsified twins."""

import pytest

from groundup.domain.errors import TaskError
from groundup.grading.java.hidden import falsified, named_tests, outer_classes

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
    assert outer_classes(named) == ("demo.NotesTest",)


def test_a_source_that_is_no_java_is_the_tasks_fault() -> None:
    """No one's submission is blamed for it."""
    with pytest.raises(TaskError, match="Broken"):
        named_tests({"java/Broken.java": b"class {"})


def test_a_twin_keeps_names_and_cannot_hold() -> None:
    """Numbers, texts and truths are others, each test ends by failing, and what it then needs is imported."""
    twin = falsified(SUITE)
    assert named_tests({"t": twin}) == named_tests({"t": SUITE})
    assert b"assertEquals(2," not in twin
    assert b'assertEquals("two",' not in twin
    assert b"assertFalse(number > 0)" in twin
    assert b"import static org.junit.jupiter.api.Assertions.assertFalse;" in twin
    assert twin.count(b"throw new java.lang.AssertionError") == 3  # `holds` cannot go on after its return
