"""Tests of groundup.grading.java.hidden: names of tests, their falsified twins, and canaries."""

import re

import pytest

from groundup.domain.errors import TaskError
from groundup.grading.java.hidden import ending_tests, falsified, named_tests, outer_classes, paired

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


def test_tests_that_can_only_pass_at_their_end_are_known() -> None:
    """One that returns, at its end or before, need not come to what makes it fail in the twin."""
    early = b"class Early { @Test void comes() { if (late()) { return; } ask(); } "
    early += b"@Test void asks() { run(() -> { return 1; }); } }"

    assert ending_tests({"t": SUITE}) == {"demo.NotesTest#adds", "demo.NotesTest#says"}
    assert ending_tests({"t": early}) == {"Early#asks"}


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


def test_both_suites_hold_the_same_tests_and_canaries_beside_them() -> None:
    """Names of canaries are of the suite's words; each suite has what the other one compares with."""
    pair = paired(SUITE)
    own = set(named_tests({"t": SUITE}))
    assert len(pair.canaries) == 3
    assert set(pair.canaries).isdisjoint(own)
    for text in (pair.true, pair.twin):
        live = {name for name in pair.canaries if "Inner" not in name} & set(named_tests({"t": text}))
        assert set(named_tests({"t": text})) == own | live
        assert len(live) == 2  # the third is a copy of a test that is disabled
        assert text.count(b"assertEquals(2, 1 + 1)") == 1
        assert text.count(b'assertEquals("two", say(2))') == 1
        assert {b"assertTrue", b"assertFalse"} <= set(re.findall(rb"import static [\w.]+\.(\w+);", text))


def test_what_fails_looks_the_same_everywhere() -> None:
    """A test begins and ends with the same words in both suites; only a moment decides."""
    pair = paired(SUITE)
    shapes = [re.sub(rb"\d{9,}L", b"", text).count(b"currentTimeMillis() > ") for text in (pair.true, pair.twin)]
    assert shapes[0] == shapes[1]
    now, far = 1_700_000_000_000, 4_000_000_000_000
    moments = [[int(one) for one in re.findall(rb"> (\d+)L", text)] for text in (pair.true, pair.twin)]
    assert all(one < now or one >= far for text in moments for one in text)
    assert [sum(one < now for one in text) for text in moments] == [6, 6]
