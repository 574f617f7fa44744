"""Reading TOML and JSON of strangers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.sources.project_files import has_trailing_commas, json_of, table_at, toml_of, without_comments


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


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ('{"a": 1}', {"a": 1}),
        (b'\xef\xbb\xbf{"a": "\xff"}', {"a": "\ufffd"}),
        ('{"a": "b,}", "c": "/* d */ \\" // e",}', {"a": "b,}", "c": '/* d */ " // e'}),
        ('/* a\n * b */ {"a": /**/ [1, 2 , ] // c\n}', {"a": [1, 2]}),
        ('{"a": [1,, 2]}', {}),
        ("3", {}),
        ('[{"a": 1,}]', {}),
    ],
)
def test_what_people_write_beside_json_goes(text: str | bytes, document: dict[str, object]) -> None:
    """Comments, commas at ends and marks of encodings, but nothing in a text."""
    assert json_of(text) == document


def test_a_comment_ends_with_its_line_or_its_mark() -> None:
    """All else stays to the letter."""
    assert without_comments('{ // a\n"b": "//", /* c\nd */ /e }') == '{ \n"b": "//",  /e }'
    assert not has_trailing_commas('{"a": [1, 2], "b": {"c": ","}} // ,]')
    assert has_trailing_commas("[1,\n]")


def test_a_table_is_a_copy() -> None:
    """Without keys it is the document; a value, or nothing, is no table."""
    document = {"a": {"b": {}}, "c": 1}
    found = table_at(document)
    assert found == document
    assert found is not document
    assert [table_at(one, "a") for one in (document, None, [1], {"a": 1})] == [{"b": {}}, {}, {}, {}]
    assert table_at(document, "a", "b", "c") == table_at(document, "c", "d") == {}
