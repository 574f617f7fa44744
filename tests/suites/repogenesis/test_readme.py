"""Endpoints out of READMEs: every way in which they are written, and the published thirty."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.suites.repogenesis.endpoints import specified_endpoints
from tests.suites.repogenesis.folders import published


def endpoints(readme: str) -> list[str]:
    """Return what is specified, as text."""
    return [str(endpoint) for endpoint in specified_endpoints(readme)]


@pytest.mark.parametrize(
    "line",
    [
        "GET /items/{id}",
        "### 3. GET /items/{id}",
        "- **API Name**: `GET /items/{id}`",
        "- `GET /items/{id}`: returns one (admins only).",
        "**GET** `/items/{id}`",
        "- Method and path: GET /items/{id}.",
        "| GET | /items/{id} | one item |",
        "| `/items/{id}` | `GET` | one item |",
        "| one item | **GET** | `/items/{id}` |",
        "### `/items/{id}` (GET)",
        "GET `http://localhost:8080/items/{id}?verbose=1`",
        "- Endpoint: `GET /items/:id`",
        "- GET /items/<int:id> - one item",
        "Endpoint: /items/{id}\nMethod: GET",
        "- **HTTP Method**: `GET`\n- **Path**: `/items/{id}`",
        "```\nGET /items/{id}\n```",
    ],
)
def test_every_way_of_writing_an_endpoint(line: str) -> None:
    """Headings, lists, tables, bold, backticks, pairs of lines and code blocks all specify."""
    assert endpoints(f"# Items\n\n{line}\n\nMore text.\n") == ["GET /items/{id}"]


def test_several_methods_in_one_place() -> None:
    """A list of methods specifies an endpoint each."""
    assert endpoints("- GET, PUT and DELETE `/items/{id}`") == [
        "GET /items/{id}",
        "PUT /items/{id}",
        "DELETE /items/{id}",
    ]
    assert endpoints("| /items | GET, POST |\n") == ["GET /items", "POST /items"]


@pytest.mark.parametrize(
    "base",
    [
        "- **Base Path**: `/api/v1`",
        "- **Base URL**: `http://localhost:8080/api/v1/`",
        "Namespace prefix: /api/v1",
        "All APIs are prefixed with `/api/v1`.",
    ],
)
def test_a_stated_base_path_is_part_of_paths(base: str) -> None:
    """It is put before paths, but not where the README writes them in full."""
    assert endpoints(f"{base}\n\nGET `/items`\n") == ["GET /api/v1/items"]
    assert endpoints(f"{base}\n\nGET `/api/v1/items` and GET `/health`\n") == ["GET /api/v1/items", "GET /health"]


@pytest.mark.parametrize("base", ["Base URL: http://localhost:8080", "Base Path: /", "Namespace prefix: none"])
def test_a_base_without_a_path_changes_nothing(base: str) -> None:
    """A host alone is no prefix."""
    assert endpoints(f"{base}\n\nGET `/items`\n") == ["GET /items"]


def test_examples_specify_nothing() -> None:
    """Quoted requests, values for parameters and curl commands add no endpoints."""
    readme = """
- POST `/rooms/{room}/messages`

```http
POST /rooms/r1/messages HTTP/1.1
GET /rooms HTTP/1.1
```

```
POST /rooms/r2/messages
```

```bash
curl -X DELETE http://localhost:8080/rooms/r1
```
"""
    assert endpoints(readme) == ["POST /rooms/{room}/messages"]


def test_prose_specifies_nothing() -> None:
    """Methods without paths and paths without methods are no endpoints."""
    readme = (
        'It supports GET and POST / PUT requests.\n\nThe form is `<form action="/results" method="POST">`.\n\n'
        "Files lie in /var/lib and are got by name. Get /etc/passwd never.\n\nTARGET /items\n"
    )
    assert endpoints(readme) == []


def test_pairs_do_not_reach_over_headings() -> None:
    """A path and a method of different sections are strangers."""
    assert endpoints("## A\nPath: /a\n## B\nMethod: GET\n") == []


def test_what_is_specified_twice_counts_once() -> None:
    """Repetitions and other names of parameters add nothing."""
    assert endpoints("GET /items/{id}\nGET /items/{item_id}\nGET /items/{id}/\n") == ["GET /items/{id}"]


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    """A README is anybody's text: reading it never fails, and gives each endpoint once."""
    found = specified_endpoints(text)
    assert len({endpoint.shape for endpoint in found}) == len(found)


@given(
    st.lists(
        st.sampled_from(
            [
                "GET",
                "POST",
                " ",
                "|",
                "`",
                "/",
                "{",
                "}",
                "<",
                ">",
                ":",
                "items",
                "\n",
                "```",
                "# ",
                "Path: ",
                "Method: ",
                "Base URL: ",
                "(",
                ")",
                "*",
                "?",
            ]
        ),
        max_size=60,
    )
)
def test_any_mixture_of_marks_can_be_read(pieces: list[str]) -> None:
    """Broken tables, fences and parameters do not break reading."""
    for endpoint in specified_endpoints("".join(pieces)):
        assert endpoint.path.startswith("/")


def test_the_published_readmes_specify_the_tables() -> None:
    """For each of the thirty, reading its README gives exactly the endpoints that people found in it."""
    for problem in published().problems:
        if problem.readme is not None and problem.task.endpoints:
            found = {str(endpoint) for endpoint in specified_endpoints(problem.readme)}
            assert found == set(map(str, problem.task.endpoints)), problem.task.id
