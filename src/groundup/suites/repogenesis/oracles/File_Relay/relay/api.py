"""File upload, download and management: the reference service of the task File_Relay."""

import hashlib
import json
import logging
import re
import secrets
import shutil
from pathlib import PurePosixPath
from typing import Annotated

from fastapi import Depends, FastAPI, File, Form, Header, Request, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from starlette.exceptions import HTTPException

from relay.storage import Storage, now

log = logging.getLogger("relay")
app = FastAPI(redirect_slashes=False)
storage = Storage()
BASE = "/api/v1"
LARGEST = 100 * 1024 * 1024
KINDS = {
    "image": "jpg jpeg png gif bmp webp",
    "video": "mp4 avi mov mkv flv wmv",
    "document": "pdf doc docx txt xls xlsx ppt pptx",
    "archive": "zip rar tar gz 7z",
}
FORBIDDEN = set("exe dll com bat cmd msi scr sh ps1 vbs jar".split())
CODES = {400: "INVALID_REQUEST", 401: "UNAUTHORIZED", 403: "FORBIDDEN", 404: "NOT_FOUND", 405: "INVALID_REQUEST",
         409: "CONFLICT", 413: "FILE_TOO_LARGE", 415: "UNSUPPORTED_TYPE"}  # fmt: skip
LISTED = ("id", "filename", "size", "content_type", "upload_time", "uploader")


def problem(status: int, message: str, **details: object) -> JSONResponse:
    code = CODES.get(status, "INTERNAL_ERROR")
    return JSONResponse({"error": {"code": code, "message": message, "details": details}}, status)


@app.exception_handler(HTTPException)
async def failed(request: Request, error: HTTPException) -> JSONResponse:
    return problem(error.status_code, str(error.detail))


@app.exception_handler(RequestValidationError)
async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
    return problem(400, "invalid request", errors=[one["msg"] for one in error.errors()])


async def user(authorization: Annotated[str, Header()] = "") -> str:
    words = authorization.split()
    name = storage.user_of(words[1]) if len(words) == 2 and words[0].lower() == "bearer" else None
    if name is None:
        raise HTTPException(401, "a valid bearer token is required")
    return name


User = Annotated[str, Depends(user)]


async def body(request: Request) -> dict:
    try:
        read = await request.json()
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise HTTPException(400, "the body must be a JSON object")
    return read


Body = Annotated[dict, Depends(body)]


def existing(number: str) -> dict:
    found = storage.file(number)
    if found is None:
        raise HTTPException(404, "there is no such file")
    return found


def own(number: str, name: str) -> dict:
    found = existing(number)
    if found["uploader"] != name:
        raise HTTPException(403, "only the uploader may do this")
    return found


def shown(row: dict, *more: str) -> dict:
    told = {name: row[name] for name in (*LISTED, "description", *more)}
    return {**told, "tags": json.loads(row["tags"]), "download_url": f"{BASE}/files/{row['id']}/download"}


def bounded(text: str, name: str, least: int, most: int | None = None) -> int:
    number = int(text) if re.fullmatch(r"-?\d{1,9}", text) else least - 1
    if number < least or (most is not None and number > most):
        raise HTTPException(400, f"{name} must be a number from {least}" + (f" to {most}" if most else ""))
    return number


@app.get(f"{BASE}/health")
def health() -> dict:
    return {"status": "ok", "service": "file-relay", "version": "1.0.0"}


@app.post(f"{BASE}/auth/register", status_code=201)
def register(asked: Body) -> dict:
    name, password = asked.get("username"), asked.get("password")
    if not isinstance(name, str) or not re.fullmatch(r"\w{3,32}", name, re.ASCII):
        raise HTTPException(400, "username must have 3 to 32 letters, digits or underscores")
    if not isinstance(password, str) or len(password) < 8:
        raise HTTPException(400, "password must have 8 characters or more")
    made = storage.add_user(name, password)
    if made is None:
        raise HTTPException(409, "this username exists already")
    return made


@app.post(f"{BASE}/auth/login")
def login(asked: Body) -> dict:
    token = storage.login(str(asked.get("username")), str(asked.get("password")))
    if token is None:
        raise HTTPException(401, "username or password is wrong")
    return {"access_token": token, "token_type": "Bearer"}


