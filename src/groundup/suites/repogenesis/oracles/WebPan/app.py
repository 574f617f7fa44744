"""Files with links to share: the reference service of the task WebPan."""

import hashlib
import io
import mimetypes
import secrets
import threading
import time
from datetime import datetime, timezone

from flask import Blueprint, Flask, Response, jsonify, request, send_file
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

LARGEST, QUOTA, LASTS_S = 100 * 1024**2, 10 * 1024**3, 3600
ORDERS = {"name": "filename", "size": "size", "upload_time": "upload_time"}
app = Flask(__name__)
app.config["MAX_CONTENT_LENGTH"] = LARGEST * 10
api = Blueprint("api", __name__, url_prefix="/api/v1")
lock = threading.Lock()
accounts: dict[str, dict] = {}
tokens: dict[str, tuple[str, float]] = {}
stored: dict[str, dict] = {}
shares: dict[str, dict] = {}


class Problem(Exception):  # noqa: N818
    """An answer that is an error."""

    def __init__(self, status: int, code: str, error: str) -> None:
        self.status, self.code, self.error = status, code, error


@app.errorhandler(Problem)
def told(problem: Problem) -> tuple[Response, int]:
    return jsonify(success=False, error=problem.error, error_code=problem.code), problem.status


@app.errorhandler(HTTPException)
def refused(error: HTTPException) -> tuple[Response, int]:
    code = "FILE_TOO_LARGE" if isinstance(error, RequestEntityTooLarge) else error.name.upper().replace(" ", "_")
    return jsonify(success=False, error=error.description, error_code=code), error.code or 500


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")


def hashed(word: str, salt: bytes) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", word.encode(), salt, 20_000)


def given(*wanted: str) -> dict:
    body = request.get_json(silent=True)
    if not isinstance(body, dict) or not all(isinstance(body.get(name), str) and body[name] for name in wanted):
        raise Problem(400, "INVALID_FORMAT", f"{' and '.join(wanted) or 'an object'} must be given")
    return body


