"""Names that are safe, near or hostile."""

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.names import (
    checked_name,
    count,
    is_loopback,
    names_image_file,
    number_of,
    printable,
    shuffled,
    unknown,
    without_codes,
)


@pytest.mark.parametrize("name", ["a", "7", "sqlparse-0.5", "a@b+c_d.e", "x" * 128])
def test_a_name_that_is_one_path_component_is_kept(name: str) -> None:
    """Letters, digits and a few signs, up to 128."""
    assert checked_name(name) == name


@pytest.mark.parametrize("name", ["", ".", "..", "-x", "a/b", "a b", "a.", "run.lock", "x" * 129, "ä", "a\n"])
def test_a_name_that_is_none_is_refused_with_the_rule(name: str) -> None:
    """Nothing that leads elsewhere, hides or is taken by locks."""
    with pytest.raises(UsageError, match="starting with a letter or digit"):
        checked_name(name)


def test_the_nearest_choice_is_offered_and_otherwise_all() -> None:
    """Up to 30 choices are listed, in order; a few also beside the nearest, which may not be meant."""
    near = "unknown suite 'dibensh'; did you mean 'dibench'?"
    assert unknown("suite", "dibensh", ["other", "dibench"]) == near + " There are dibench, other"
    assert unknown("suite", "dibensh", ["dibench", *"abcdef"]) == near
    assert unknown("suite", "dibensh", ["dibench", *"abcde"]) == near + " There are a, b, c, d, dibench, e"
    assert unknown("suite", "dibensh", ["dibench"]) == near
    assert unknown("suite", "DIBENSH", ["DIBench", "other"]).startswith(
        "unknown suite 'DIBENSH'; did you mean 'DIBench'?"
    )
    assert unknown("suite", "zzz", ["b", "a"]) == "unknown suite 'zzz'; choose from: a, b"
    assert unknown("suite", "zzz", []).endswith("choose from: (none)")
    many = [f"n{number:02}" for number in range(31)]
    assert unknown("suite", "zzz", many[:30]).endswith("n29")
    assert unknown("suite", "zzz", many).endswith("n29, ...")


@pytest.mark.parametrize(
    ("host", "own"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("10.0.0.1", False)]
)
def test_loopback_is_this_machine(host: str, own: bool) -> None:
    """By name or address."""
    assert is_loopback(host) is own
    assert not is_loopback("localhost.example.org")


def test_nothing_hostile_reaches_a_terminal() -> None:
    """Controls and bytes that are no UTF-8 are escaped, and codes of terminals taken away."""
    assert printable("a\x1b[31m\udcff\n é") == "a\\x1b[31m\\xff\\n é"
    assert without_codes("\x1b[1;31mred\x1b[0m \x1b]0;title\x07on\x1b(B") == "red on"


def test_a_seed_decides_the_order() -> None:
    """Whatever order the names come in."""
    names = [f"n{number}" for number in range(20)]
    assert shuffled(names, 1) == shuffled(names[::-1], 1) != shuffled(names, 2)
    assert sorted(shuffled(names, 1)) == sorted(names)
    assert shuffled("abcdef", 7) == ("c", "b", "a", "e", "d", "f")
    assert shuffled([], 7) == ()


def test_a_long_name_is_shown_in_part() -> None:
    """Up to 200 signs of one that is refused, and up to 100 of one that is unknown, are shown whole."""
    for length, shown in ((200, "/" * 200), (201, "/" * 197 + "...")):
        with pytest.raises(UsageError, match=f"^'{shown}' is not a usable name"):
            checked_name("/" * length)
    assert unknown("task", "z" * 100, []).startswith(f"unknown task '{'z' * 100}';")
    assert unknown("task", "z" * 101, []).startswith(f"unknown task '{'z' * 97}...';")


@pytest.mark.parametrize(
    ("image", "is_file"),
    [
        ("./a", True), ("/a", True), ("~/a", True), ("a/b.tar", True),
        ("debian:12", False), ("a/b.tar.gz", False), ("tar", False),
    ],
)  # fmt: skip
def test_files_of_images_are_told_from_names(image: str, *, is_file: bool) -> None:
    """Names begin with a letter or digit, and do not end like an archive."""
    assert names_image_file(image) == is_file


def test_numbers_of_strangers_have_a_most() -> None:
    """Fifteen digits are read."""
    assert [number_of(digits) for digits in ("0", "007", "9" * 15)] == [0, 7, 10**15 - 1]
    assert number_of("1" + "0" * 15) == number_of("9" * 16) == number_of("9" * 5000) == 10**15
    assert [count(number, "test") for number in (0, 1, 2, -1)] == ["0 tests", "1 test", "2 tests", "-1 tests"]
