"""Tests of groundup.environments.locking."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from groundup.domain.errors import UsageError
from groundup.environments.locking import locked_lines, named_requirements
from groundup.environments.requests import PythonRequest
from tests.environments.conftest import MINOR

LINE = st.builds(
    lambda name, version, digests: " ".join(
        [f"{name}=={version}", *(f"--hash=sha256:{d * 8:064x}" for d in sorted(digests))]
    ),
    st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True),
    st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){0,2}", fullmatch=True),
    st.sets(st.integers(0, 2**200), min_size=1, max_size=3),
)


@pytest.mark.parametrize(
    "line", ["-e .", "--pre", "demo @ https://a.test/x.whl", "./demo", "demo==", "a b", "demo;"]
)
def test_only_names_and_versions_can_be_locked(line: str) -> None:
    """Options, addresses and paths are refused."""
    with pytest.raises(UsageError):
        named_requirements([line])


def test_requirements_are_written_alike() -> None:
    """Without comments and blank lines, in their order; a `#` within a word is none."""
    lines = ["b ==1.0  # why", "# none", " ", "A.b[c,d] >=1,<2", "a; python_version<'3'"]
    assert named_requirements(lines) == ("b==1.0", "A.b[c,d]<2,>=1", 'a; python_version < "3"')
    with pytest.raises(UsageError) as caught:
        named_requirements(["a#b"])
    assert str(caught.value) == "'a#b' is not a requirement by name and version, which is all that can be locked"
    with pytest.raises(UsageError) as caught:
        named_requirements(["x @ https://a.test/b"])
    assert str(caught.value) == "'x' is required by address; name a version instead, such as 'name==1.0'"
    with pytest.raises(UsageError, match=f"^'{'-' * 200}' is not"):
        named_requirements(["-" * 300])


def test_a_compiled_file_becomes_one_sorted_line_a_pin() -> None:
    """Hashes sorted, markers kept; options and comments are none."""
    text = (
        "# by uv\n-i https://a.test\nb==1 \\\n    --hash=sha256:2 \\\n    --hash=sha256:1\n    # via a\n\n"
        "a==2 ; python_version < '3' --hash=sha256:3\n"
    )
    assert locked_lines(text) == (
        "a==2 ; python_version < '3' --hash=sha256:3",
        "b==1 --hash=sha256:1 --hash=sha256:2",
    )


@given(st.text(alphabet=string.printable, max_size=60))
def test_any_line_is_a_requirement_or_a_usage_error(line: str) -> None:
    """What comes back is one requirement a line, so nothing can be smuggled into a file of requirements."""
    try:
        found = named_requirements([line])
    except UsageError:
        return
    assert all("\n" not in text and "\r" not in text and not text.startswith("-") for text in found)


@given(st.lists(LINE, max_size=5, unique=True))
def test_locked_lines_read_back_as_they_are(lines: list[str]) -> None:
    """One line a pin, however the compiled file breaks them."""
    broken = "# header\n--index-url x\n" + "".join(
        line.replace(" --hash", " \\\n    --hash") + "\n" for line in lines
    )
    assert sorted(locked_lines(broken)) == sorted(lines)


@pytest.mark.parametrize(
    "line",
    [
        "demo",
        "demo==1.0",
        "demo>=1 --hash=sha256:" + "0" * 64,
        "-r x",
        "demo==1.0 --hash=md5:00",
        "demo==1.0 --hash=sha256:" + "0" * 64 + "\n-r x",
    ],
)
def test_a_request_takes_only_hashed_pins(line: str) -> None:
    """Nothing unpinned, unhashed or foreign reaches the installer."""
    with pytest.raises(ValidationError):
        PythonRequest(python=MINOR, requirements=(line,))
