"""What is known of a service's operations, from a document that it serves and from its sources."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from groundup_factory.services.handlers import Sources, merged, written_documents
from groundup_factory.services.operations import Operation, read_openapi
from groundup_factory.services.proving import mutants_of
from groundup_factory.services.scenarios import named_kind, sample, written_accounts
from tests.grading.library.laboratory import write_tree
from tests.groundup_factory.services.made import REPOSITORY

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


def test_kinds_of_a_thing_that_are_all_of_it_end() -> None:
    """An animal is a cat, and a cat is all of an animal, with a name: each is read once."""
    schemas: JsonValue = {
        "Animal": {"type": "object", "oneOf": [{"$ref": "#/components/schemas/Cat"}]},
        "Cat": {"allOf": [{"$ref": "#/components/schemas/Animal"}, {"properties": {"name": {"type": "string"}}}]},
    }
    content: JsonValue = {"application/json": {"schema": {"$ref": "#/components/schemas/Animal"}}}
    paths: JsonValue = {"/animals": {"post": {"requestBody": {"content": content}}}}

    (found,) = read_openapi({"paths": paths, "components": {"schemas": schemas}})

    assert [field.name for field in found.body or ()] == ["name"]


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


RESTX = {
    "app.py": """
from flask import Flask, request
from flask_restx import Api, Resource

app = Flask(__name__)
api = Api(app)


@api.route("/notes")
class Notes(Resource):
    def get(self):
        return {"notes": [], "of": request.args.get("of")}

    @api.doc("add")
    def post(self):
        return {"text": request.json["text"]}, 201
""",
}
RESTFUL = {
    "app.py": """
from flask import Flask
from flask_restful import Api
from resources.notes import Notes

app = Flask(__name__)
api = Api(app)
api.add_resource(
    Notes,
    "/notes",
)
""",
    "resources/notes.py": """
from flask_restful import Resource, reqparse

parser = reqparse.RequestParser()
parser.add_argument("text", type=str, required=True)
parser.add_argument("stars", type=int)


class Notes(Resource):
    def post(self):
        args = parser.parse_args()
        return {"text": args["text"]}, 201
""",
}
RULES = {
    "app.py": """
from flask import Flask, request
from flask.views import MethodView

app = Flask(__name__)


class Notes(MethodView):
    def post(self):
        return {"text": request.get_json()["text"]}, 201


def health():
    return {"status": "well"}


view = Notes.as_view("notes")
app.add_url_rule("/notes", view_func=view)
app.add_url_rule("/health", "health", health)
""",
}
CONNEXION = {
    "config.py": 'import connexion\n\napp = connexion.App(__name__, specification_dir="./specs")\n',
    "views/notes.py": 'def add(body):\n    return {"text": body["text"]}, 201\n',
    "specs/api.yml": """
openapi: 3.0.1
servers:
  - url: http://localhost:5000/v1
paths:
  /notes/{number}:
    post:
      operationId: views.notes.add
      requestBody:
        content: {application/json: {schema: {type: object, properties: {text: {type: string}}}}}
      responses: {'201': {description: kept}}
""",
}
DJANGO = {
    "site/urls.py": """
from django.urls import path
from notes.views import NoteView, health

urlpatterns = [path("health", health), path("notes/<int:number>", NoteView.as_view())]
""",
    "notes/views.py": """
from rest_framework.views import APIView


def health(request):
    return {"status": "well"}


class NoteView(APIView):
    def delete(self, request, number):
        return {"gone": number}, 200
