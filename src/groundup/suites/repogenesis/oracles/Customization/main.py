"""Favorites, likes and history of users: the reference service of the task Customization.

Nothing issues tokens, so every bearer token is a user of its own.
"""

import math
import secrets
import threading
from datetime import date, datetime, timedelta, timezone
from typing import Annotated, Any, Literal

import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as StarletteHTTPException

ContentType = Literal["post", "article", "product", "video"]
_WORDS = {400: "bad_request", 401: "unauthorized", 404: "not_found", 422: "validation_failed"}
app = FastAPI()
lock = threading.Lock()
favorites: list[dict[str, Any]] = []
likes: list[dict[str, Any]] = []
history: list[dict[str, Any]] = []


class NewFavorite(BaseModel):
    """What a favorite is made of."""

    content_id: str = Field(min_length=1)
    content_type: ContentType
    category: str | None = None


class NewLike(BaseModel):
    """What a like or unlike is made of."""

    content_id: str = Field(min_length=1)
    content_type: ContentType
    action: Literal["like", "unlike"]


class NewRecord(BaseModel):
    """What a record of history is made of; texts that are left out are empty."""

    action: Literal["view", "search", "share", "download"]
    content_id: str = ""
    content_type: str = ""
    metadata: dict[str, Any] = {}
    session_id: str = ""


def told(status: int, message: str, details: object = None) -> JSONResponse:
    """Return an error in the README's form."""
    body = {"error": _WORDS.get(status, "error"), "message": message, "details": details}
    return JSONResponse(body, status)


@app.exception_handler(StarletteHTTPException)
async def refused(request: Request, error: StarletteHTTPException) -> JSONResponse:
    return told(error.status_code, str(error.detail))


@app.exception_handler(RequestValidationError)
async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
    found = [{"field": ".".join(map(str, one["loc"])), "message": one["msg"]} for one in error.errors()]
    unreadable = any(one["type"] == "json_invalid" for one in error.errors())
    return told(400 if unreadable else 422, "The request is not valid", {"fields": found})


def visitor(authorization: str = Header(default="")) -> str | None:
    """Return the user of a bearer token; None: there is none."""
    scheme, _, token = authorization.partition(" ")
    return f"user_{token.strip()}" if scheme.lower() == "bearer" and token.strip() else None


def caller(user: Annotated[str | None, Depends(visitor)]) -> str:
    """Return who asks, or raise."""
    if user is None:
        raise HTTPException(401, "A bearer token is required")
    return user


Caller = Annotated[str, Depends(caller)]


def now() -> str:
    return datetime.now(timezone.utc).isoformat()


def entry(user: str, body: BaseModel) -> dict[str, Any]:
    """Return what is stored of *body*."""
    return {"id": secrets.token_hex(8), "user_id": user, **body.model_dump(), "created_at": now()}


def paged(name: str, found: list[dict[str, Any]], page: int, limit: int) -> dict[str, Any]:
    """Return a page of *found*, the newest first."""
    shown = found[::-1][(page - 1) * limit : page * limit]
    pages = math.ceil(len(found) / limit)
    pagination = {"page": page, "limit": limit, "total": len(found), "pages": pages}
    return {name: shown, "pagination": pagination}


def described(one: dict[str, Any], *fields: str) -> dict[str, Any]:
    """Return *one* with what would be known of its content."""
    texts = {"title": one["content_id"], "summary": f"{one['content_type']} {one['content_id']}", "thumbnail": ""}
    return {**one, "content_info": {name: texts[name] for name in fields}}


def removed(stored: list[dict[str, Any]], user: str, key: str) -> None:
    """Remove one of the user's, or raise."""
    with lock:
        found = next((one for one in stored if one["id"] == key and one["user_id"] == user), None)
        if found is None:
            raise HTTPException(404, "There is no such record")
        stored.remove(found)


@app.get("/health")
def health() -> dict[str, str]:
    """Say that it is well."""
    return {"status": "healthy"}


@app.post("/api/v1/favorites", status_code=201)
def add_favorite(body: NewFavorite, user: Caller) -> dict[str, Any]:
    """Add a favorite; the same content stays one."""
    with lock:
        same = [body.content_id, body.content_type, user]
        found = next((f for f in favorites if [f["content_id"], f["content_type"], f["user_id"]] == same), None)
        if found is not None:
            raise HTTPException(409, "This content is a favorite already")
        made = entry(user, body)
        favorites.append({**made, "updated_at": made["created_at"]})
        return favorites[-1]


