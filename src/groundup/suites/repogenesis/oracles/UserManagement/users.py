"""Users with roles and passwords: the reference service of the task UserManagement."""

import hashlib
import re
import secrets
import sqlite3
import threading
from datetime import datetime, timezone

from flask import Blueprint, Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException

app = Flask(__name__)
api = Blueprint("api", __name__, url_prefix="/api/v1")
lock = threading.Lock()
database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
database.row_factory = sqlite3.Row
database.execute("""CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY AUTOINCREMENT, username TEXT UNIQUE,
    email TEXT UNIQUE, password_hash TEXT, full_name TEXT, role TEXT, phone TEXT, status TEXT, created_at TEXT,
    updated_at TEXT)""")
LASTS_S = 3600
SHOWN = ("id", "username", "email", "full_name", "role", "phone", "status", "created_at", "updated_at")
ROLES, STATUSES = ("user", "admin", "moderator"), ("active", "inactive", "suspended")
LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
EMAIL = re.compile(rf"[A-Za-z0-9_%+-]+(?:\.[A-Za-z0-9_%+-]+)*@{LABEL}(?:\.{LABEL})*\.[A-Za-z]{{2,}}")
PHONE = re.compile(r"\+?[0-9](?:[ ().-]{0,2}[0-9]){6,19}")


class Problem(Exception):  # noqa: N818
    """An answer that is an error."""

    def __init__(self, status: int, code: str, message: str, **details: str) -> None:
        self.status, self.code, self.message, self.details = status, code, message, details


@app.errorhandler(Problem)
def told(problem: Problem) -> tuple[Response, int]:
    error = {"code": problem.code, "message": problem.message, "details": problem.details}
    return jsonify({"error": error}), problem.status


@app.errorhandler(HTTPException)
def refused(error: HTTPException) -> tuple[Response, int]:
    code = error.name.lower().replace(" ", "_")
    return jsonify({"error": {"code": code, "message": error.description}}), error.code


def ask(query: str, *values: object) -> list[dict]:
    with lock:
        return [dict(row) for row in database.execute(query, values)]


def now() -> str:
    return datetime.now(timezone.utc).isoformat()


def hashed(password: str, salt: str) -> str:
    return f"{salt}${hashlib.scrypt(password.encode(), salt=salt.encode(), n=2**11, r=8, p=1).hex()}"


def body() -> dict:
    read = request.get_json(force=True, silent=True)
    if not isinstance(read, dict):
        raise Problem(400, "invalid_request", "the body must be a JSON object")
    return read


def is_strong(password: object) -> bool:
    """At least three of: lower-case letters, upper-case letters, digits, others."""
    if not isinstance(password, str) or len(password) < 8:
        return False
    return sum(re.search(kind, password) is not None for kind in ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9]")) >= 3


CHECKS = {
    "username": lambda value: isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9_]{3,50}", value),
    "email": lambda value: isinstance(value, str) and len(value) <= 254 and EMAIL.fullmatch(value),
    "password": is_strong,
    "full_name": lambda value: isinstance(value, str) and value.strip() and len(value) <= 100,
    "role": lambda value: value in ROLES,
    "phone": lambda value: value in (None, "") or (isinstance(value, str) and PHONE.fullmatch(value)),
    "status": lambda value: value in STATUSES,
}


def checked(read: dict, required: tuple[str, ...], optional: tuple[str, ...]) -> dict:
    """Return the fields that count; what is wrong with others is nobody's matter."""
    absent = [name for name in required if name not in read]
    fields = {name: read[name] for name in (*required, *optional) if name in read}
    wrong = [name for name, value in fields.items() if not CHECKS[name](value)]
    if absent or wrong:
        details = {**dict.fromkeys(absent, "is required"), **dict.fromkeys(wrong, "is not valid")}
        raise Problem(422, "validation_error", "the data is not valid", **details)
    return fields


def found(number: int) -> dict:
    rows = ask("SELECT * FROM users WHERE id = ?", number)
    if not rows:
        raise Problem(404, "not_found", "there is no such user")
    return rows[0]


def shown(row: dict) -> dict:
    return {name: row[name] for name in SHOWN}