""",
}


@pytest.mark.parametrize(
    ("repository", "route", "place"),
    [
        (RESTX, ("POST", "/notes"), "app.py:post"),
        (RESTX, ("GET", "/notes"), "app.py:get"),
        (RESTFUL, ("POST", "/notes"), "resources/notes.py:post"),
        (RULES, ("POST", "/notes"), "app.py:post"),
        (RULES, ("GET", "/health"), "app.py:health"),
        (CONNEXION, ("POST", "/v1/notes/{}"), "views/notes.py:add"),
        (DJANGO, ("GET", "/health"), "notes/views.py:health"),
        (DJANGO, ("DELETE", "/notes/{}"), "notes/views.py:delete"),
    ],
)
def test_a_handler_is_found_and_can_be_changed(
    tmp_path: Path, repository: dict[str, str], route: tuple[str, str], place: str
) -> None:
    """Through classes, calls, other files and OpenAPI documents; what is changed is the file of the handler."""
    write_tree(tmp_path, repository)
    sources = Sources(tmp_path)

    declared = next(one for one in sources.routes if one.path == route[1] and one.method in (route[0], "*"))
    handler = sources.handler(declared._replace(method=route[0]))

    assert handler is not None
    assert f"{handler.file}:{handler.function.name}" == place
    changed = [one for one in mutants_of(tmp_path, [route], 20) if one.kind == "field"]
    assert {one.file for one in changed} == {handler.file}


def test_a_class_is_asked_for_what_its_parser_reads(tmp_path: Path) -> None:
    """Arguments of Flask-RESTful's parsers are fields of the body."""
    write_tree(tmp_path, RESTFUL)

    (add,) = Sources(tmp_path).operations()

    assert [(one.name, one.kind, one.required) for one in add.body or ()] == [
        ("text", "string", True),
        ("stars", "integer", False),
    ]


def test_a_document_in_a_file_tells_of_its_operations(tmp_path: Path) -> None:
    """With the path that stands before all others, and the fields of bodies."""
    write_tree(tmp_path, CONNEXION)

    (add,) = Sources(tmp_path).told

    assert str(add) == "POST /v1/notes/{number}"
    assert [one.name for one in add.body or ()] == ["text"]


def test_an_address_that_is_none_has_no_path(tmp_path: Path) -> None:
    """A document for people has places for a host in it."""
    document = {"openapi": "3.0.0", "servers": [{"url": "https://[host]/v1"}], "paths": {"/a": {"get": {}}}}
    write_tree(tmp_path, {"openapi.json": json.dumps(document)})

    (found,) = written_documents(tmp_path)

    assert [str(one) for one in found.operations] == ["GET /a"]


def test_fields_within_fields_are_read(tmp_path: Path) -> None:
    """A body whose fields stand in an object of it, by whatever names the handler gives to both."""
    handler = """
from flask import Flask, request

app = Flask(__name__)


@app.route("/notes", methods=["POST"])
def add():
    data = request.get_json()
    data = data["note"]
    text = data["text"]
    return {"text": text.strip(), "by": data["author"].get("name"), "draft": request.json.get("draft")}
"""
    write_tree(tmp_path, {"app.py": handler})

    (add,) = Sources(tmp_path).operations()

    note, draft = sorted(add.body or (), key=lambda one: one.name, reverse=True)
    assert (note.kind, note.required, draft.required) == ("object", True, False)
    assert [(one.name, one.kind) for one in note.fields] == [("text", "string"), ("author", "object")]
    assert [one.name for one in note.fields[1].fields] == ["name"]


def test_a_name_tells_the_kind_of_a_field() -> None:
    """Numbers of other things are spelt in two ways."""
    assert [named_kind(name) for name in ("user_id", "userId", "grid", "is_open")] == [
        *("integer", "integer", "string", "boolean")
    ]


def test_accounts_are_read_from_readme_and_sources(tmp_path: Path) -> None:
    """Commands of curl, tables of users, and functions that compare."""
    write_tree(
        tmp_path,
        {
            "README.md": "    $ curl -u miguel:python -i http://localhost:5000/todo\n",
            "app.py": 'users = {"john": generate_password_hash("hello")}\n\n\n'
            "@auth.get_password\ndef get_password(name):\n"
            '    if name == "ann":\n        return "secret"\n    return None\n',
        },
    )

    assert written_accounts(tmp_path) == (("miguel", "python"), ("john", "hello"), ("ann", "secret"))