def caller() -> str:
    """Return the id of who asks."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind != "Bearer" or not token:
        raise Problem(401, "AUTH_REQUIRED", "a token is required")
    user, until = tokens.get(token, ("", 0.0))
    if time.time() > until:
        raise Problem(401, "AUTH_INVALID", "this token is not valid")
    return user


def own(file_id: str) -> dict:
    user, found = caller(), stored.get(file_id)
    if found is None or found["owner_id"] != user:
        raise Problem(404, "FILE_NOT_FOUND", "File not found")
    return found


def used(user: str) -> int:
    return sum(one["size"] for one in list(stored.values()) if one["owner_id"] == user)


@api.get("/health")
def health() -> Response:
    return jsonify(status="ok")


@api.post("/auth/register")
def register() -> Response:
    body = given("username", "password", "email")
    salt = secrets.token_bytes(16)
    with lock:
        if body["username"] in accounts:
            raise Problem(409, "INVALID_FORMAT", "this name is taken")
        account = {"user_id": secrets.token_hex(8), "salt": salt, "password": hashed(body["password"], salt)}
        accounts[body["username"]] = account
    return jsonify(success=True, message="User registered successfully", user_id=account["user_id"])


@api.post("/auth/login")
def login() -> Response:
    body = given("username", "password")
    account = accounts.get(body["username"])
    if account is None or hashed(body["password"], account["salt"]) != account["password"]:
        raise Problem(401, "AUTH_INVALID", "wrong name or password")
    token = secrets.token_urlsafe(32)
    tokens[token] = (account["user_id"], time.time() + LASTS_S)
    return jsonify(success=True, token=token, user_id=account["user_id"], expires_in=LASTS_S)


def kept(sent: FileStorage, user: str) -> dict:
    """Store what was sent."""
    content, name = sent.stream.read(LARGEST + 1), sent.filename or "file"
    if len(content) > LARGEST:
        raise Problem(413, "FILE_TOO_LARGE", "a file has 100 MB at most")
    with lock:
        if used(user) + len(content) > QUOTA:
            raise Problem(413, "QUOTA_EXCEEDED", "no room is left")
        file_id = secrets.token_hex(12)
        stored[file_id] = {
            "file_id": file_id, "filename": name, "size": len(content), "content": content, "owner_id": user,
            "mime_type": sent.mimetype or mimetypes.guess_type(name)[0] or "application/octet-stream",
            "upload_time": moment(time.time()), "download_count": 0, "folder_id": request.form.get("folder_id"),
        }  # fmt: skip
    return stored[file_id]


def link(file_id: str) -> str:
    return f"/api/v1/files/{file_id}/download"


@api.post("/files/upload")
def upload() -> Response:
    user, sent = caller(), request.files.get("file")
    if sent is None:
        raise Problem(400, "INVALID_FORMAT", "a file must be given")
    made = kept(sent, user)
    told = {name: made[name] for name in ("file_id", "filename", "size", "upload_time")}
    return jsonify(success=True, download_url=link(made["file_id"]), **told)


@api.post("/files/upload-multiple")
def upload_several() -> Response:
    user, done, failed = caller(), [], []
    for sent in request.files.getlist("files"):
        try:
            made = kept(sent, user)
        except Problem as problem:
            failed.append({"filename": sent.filename, "error": problem.error})
        else:
            done.append({name: made[name] for name in ("file_id", "filename", "size")} | {"status": "success"})
    return jsonify(success=True, uploaded_files=done, failed_files=failed)


@api.get("/files/<file_id>/download")
def download(file_id: str) -> Response:
    shared = shares.get(request.args.get("share_token", ""))
    found = stored.get(file_id) if shared and shared["file_id"] == file_id and lasts(shared) else own(file_id)
    if found is None:
        raise Problem(404, "FILE_NOT_FOUND", "File not found")
    found["download_count"] += 1
    return send_file(io.BytesIO(found["content"]), found["mime_type"], download_name=found["filename"])


def described(found: dict, *more: str) -> dict:
    names = ("file_id", "filename", "size", "mime_type", "upload_time", "download_count", *more)
    return {name: found[name] for name in names}


@api.get("/files/<file_id>/info")
def info(file_id: str) -> Response:
    return jsonify(success=True, **described(own(file_id), "owner_id"))


@api.get("/files")
def listed() -> Response:
    user, folder = caller(), request.args.get("folder_id")
    try:
        page, limit = (int(request.args.get(name, usual)) for name, usual in (("page", 1), ("limit", 20)))
        key = ORDERS[request.args.get("sort_by", "upload_time")]
    except (ValueError, KeyError):
        raise Problem(400, "INVALID_FORMAT", "page, limit or sort_by is not valid") from None
    if page < 1 or limit < 1:
        raise Problem(400, "INVALID_FORMAT", "pages and limits begin at 1")
    mine = [one for one in list(stored.values()) if one["owner_id"] == user and folder in (None, one["folder_id"])]
    mine.sort(key=lambda one: one[key], reverse=request.args.get("order") == "desc")
    pages = {"page": page, "limit": limit, "total": len(mine), "pages": -(-len(mine) // limit)}
    shown = [described(one) for one in mine[(page - 1) * limit : page * limit]]
    return jsonify(success=True, files=shown, pagination=pages)


@api.delete("/files/<file_id>")
def remove(file_id: str) -> Response:
    own(file_id)
    stored.pop(file_id, None)
    return jsonify(success=True, message="File deleted successfully")


@api.put("/files/<file_id>/rename")
def rename(file_id: str) -> Response:
    found = own(file_id)
    found["filename"] = given("new_name")["new_name"]
    return jsonify(success=True, message="File renamed successfully", new_filename=found["filename"])


@api.post("/files/<file_id>/share")
def share(file_id: str) -> Response:
    own(file_id)
    body = given()
    lasting, salt, word = body.get("expires_in", LASTS_S), secrets.token_bytes(16), body.get("password")
    if not isinstance(lasting, (int, float)) or lasting <= 0 or not isinstance(word, (str, type(None))):
        raise Problem(400, "INVALID_FORMAT", "expires_in or password is not valid")
    share_id, until = secrets.token_urlsafe(12), time.time() + lasting
    shares[share_id] = {
        "file_id": file_id, "until": until, "salt": salt, "count": 0,
        "password": hashed(word, salt) if word else None,
    }  # fmt: skip
    return jsonify(
        success=True,
        share_id=share_id,
        share_url=f"/api/v1/share/{share_id}",
        expires_at=moment(until),
        access_count=0,
    )


def lasts(shared: dict) -> bool:
    return time.time() < shared["until"]


@api.get("/share/<share_id>")
def opened(share_id: str) -> Response:
    shared = shares.get(share_id)
    found = stored.get(shared["file_id"]) if shared else None
    if shared is None or found is None:
        raise Problem(404, "SHARE_NOT_FOUND", "Share link not found")
    if not lasts(shared):
        raise Problem(410, "SHARE_EXPIRED", "Share link expired")
    word = request.args.get("password", "")
    if shared["password"] is not None and hashed(word, shared["salt"]) != shared["password"]:
        raise Problem(401, "AUTH_INVALID" if word else "AUTH_REQUIRED", "the password of the link is required")
    shared["count"] += 1
    told = {name: found[name] for name in ("filename", "size", "mime_type")}
    return jsonify(success=True, file_info=told, download_url=f"{link(found['file_id'])}?share_token={share_id}")


@api.delete("/share/<share_id>")
def closed(share_id: str) -> Response:
    user, shared = caller(), shares.get(share_id)
    found = stored.get(shared["file_id"]) if shared else None
    if found is None or found["owner_id"] != user:
        raise Problem(404, "SHARE_NOT_FOUND", "Share link not found")
    shares.pop(share_id, None)
    return jsonify(success=True, message="Share link deleted successfully")


@api.get("/storage/quota")
def quota() -> Response:
    space = used(caller())
    share = round(100 * space / QUOTA, 1)
    return jsonify(
        success=True, used_space=space, total_space=QUOTA, available_space=QUOTA - space, usage_percentage=share
    )


app.register_blueprint(api)

if __name__ == "__main__":
    app.run(host="0.0.0.0", port=8080, threaded=True)
