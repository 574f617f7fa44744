"""Reading TOML and JSON of strangers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.sources.project_files import has_trailing_commas, json_of, table_at, toml_of


@pytest.mark.parametrize("text", [None, "", "a = [", b"\xff", "x = " + "[" * 100_000, "tool = 3"])
def test_what_cannot_be_read_has_no_tables(text: str | bytes | None) -> None:
    """Neither broken, binary and deep files nor values in place of tables stop who reads a project."""
    assert table_at(toml_of(text), "tool", "pytest") == {}


def test_a_table_is_found_below_its_keys() -> None:
    """A mark at the start of the file hides nothing."""
    document = toml_of(b"\xef\xbb\xbf[tool.pytest.ini_options]\ntestpaths = ['tests']\n")
    assert table_at(document, "tool", "pytest", "ini_options") == {"testpaths": ["tests"]}


@given(st.text() | st.binary())
def test_any_content_can_be_read(content: str | bytes) -> None:
    """Whatever the file, there is a document."""
    assert isinstance(toml_of(content), dict)
    assert isinstance(json_of(content), dict)


@pytest.mark.parametrize("text", [None, "", "{", b"\xff", "[1]", "[" * 100_000, "/*", '{"a": 1} x'])
def test_what_is_no_object_is_empty(text: str | bytes | None) -> None:
    """Broken, deep and other JSON is as if there was none."""
    assert json_of(text) == {}


def test_comments_go_and_addresses_stay() -> None:
    """A comment beside an address costs neither the address nor what follows it."""
    text = '{"$schema": "https://json.schemastore.org/tsconfig", // ours\n/* "a": 1, */ "b": ["//", ",]",], }'
    assert json_of("\ufeff" + text) == {"$schema": "https://json.schemastore.org/tsconfig", "b": ["//", ",]"]}
    assert has_trailing_commas(text)
    assert not has_trailing_commas('{"a": ",]", "b": [1] /* , */}')
