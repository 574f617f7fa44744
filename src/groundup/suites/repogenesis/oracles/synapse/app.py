"""Messages in rooms: the reference service of the task synapse."""

import hashlib
import re
import secrets
import threading
import time
from datetime import datetime, timezone

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException

LASTS_S = 3600
ROOM = re.compile(r"![A-Za-z0-9]+:[^:]+")
app = Flask(__name__)
lock = threading.Lock()
accounts: dict[str, tuple[bytes, bytes]] = {}
tokens: dict[str, tuple[str, float]] = {}
rooms: dict[str, list[dict]] = {}


class Problem(Exception):  # noqa: N818
    """An answer that is an error."""

    def __init__(self, status: int, error: str) -> None:
        self.status, self.error = status, error


@app.errorhandler(Problem)
def told(problem: Problem) -> tuple[Response, int]:
    return jsonify(error=problem.error), problem.status


@app.errorhandler(HTTPException)
def refused(error: HTTPException) -> tuple[Response, int]:
    return jsonify(error=error.description), error.code or 500


def given(required: dict[str, tuple[int, int]], optional: dict[str, tuple[int, int]]) -> dict:
    """Return the body, whose texts have the lengths of the README's schemas; or raise."""
    body = request.get_json(silent=True)
    bounds = {**required, **optional}
    if not isinstance(body, dict) or not required.keys() <= body.keys() <= bounds.keys():
        raise Problem(400, f"an object with {', '.join(required)} must be given, and nothing else")
    for name, value in body.items():
        least, most = bounds[name]
        if not isinstance(value, str) or not least <= len(value) <= most:
            raise Problem(400, f"{name} must be a text of {least} to {most} characters")
    return body


def hashed(word: str, salt: bytes) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", word.encode(), salt, 20_000)


def caller() -> str:
    """Return who asks, or raise."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    user, until = tokens.get(token, ("", 0.0))
    if scheme != "Bearer" or time.time() > until:
        raise Problem(401, "a valid bearer token is required")
    return user


def room(room_id: str) -> list[dict]:
    """Return the messages of a room, or raise where it is none."""
    if not ROOM.fullmatch(room_id):
        raise Problem(400, "a room is called such as !room123:example.org")
    return rooms.setdefault(room_id, [])


@app.get("/health")
def health() -> Response:
    moment = datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
    return jsonify(status="ok", service="synapse-benchmark", time=moment)


@app.post("/register")
def register() -> tuple[Response, int]:
    body = given({"username": (3, 64), "password": (6, 128)}, {"display_name": (1, 128)})
    name = body["username"]
    if ":" in name:
        raise Problem(400, "a username has no colon")
    salt = secrets.token_bytes(16)
    with lock:
        if name in accounts:
            raise Problem(409, "this username is taken")
        accounts[name] = (salt, hashed(body["password"], salt))
    return jsonify(user_id=f"@{name}:example.org"), 201


@app.post("/login")
def login() -> Response:
    body = given({"username": (0, 64), "password": (0, 128)}, {})
    salt, known = accounts.get(body["username"], (b"", b""))
    if not secrets.compare_digest(hashed(body["password"], salt), known):
        raise Problem(401, "username or password is wrong")
    token = secrets.token_urlsafe(24)
    tokens[token] = (f"@{body['username']}:example.org", time.time() + LASTS_S)
    return jsonify(access_token=token, token_type="Bearer", expires_in=LASTS_S)


@app.post("/rooms/<room_id>/messages")
def send(room_id: str) -> tuple[Response, int]:
    sender, messages = caller(), room(room_id)
    body = request.get_json(silent=True)
    content = body.get("content") if isinstance(body, dict) else None
    if not isinstance(content, dict) or body.keys() != {"type", "content"} or body["type"] != "m.text":
        raise Problem(400, "a message has the type m.text and a content")
    text = content.get("body")
    if content.keys() != {"body"} or not isinstance(text, str) or not 1 <= len(text) <= 4000:
        raise Problem(400, "a content is a body of 1 to 4000 characters")
    event, now = f"${secrets.token_hex(8)}", int(time.time() * 1000)
    with lock:
        messages.append({"event_id": event, "sender": sender, "type": "m.text", "content": content, "ts": now})
    return jsonify(event_id=event, room_id=room_id, ts=now), 201


@app.get("/rooms/<room_id>/messages")
def listed(room_id: str) -> Response:
    caller()
    messages = room(room_id)
    limit = request.args.get("limit", "20")
    if not limit.isdecimal() or not 1 <= int(limit) <= 100:
        raise Problem(400, "limit is a number from 1 to 100")
    return jsonify(room_id=room_id, messages=messages[-int(limit) :], next_cursor=None)


if __name__ == "__main__":
    app.run(host="0.0.0.0", port=8080, threaded=True)
