"""A store of people with entity tags: the reference service of the task eve."""

import itertools
import threading
import uuid

from flask import Flask, Response, jsonify, request

app = Flask(__name__)
people: dict[str, dict[str, str]] = {}
numbers = itertools.count(1)
lock = threading.Lock()
FIELDS = ("firstname", "lastname", "role")


def answer(person: dict[str, str], status: int = 200) -> Response:
    """Return *person* with its tag in body and header."""
    response = jsonify(person)
    response.status_code = status
    response.headers["ETag"] = f'"{person["_etag"]}"'
    return response


def problem(status: int, message: str) -> tuple[Response, int]:
    """Return an error as JSON."""
    return jsonify({"_status": "ERR", "_error": {"code": status, "message": message}}), status


def given() -> dict[str, str] | None:
    """Return the known fields of the body; None when it is malformed."""
    body = request.get_json(silent=True)
    if not isinstance(body, dict) or any(not isinstance(body.get(name, ""), str) for name in FIELDS):
        return None
    return {name: body[name] for name in FIELDS if name in body}


def refusal(person: dict[str, str]) -> tuple[Response, int] | None:
    """Return what is wrong with the If-Match header."""
    tag = request.headers.get("If-Match")
    if tag is None:
        return problem(428, "If-Match is required")
    return None if tag.strip('"') == person["_etag"] else problem(412, "the entity tag does not match")


@app.get("/people")
def list_people():
    """Return all people."""
    return jsonify({"_items": list(people.values()), "_meta": {"total": len(people)}})


@app.post("/people")
def create_person():
    """Add a person."""
    fields = given()
    if fields is None or set(fields) != set(FIELDS):
        return problem(422, "firstname, lastname and role are required strings")
    with lock:
        person = {"_id": str(next(numbers)), "_etag": uuid.uuid4().hex, **fields}
        people[person["_id"]] = person
    return answer(person, 201)


@app.get("/people/<identifier>")
def read_person(identifier):
    """Return one person."""
    person = people.get(identifier)
    return answer(person) if person else problem(404, "no such person")


@app.put("/people/<identifier>")
def change_person(identifier):
    """Change some fields of a person."""
    with lock:
        person = people.get(identifier)
        if person is None:
            return problem(404, "no such person")
        if (refused := refusal(person)) is not None:
            return refused
        fields = given()
        if fields is None:
            return problem(422, "fields must be strings")
        person.update(fields, _etag=uuid.uuid4().hex)
        return answer(person)


@app.delete("/people/<identifier>")
def remove_person(identifier):
    """Remove a person."""
    with lock:
        person = people.get(identifier)
        if person is None:
            return problem(404, "no such person")
        if (refused := refusal(person)) is not None:
            return refused
        del people[identifier]
    return "", 204


if __name__ == "__main__":
    app.run(host="0.0.0.0", port=5001)