@app.get("/api/v1/favorites")
def list_favorites(
    user: Caller,
    page: Annotated[int, Query(ge=1)] = 1,
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    content_type: ContentType | None = None,
    category: str | None = None,
) -> dict[str, Any]:
    """Return the user's favorites."""
    found = [
        described(one, "title", "summary", "thumbnail")
        for one in list(favorites)
        if one["user_id"] == user
        and content_type in (None, one["content_type"])
        and category in (None, one["category"])
    ]
    return paged("favorites", found, page, limit)


@app.delete("/api/v1/favorites/{favorite_id}")
def remove_favorite(favorite_id: str, user: Caller) -> dict[str, str]:
    """Remove a favorite."""
    removed(favorites, user, favorite_id)
    return {"message": "Favorite deleted"}


@app.post("/api/v1/likes", status_code=201)
def add_like(body: NewLike, user: Caller) -> dict[str, Any]:
    """Record a like or an unlike."""
    with lock:
        made = entry(user, body)
        likes.append({**made, "updated_at": made["created_at"]})
        return likes[-1]


@app.get("/api/v1/likes/stats/{content_id}")
def stats(content_id: str, user: Annotated[str | None, Depends(visitor)]) -> dict[str, Any]:
    """Return how often a content was liked."""
    found = [one for one in list(likes) if one["content_id"] == content_id]
    own = [one["action"] for one in found if one["user_id"] == user]
    return {
        "content_id": content_id,
        "content_type": found[-1]["content_type"] if found else None,
        "total_likes": sum(one["action"] == "like" for one in found),
        "total_unlikes": sum(one["action"] == "unlike" for one in found),
        "user_action": own[-1] if own else None,
    }


@app.get("/api/v1/likes/history")
def list_likes(
    user: Caller,
    page: Annotated[int, Query(ge=1)] = 1,
    limit: Annotated[int, Query(ge=1, le=50)] = 10,
    content_type: ContentType | None = None,
) -> dict[str, Any]:
    """Return what the user liked."""
    own = [one for one in list(likes) if one["user_id"] == user]
    return paged("likes", [one for one in own if content_type in (None, one["content_type"])], page, limit)


@app.post("/api/v1/history", status_code=201)
def record(body: NewRecord, user: Caller, request: Request) -> dict[str, Any]:
    """Record what a user did."""
    address = request.client.host if request.client else ""
    made = {**entry(user, body), "ip_address": address, "user_agent": request.headers.get("user-agent", "")}
    with lock:
        history.append(made)
    return made


def moment(text: str | None, *, ends: bool) -> datetime | None:
    """Return the moment of a date, at its end where that is asked, or of a date and time; or raise."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
        if ends and len(text) == len(date.min.isoformat()):
            found += timedelta(days=1, microseconds=-1)
    except ValueError as error:
        raise HTTPException(422, f"{text} is no date") from error
    # Without a zone it is this machine's, as that of callers beside it.
    return found.astimezone()


@app.get("/api/v1/history")
def list_history(
    user: Caller,
    page: Annotated[int, Query(ge=1)] = 1,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    action: str | None = None,
    content_type: str | None = None,
    session_id: str | None = None,
    start_date: str | None = None,
    end_date: str | None = None,
) -> dict[str, Any]:
    """Return what the user did."""
    wanted = {"action": action, "content_type": content_type, "session_id": session_id}
    start, end = moment(start_date, ends=False), moment(end_date, ends=True)
    found = []
    for one in history:
        at = datetime.fromisoformat(one["created_at"])
        if one["user_id"] != user or any(value not in (None, one[name]) for name, value in wanted.items()):
            continue
        if (start is None or at >= start) and (end is None or at <= end):
            found.append(described(one, "title", "summary"))
    return paged("history", found, page, limit)


@app.delete("/api/v1/history/{history_id}")
def remove_record(history_id: str, user: Caller) -> dict[str, str]:
    """Remove a record."""
    removed(history, user, history_id)
    return {"message": "History record deleted"}


@app.delete("/api/v1/history")
def clear(user: Caller) -> dict[str, Any]:
    """Remove all records of the user."""
    with lock:
        kept = [one for one in history if one["user_id"] != user]
        count = len(history) - len(kept)
        history[:] = kept
    return {"message": "History cleared", "deleted_count": count}


if __name__ == "__main__":
    uvicorn.run(app, host="0.0.0.0", port=8082)
