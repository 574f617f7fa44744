"""Tests of groundup_factory.recipes.pinning."""

import pytest

from groundup_factory.recipes.pinning import read_specification

COLUMNS = """
### Python Version

The Python version used in the current project is: Python 3.11.4

### Core Dependency Library Versions

```Plain
exceptiongroup    1.3.0
pip               23.0.1
PyYAML            6.0.2
pytest            8.4.1   # tests
typing_extensions 4.14.1
```

### Project Directory Structure

```
workspace/
├── .gitignore
├── demo
│   ├── __init__.py        # entry
│   └── inner/
│       └── deep.py
└── setup.py
```
"""
REQUIREMENTS = """
# Environment Configuration

Runs on Python 3.12 or newer.

```python
demo>=25.0.0                # The library itself
pytest==8.4.0               # Unit tests
coverage[toml]>=6.5
python >= 3.7
```
"""


def test_an_environment_in_columns_is_read() -> None:
    """Versions beside names are pins, without what every interpreter brings; names are normalised."""
    found = read_specification(COLUMNS)

    assert found.python == "3.11"
    assert found.pins == {
        "exceptiongroup": "1.3.0",
        "pyyaml": "6.0.2",
        "pytest": "8.4.1",
        "typing-extensions": "4.14.1",
    }
    assert found.wishes == ()


def test_a_drawn_tree_is_read() -> None:
    """Paths follow from how deep a name is drawn; comments are no names."""
    assert read_specification(COLUMNS).tree == {
        ".gitignore", "demo", "demo/__init__.py", "demo/inner", "demo/inner/deep.py", "setup.py",
    }  # fmt: skip


def test_requirements_are_read() -> None:
    """Lines of requirements are pins where they name one version, and wishes otherwise; comments go."""
    found = read_specification(REQUIREMENTS)

    assert found.python == "3.12"
    assert found.pins == {"pytest": "8.4.0"}
    assert found.wishes == ("demo>=25.0.0", "coverage>=6.5")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Nothing at all",
        "```python\nx == 1\nprint(x)\nfor a in b:\n    pass\n```",
        "```\n├──\n│   ├── ...\n```",
        "```\nname   not-a-version\n```",
        "The Python version used",
    ],
)
def test_what_cannot_be_read_is_absent(text: str) -> None:
    """Specifications err in places, and nothing is invented for them, nor raised."""
    found = read_specification(text)

    assert (found.python, found.pins, found.wishes, found.tree) == (None, {}, (), frozenset())
