"""Rooms and messages: the reference service of the task Chatroom."""

import re
import secrets
import uuid
from datetime import datetime, timezone

from aiohttp import web

USERNAME = re.compile(r"[A-Za-z0-9_]{3,32}")
users: dict[str, dict] = {}
tokens: dict[str, str] = {}
rooms: dict[str, dict] = {}
routes = web.RouteTableDef()


def now() -> str:
    """Return the time in ISO 8601."""
    return datetime.now(timezone.utc).isoformat()


def refuse(status: int, message: str) -> web.HTTPException:
    """Return an exception that answers *status* with JSON."""
    kinds = {400: web.HTTPBadRequest, 401: web.HTTPUnauthorized, 403: web.HTTPForbidden, 404: web.HTTPNotFound}
    kind = kinds.get(status, web.HTTPConflict)
    return kind(text=f'{{"error": "{message}"}}', content_type="application/json")


async def body(request: web.Request) -> dict:
    """Return the request's object or raise."""
    try:
        given = await request.json()
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise refuse(400, "a JSON object is required")
    return given


def text(given: dict, name: str, least: int, most: int) -> str:
    """Return a string of a length or raise."""
    value = given.get(name)
    if not isinstance(value, str) or not least <= len(value) <= most:
        raise refuse(400, f"{name} has {least} to {most} characters")
    return value


def number(request: web.Request, name: str, default: int, most: int) -> int:
    """Return a number of the query or raise."""
    value = request.query.get(name, str(default))
    if not value.isdigit() or not 1 <= int(value) <= most:
        raise refuse(400, f"{name} is a number from 1 to {most}")
    return int(value)


def user_of(request: web.Request) -> str:
    """Return who asks or raise."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind != "Bearer" or token not in tokens:
        raise refuse(401, "a valid token is required")
    return tokens[token]


def room_of(request: web.Request) -> dict:
    """Return the room that is asked for or raise."""
    room = rooms.get(request.match_info["room_id"])
    if room is None:
        raise refuse(404, "no such room")
    return room


def member_of(request: web.Request, room: dict) -> str:
    """Return who asks when they joined *room*, or raise."""
    user = user_of(request)
    if user not in room["members"]:
        raise refuse(403, "join the room first")
    return user


@routes.get("/api/v1/health")
async def health(request: web.Request) -> web.Response:
    """Say that the service is well."""
    return web.json_response({"status": "ok", "service": "chatroom", "version": "1.0.0"})


@routes.post("/api/v1/auth/register")
async def register(request: web.Request) -> web.Response:
    """Add a user."""
    given = await body(request)
    name, password = text(given, "username", 3, 32), text(given, "password", 8, 200)
    if not USERNAME.fullmatch(name):
        raise refuse(400, "username has letters, digits and underscores")
    if name in users:
        raise refuse(409, "the name is taken")
    users[name] = {"id": str(uuid.uuid4()), "password": password}
    return web.json_response({"id": users[name]["id"], "username": name}, status=201)


@routes.post("/api/v1/auth/login")
async def login(request: web.Request) -> web.Response:
    """Give out a token."""
    given = await body(request)
    user = users.get(str(given.get("username")))
    if user is None or not secrets.compare_digest(user["password"], str(given.get("password"))):
        raise refuse(401, "wrong name or password")
    token = secrets.token_urlsafe(24)
    tokens[token] = given["username"]
    return web.json_response({"access_token": token})


@routes.post("/api/v1/rooms")
async def create_room(request: web.Request) -> web.Response:
    """Add a room."""
    user_of(request)
    name = text(await body(request), "name", 1, 64)
    if any(room["name"] == name for room in rooms.values()):
        raise refuse(409, "the name is taken")
    room = {"id": str(uuid.uuid4()), "name": name, "created_at": now(), "members": set(), "messages": []}
    rooms[room["id"]] = room
    return web.json_response({key: room[key] for key in ("id", "name", "created_at")}, status=201)


@routes.get("/api/v1/rooms")
async def list_rooms(request: web.Request) -> web.Response:
    """Return a page of rooms."""
    page, size = number(request, "page", 1, 10**6), number(request, "page_size", 20, 100)
    shown = list(rooms.values())[(page - 1) * size : page * size]
    told = [{"id": room["id"], "name": room["name"]} for room in shown]
    return web.json_response({"rooms": told, "page": page, "page_size": size, "total": len(rooms)})


@routes.post("/api/v1/rooms/{room_id}/join")
async def join(request: web.Request) -> web.Response:
    """Enter a room."""
    user = user_of(request)
    room_of(request)["members"].add(user)
    return web.json_response({"joined": True})


@routes.post("/api/v1/rooms/{room_id}/leave")
async def leave(request: web.Request) -> web.Response:
    """Leave a room."""
    user = user_of(request)
    room_of(request)["members"].discard(user)
    return web.json_response({"left": True})


@routes.post("/api/v1/rooms/{room_id}/messages")
async def send(request: web.Request) -> web.Response:
    """Say something in a room."""
    user_of(request)
    room = room_of(request)
    sender = member_of(request, room)
    content = text(await body(request), "content", 1, 1000)
    message = {"id": str(uuid.uuid4()), "sender": sender, "content": content, "timestamp": now()}
    room["messages"].append(message)
    return web.json_response({**message, "room_id": room["id"]}, status=201)


@routes.get("/api/v1/rooms/{room_id}/messages")
async def messages(request: web.Request) -> web.Response:
    """Return what was said in a room."""
    user_of(request)
    room = room_of(request)
    member_of(request, room)
    since, limit = request.query.get("since", ""), number(request, "limit", 50, 100)
    told = [message for message in room["messages"] if message["timestamp"] > since]
    return web.json_response({"messages": told[-limit:]})


if __name__ == "__main__":
    app = web.Application()
    app.add_routes(routes)
    web.run_app(app, host="0.0.0.0", port=8083)
