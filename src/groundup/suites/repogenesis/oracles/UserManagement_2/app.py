"""Accounts with tokens: the reference service of the task UserManagement_2."""

import hashlib
import itertools
import re
import secrets
import threading
import time
from datetime import datetime, timezone

import jwt
from flask import Blueprint, Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException

app = Flask(__name__)
api = Blueprint("api", __name__, url_prefix="/api/v1")
lock = threading.Lock()
accounts: dict[int, dict] = {}
numbers = itertools.count(1)
SECRET, LASTS_S = secrets.token_hex(32), 3600
LENGTHS = {"username": (3, 20), "password": (6, 50), "full_name": (0, 100)}
NAME = re.compile(r"[\w.-]+")
EMAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+")
SHOWN = ("user_id", "username", "email", "full_name")


class Problem(Exception):  # noqa: N818
    """An answer that is an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code, self.message = status, code, message


@app.errorhandler(Problem)
def told(problem: Problem) -> tuple[Response, int]:
    return jsonify(success=False, message=problem.message, error_code=problem.code), problem.status


@app.errorhandler(HTTPException)
def refused(error: HTTPException) -> tuple[Response, int]:
    return jsonify(success=False, message=error.description, error_code=error.name.upper()), error.code or 500


def given(*wanted: str) -> dict:
    """Return the body, in which each of *wanted* is there and all are as they should be."""
    body = request.get_json(silent=True)
    if not isinstance(body, dict):
        raise Problem(400, "INVALID_BODY", "a JSON object is required")
    for name in wanted:
        if not body.get(name):
            raise Problem(400, "VALIDATION_ERROR", f"{name} is required")
    for name in ("username", "email", "password", "full_name"):
        if body.get(name) is not None and not fits(name, body[name]):
            raise Problem(400, "VALIDATION_ERROR", f"{name} is not valid")
    return body


def fits(name: str, value: object) -> bool:
    if not isinstance(value, str):
        return False
    if name == "email":
        return EMAIL.fullmatch(value) is not None
    if name == "username" and NAME.fullmatch(value) is None:
        return False
    least, most = LENGTHS[name]
    return least <= len(value) <= most


def hashed(password: str, salt: bytes) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 20_000)


def now() -> str:
    return datetime.now(timezone.utc).isoformat()


def taken(name: str, value: str, but: int = 0) -> bool:
    return any(one[name] == value and number != but for number, one in accounts.items())


def shown(account: dict, *more: str) -> dict:
    return {name: account[name] for name in (*SHOWN, *more)}


@app.get("/health")
def health() -> Response:
    return jsonify(status="ok")


@api.post("/users/register")
def register() -> tuple[Response, int]:
    body = given("username", "email", "password")
    with lock:
        for name in ("username", "email"):
            if taken(name, body[name]):
                raise Problem(400, "DUPLICATE", f"this {name} already exists")
        number, salt, moment = next(numbers), secrets.token_bytes(16), now()
        accounts[number] = {
            "user_id": number, "username": body["username"], "email": body["email"],
            "full_name": body.get("full_name"), "created_at": moment, "updated_at": moment,
            "salt": salt, "password": hashed(body["password"], salt),
        }  # fmt: skip
    return jsonify(success=True, message="registered", data=shown(accounts[number], "created_at")), 201


@api.post("/users/login")
def login() -> Response:
    body = request.get_json(silent=True)
    if not isinstance(body, dict) or not isinstance(body.get("username"), str):
        raise Problem(400, "VALIDATION_ERROR", "username is required")
    if not isinstance(body.get("password"), str):
        raise Problem(400, "VALIDATION_ERROR", "password is required")
    account = next((one for one in accounts.values() if one["username"] == body["username"]), None)
    if account is None or hashed(body["password"], account["salt"]) != account["password"]:
        raise Problem(401, "INVALID_CREDENTIALS", "invalid credentials")
    claims = {"sub": str(account["user_id"]), "exp": int(time.time()) + LASTS_S}
    token = jwt.encode(claims, SECRET, algorithm="HS256")
    data = {"access_token": token, "token_type": "Bearer", "expires_in": LASTS_S, "user": shown(account)}
    return jsonify(success=True, message="logged in", data=data)


def own(number: int) -> dict:
    """Return the account *number*, which must be the caller's."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind != "Bearer" or not token:
        raise Problem(401, "UNAUTHORIZED", "an authorization token is required")
    try:
        caller = jwt.decode(token, SECRET, algorithms=["HS256"])["sub"]
    except jwt.PyJWTError:
        raise Problem(401, "INVALID_TOKEN", "this token is not valid") from None
    if number not in accounts:
        raise Problem(404, "NOT_FOUND", "there is no such user")
    if caller != str(number):
        raise Problem(403, "FORBIDDEN", "this is another user")
    return accounts[number]


@api.get("/users/<int:number>")
def show(number: int) -> Response:
    return jsonify(success=True, message="found", data=shown(own(number), "created_at", "updated_at"))


@api.put("/users/<int:number>")
def change(number: int) -> Response:
    account, body = own(number), given()
    with lock:
        if "email" in body and taken("email", body["email"], but=number):
            raise Problem(400, "DUPLICATE", "this email already exists")
        account.update({name: body[name] for name in ("email", "full_name") if name in body}, updated_at=now())
    return jsonify(success=True, message="changed", data=shown(account, "updated_at"))


@api.delete("/users/<int:number>")
def remove(number: int) -> Response:
    own(number)
    with lock:
        accounts.pop(number, None)
    return jsonify(success=True, message="removed")


app.register_blueprint(api)

if __name__ == "__main__":
    app.run(host="0.0.0.0", port=8080, threaded=True)