@app.post(f"{BASE}/files", status_code=201)
def upload(
    name: User,
    file: Annotated[UploadFile, File()],
    description: Annotated[str, Form()] = "",
    tags: Annotated[str, Form()] = "",
) -> dict:
    filename = PurePosixPath((file.filename or "").replace("\\", "/")).name
    if not filename or filename == "..":
        raise HTTPException(400, "the file has no name")
    if len(description) > 500:
        raise HTTPException(400, "description may have 500 characters")
    ending = PurePosixPath(filename).suffix[1:].lower()
    if ending in FORBIDDEN:
        raise HTTPException(415, f"files of type .{ending} are not accepted")
    size = file.size or 0
    if size > LARGEST:
        raise HTTPException(413, "File size exceeds the maximum allowed limit of 100MB")
    number, checksum = f"file_{secrets.token_hex(8)}", hashlib.sha256()
    while piece := file.file.read(1024 * 1024):
        checksum.update(piece)
    file.file.seek(0)
    with storage.place(number).open("wb") as kept:
        shutil.copyfileobj(file.file, kept)
    row = {
        "id": number,
        "filename": filename,
        "size": size,
        "content_type": file.content_type or "application/octet-stream",
        "kind": next((kind for kind, endings in KINDS.items() if ending in endings.split()), "other"),
        "upload_time": now(),
        "uploader": name,
        "description": description,
        "tags": json.dumps([tag.strip() for tag in tags.split(",") if tag.strip()]),
        "checksum": f"sha256:{checksum.hexdigest()}",
    }
    storage.add_file(row)
    log.info("%s uploaded %s", name, number)
    return shown(row)


@app.get(f"{BASE}/files")
def files(name: User, page: str = "1", page_size: str = "20", file_type: str = "", uploader: str = "") -> dict:
    at, size = bounded(page, "page", 1), bounded(page_size, "page_size", 1, 100)
    if file_type and file_type not in (*KINDS, "other"):
        raise HTTPException(400, f"file_type must be one of {', '.join(KINDS)}, other")
    wanted = {"kind": file_type, "uploader": uploader}
    given = {column: value for column, value in wanted.items() if value}
    where = " AND ".join(f"{column} = ?" for column in given) or "1"
    rows, total = storage.page(where, list(given.values()), at, size)
    listed = [{one: row[one] for one in LISTED} for row in rows]
    pages = -(-total // size)
    return {"files": listed, "page": at, "page_size": size, "total": total, "total_pages": pages}


@app.get(f"{BASE}/files/search")
def search(name: User, q: str = "", page: str = "1", page_size: str = "20") -> dict:
    at, size = bounded(page, "page", 1), bounded(page_size, "page_size", 1, 100)
    if len(q.strip()) < 2:
        raise HTTPException(400, "q must have 2 characters or more")
    like = "%" + re.sub(r"([%_\\])", r"\\\1", q.strip()) + "%"
    where = r"filename LIKE ? ESCAPE '\' OR tags LIKE ? ESCAPE '\'"
    rows, total = storage.page(where, [like, like], at, size)
    listed = [{one: row[one] for one in LISTED} for row in rows]
    return {"files": listed, "query": q, "page": at, "page_size": size, "total": total}


@app.get(f"{BASE}/files/{{number}}")
def information(number: str, name: User) -> dict:
    return shown(existing(number), "checksum")


@app.get(f"{BASE}/files/{{number}}/download")
def download(number: str, name: User) -> FileResponse:
    row = existing(number)
    return FileResponse(storage.place(number), media_type=row["content_type"], filename=row["filename"])


@app.delete(f"{BASE}/files/{{number}}")
def remove(number: str, name: User) -> dict:
    own(number, name)
    storage.remove(number)
    log.info("%s removed %s", name, number)
    return {"success": True, "message": "File deleted successfully", "file_id": number}


@app.patch(f"{BASE}/files/{{number}}")
def update(number: str, name: User, asked: Body) -> dict:
    row = own(number, name)
    description = asked.get("description", row["description"])
    tags = asked.get("tags", json.loads(row["tags"]))
    if not isinstance(description, str) or len(description) > 500 or not isinstance(tags, list):
        raise HTTPException(400, "description must be text of 500 characters at most, tags a list")
    storage.update(number, description, json.dumps([str(tag) for tag in tags]))
    told = shown(existing(number))
    return {"success": True, "message": "File metadata updated successfully", "file": told}
