"""When two names are one package."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from groundup.domain.languages import DependencyLanguage
from groundup.languages import canonical_name
from groundup.languages.spelling import python_name
from groundup.registries.crates import name_in_index

NAMES = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,12}[A-Za-z0-9])?", fullmatch=True)


@pytest.mark.parametrize(
    ("language", "one", "other", "same"),
    [
        ("python", "Zope.Interface", "zope__interface", True),
        ("python", "a-b", "ab", False),
        ("csharp", "Newtonsoft.Json", "newtonsoft.json", True),
        ("csharp", "Newtonsoft.Json", "Newtonsoft-Json", False),
        ("javascript", "css-select", "css_select", False),
        ("javascript", "JSONStream", "jsonstream", False),
        ("javascript", "JSONStream", "JSONStream", True),
        ("rust", "serde_derive", "serde-derive", False),
        ("rust", "Inflector", "inflector", False),
    ],
)
def test_names_are_equal_when_the_client_says_so(
    language: DependencyLanguage, one: str, other: str, same: bool
) -> None:
    """`tests/suites/dibench/test_clients.py` asks the clients themselves."""
    assert (canonical_name(language, one) == canonical_name(language, other)) is same


def test_an_index_takes_more_spellings_of_a_crate_for_one() -> None:
    """crates.io gives away one spelling of all."""
    assert name_in_index("Serde-Derive") == name_in_index("serde_derive")


@given(NAMES)
def test_python_names_are_those_of_packaging(name: str) -> None:
    """PEP 503, as the library `packaging` has it; to spell a name twice changes nothing."""
    assert python_name(name) == canonicalize_name(name)
    assert python_name(python_name(name)) == python_name(name)
