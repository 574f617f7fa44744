"""What is known of a service's operations, from a document that it serves and from its sources."""

from pathlib import Path

from pydantic import JsonValue

from groundup.curation.services.handlers import Sources, merged
from groundup.curation.services.operations import Operation, read_openapi
from groundup.curation.services.samples import sample
from tests.curation.services.made import REPOSITORY
from tests.grading.library.laboratory import write_tree

DOCUMENT: JsonValue = {
    "openapi": "3.1.0",
    "paths": {
        "/pets/{pet_id}": {
            "parameters": [{"name": "pet_id", "in": "path", "schema": {"type": "integer"}}],
            "put": {
                "summary": "Change a pet",
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
                "responses": {"200": {"description": "changed"}},
                "security": [{"bearer": []}],
            },
        },
        "/pets": {"get": {"parameters": [{"name": "kind", "in": "query", "schema": {"enum": ["cat", "dog"]}}]}},
    },
    "components": {
        "schemas": {
            "Pet": {
                "allOf": [{"$ref": "#/components/schemas/Named"}],
                "type": "object",
                "required": ["age"],
                "properties": {
                    "age": {"type": "integer", "minimum": 3},
                    "note": {"anyOf": [{"type": "string", "maxLength": 4}, {"type": "null"}]},
                },
            },
            "Named": {"properties": {"name": {"type": "string"}}, "required": ["name"]},
        }
    },
}


def test_a_document_is_read_through_its_references() -> None:
    """Fields of all parts, alternatives that are not null, and who may ask."""
    change, listing = read_openapi(DOCUMENT)

    assert str(change) == "PUT /pets/{pet_id}"
    assert (change.told, change.secured, listing.secured) == ("Change a pet", True, False)
    assert [(one.name, one.kind, one.required) for one in change.body or ()] == [
        ("name", "string", True),
        ("age", "integer", True),
        ("note", "string", False),
    ]
    assert change.in_path[0].kind == "integer"
    assert listing.in_query[0].choices == ("cat", "dog")


def test_what_is_no_document_has_no_operations() -> None:
    """Whatever a service answers there."""
    answers: list[JsonValue] = [None, [], {"paths": 3}, {"paths": {"/x": []}}, {"paths": {"/x": {"get": 1}}}]
    for answer in answers:
        assert read_openapi(answer) == ()


def test_a_document_that_refers_to_itself_ends() -> None:
    """A reference in a circle, and one to nothing."""
    body: JsonValue = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Tree"}}}}
    tree: JsonValue = {"type": "object", "properties": {"left": {"$ref": "#/components/schemas/Tree"}}}
    document: JsonValue = {
        "paths": {"/t": {"post": {"requestBody": body}}},
        "components": {"schemas": {"Tree": tree}},
    }

    (found,) = read_openapi(document)

    assert [one.name for one in found.body or ()] == ["left"]
    assert read_openapi({"paths": {"/t": {"post": {"requestBody": {"$ref": "#/absent"}}}}})


def test_sources_tell_names_fields_and_words(tmp_path: Path) -> None:
    """Of each handler: what its path's parameters are called, and what it reads of a request."""
    write_tree(tmp_path, REPOSITORY)

    found = {str(one): one for one in Sources(tmp_path).operations()}

    assert set(found) == {"GET /health", "POST /notes", "GET /notes/{number}", "DELETE /notes/{number}"}
    body = found["POST /notes"].body or ()
    assert [(one.name, one.kind, one.required) for one in body] == [
        ("text", "string", True),
        ("done", "boolean", False),
    ]
    assert found["POST /notes"].told == "Keep a note, whose text is wanted."
    assert found["GET /notes/{number}"].in_path[0].kind == "integer"
    assert found["GET /health"].body is None


def test_a_document_goes_before_sources() -> None:
    """Paths that differ in the names of their parameters are one."""
    told = (Operation(method="GET", path="/a/{id}", told="as told"),)
    read = (Operation(method="GET", path="/a/{number}"), Operation(method="POST", path="/a"))

    assert [str(one) for one in merged(told, read)] == ["GET /a/{id}", "POST /a"]


def test_values_are_the_same_for_a_draw_and_hold_what_is_asked() -> None:
    """Two draws differ, bounds are kept."""
    change, _ = read_openapi(DOCUMENT)
    name, age, note = change.body or ()

    assert sample(name, "a") == sample(name, "a")
    assert len({str(sample(name, str(draw))) for draw in range(20)}) > 10
    assert all(int(str(sample(age, str(draw)))) >= 3 for draw in range(20))
    assert len(str(sample(note, "a"))) <= 4
