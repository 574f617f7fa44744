"""Bodies out of READMEs."""

from groundup.suites.repogenesis.endpoints import parse_endpoint
from groundup.suites.repogenesis.sample_bodies import sample_bodies

README = """
# Rooms
### `POST /api/users`
Request:
```json
{ "email": "string (required)", "age": "integer", "admin": "boolean", "role": "USER|ADMIN", "tags": ["string"],
  "level": "string (required, enum: ['low', 'high'])", "kind": "string (optional, draft|published)",
  "due": "string (optional, ISO 8601 format)" }
```
Response:
```json
{ "id": "string" }
```
- `PUT /api/users/{id}`
    - Input: `{ "nickname": "string", "level": number }` (optional fields)
    - Output: `User` (200 OK)
- `POST /api/users/{id}/ban`
    - Output: `{ "success": true }`
### Make a room
- **Method**: `POST`
- **Path**: `/api/rooms`
- **Input**: `{"name": "Blue", "address": {"street": "string"}}`
- `GET /api/rooms`: `{ "rooms": [] }`
"""


def bodies() -> dict[str, object]:
    """Return what README shows, by endpoint."""
    names = (
        "POST /api/users",
        "PUT /api/users/{id}",
        "POST /api/users/{id}/ban",
        "POST /api/rooms",
        "GET /api/rooms",
    )
    return {str(one): body for one, body in sample_bodies(README, map(parse_endpoint, names)).items()}


def test_words_for_types_become_values_and_values_stay() -> None:
    """JSON, or what looks like it, in blocks and on lines of a list, for endpoints on one line or on two."""
    assert bodies() == {
        "POST /api/users": {
            "email": "sample.person@example.com",
            "age": 1,
            "admin": True,
            "role": "USER",
            "tags": ["sample"],
            "level": "low",
            "kind": "draft",
            "due": "2024-01-02T03:04:05Z",
        },
        "PUT /api/users/{id}": {"nickname": "sample", "level": 1},
        "POST /api/rooms": {"name": "Blue", "address": {"street": "sample"}},
    }


def test_a_body_may_stand_on_the_line_of_its_endpoint() -> None:
    """Up to the next endpoint of the line; an answer is no body, and a parameter none either."""
    line = (
        '`GET /a`, `POST /a` with `{"text": "hi"}`, `POST /a/{id}` makes one, **PUT** `/a/{id}` with {"n": 1}.\n'
        '`POST /b` returns `{"id": 1}`\n| PATCH | `/c/{id}` | takes `{"on": true}` |\n'
    )
    names = ("POST /a", "POST /a/{id}", "PUT /a/{id}", "POST /b", "PATCH /c/{id}")

    assert {str(one): body for one, body in sample_bodies(line, map(parse_endpoint, names)).items()} == {
        "POST /a": {"text": "hi"},
        "PUT /a/{id}": {"n": 1},
        "PATCH /c/{id}": {"on": True},
    }


def test_hostile_text_gives_nothing() -> None:
    """Any text is read without failing."""
    endpoint = parse_endpoint("POST /a")

    assert sample_bodies("", [endpoint]) == {}
    assert sample_bodies("POST /a\n" + "{" * 5000, [endpoint]) == {}
    assert sample_bodies("POST /a\nInput: [1, 2]\n", [endpoint]) == {}