def written(query: str, *values: object) -> None:
    try:
        ask(query, *values)
    except sqlite3.IntegrityError as error:
        raise Problem(409, "conflict", "username or email exists already") from error


@api.post("/users")
def create() -> tuple[dict, int]:
    fields = checked(body(), ("username", "email", "password", "full_name", "role"), ("phone",))
    password = hashed(fields.pop("password"), secrets.token_hex(8))
    row = {"phone": None, **fields, "password_hash": password, "status": "active", "created_at": now()}
    row["updated_at"] = row["created_at"]
    written(f"INSERT INTO users ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", *row.values())
    return shown(ask("SELECT * FROM users WHERE username = ?", row["username"])[0]), 201


@api.get("/users")
def users() -> dict:
    page = max(1, request.args.get("page", 1, int))
    limit = min(100, max(1, request.args.get("limit", 10, int)))
    where, values = ["1"], []
    for name, choices in (("status", STATUSES), ("role", ROLES)):
        if wanted := request.args.get(name):
            if wanted not in choices:
                raise Problem(422, "validation_error", f"{name} must be one of {', '.join(choices)}")
            where.append(f"{name} = ?")
            values.append(wanted)
    if search := request.args.get("search"):
        where.append("instr(lower(username || char(10) || email || char(10) || full_name), lower(?)) > 0")
        values.append(search)
    chosen = " AND ".join(where)
    total = ask(f"SELECT count(*) AS n FROM users WHERE {chosen}", *values)[0]["n"]
    rows = ask(
        f"SELECT * FROM users WHERE {chosen} ORDER BY id LIMIT ? OFFSET ?", *values, limit, (page - 1) * limit
    )
    pagination = {"page": page, "limit": limit, "total": total, "pages": -(-total // limit)}
    return {"users": [shown(row) for row in rows], "pagination": pagination}


@api.get("/users/<int:number>")
def one(number: int) -> dict:
    return shown(found(number))


@api.put("/users/<int:number>")
def update(number: int) -> dict:
    found(number)
    fields = checked(body(), (), ("username", "email", "full_name", "role", "phone", "status"))
    fields["updated_at"] = now()
    written(
        f"UPDATE users SET {', '.join(f'{name} = ?' for name in fields)} WHERE id = ?", *fields.values(), number
    )
    return shown(found(number))


@api.delete("/users/<int:number>")
def remove(number: int) -> dict:
    found(number)
    ask("DELETE FROM users WHERE id = ?", number)
    return {"message": "User deleted successfully"}


@api.post("/users/<int:number>/reset-password")
def reset(number: int) -> dict:
    found(number)
    if not is_strong(body().get("new_password")):
        raise Problem(422, "validation_error", "the password is too weak", new_password="is not valid")
    password = hashed(body()["new_password"], secrets.token_hex(8))
    ask("UPDATE users SET password_hash = ?, updated_at = ? WHERE id = ?", password, now(), number)
    return {"message": "Password reset successfully"}


@api.post("/auth/login")
def login() -> dict:
    read = body()
    name, password = read.get("username"), read.get("password")
    if not (isinstance(name, str) and name and isinstance(password, str) and password):
        raise Problem(422, "validation_error", "username and password are required")
    rows = ask("SELECT * FROM users WHERE username = ?", name)
    salt = rows[0]["password_hash"].partition("$")[0] if rows else "none"
    if not rows or not secrets.compare_digest(rows[0]["password_hash"], hashed(password, salt)):
        raise Problem(401, "authentication_failed", "username or password is wrong")
    if rows[0]["status"] != "active":
        raise Problem(403, f"account_{rows[0]['status']}", f"this account is {rows[0]['status']}")
    token = secrets.token_urlsafe(32)
    told = {name: rows[0][name] for name in ("id", "username", "email", "role")}
    return {"access_token": token, "token_type": "Bearer", "expires_in": LASTS_S, "user": told}


@api.get("/health")
def health() -> dict:
    ask("SELECT 1")
    return {"status": "healthy", "timestamp": now(), "version": "1.0.0", "database": "connected"}


app.register_blueprint(api)
