"""Rooms, scores and game states: the reference service of the task GameBackend."""

import threading
import uuid
from datetime import datetime, timedelta, timezone

from flask import Flask, jsonify, request

app = Flask(__name__)
lock = threading.RLock()
rooms: dict[str, dict] = {}
scores: dict[tuple[str, str], dict] = {}
states: dict[str, dict] = {}
GAMES = ("battle", "coop", "puzzle")
ACTIONS = ("move", "attack", "defend", "end_turn", "game_over")
SPANS = {"daily": timedelta(days=1), "weekly": timedelta(weeks=1), "monthly": timedelta(days=30), "all": None}


class Problem(Exception):  # noqa: N818
    """A request that cannot be met."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@app.errorhandler(Problem)
def problem(error: Problem):
    """Return what is wrong."""
    return jsonify({"error": {"code": str(error.status), "message": str(error)}}), error.status


def now() -> str:
    """Return the time in ISO 8601."""
    return datetime.now(timezone.utc).isoformat()


def body() -> dict:
    """Return the request's object or raise."""
    given = request.get_json(silent=True)
    if not isinstance(given, dict):
        raise Problem(400, "a JSON object is required")
    return given


def text(given: dict, name: str, most: int) -> str:
    """Return a string of a length or raise."""
    value = given.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= most:
        raise Problem(400, f"{name} has 1 to {most} characters")
    return value


def identifier(value: object, name: str) -> str:
    """Return a UUID or raise."""
    try:
        return str(uuid.UUID(str(value)))
    except ValueError:
        raise Problem(400, f"{name} is no UUID") from None


def one_of(value: object, choices: tuple[str, ...], name: str) -> str:
    """Return one of *choices* or raise."""
    if value not in choices:
        raise Problem(400, f"{name} is one of {', '.join(choices)}")
    return str(value)


def whole(value: object, least: int, most: int, name: str) -> int:
    """Return an integer within bounds or raise."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Problem(400, f"{name} is an integer from {least} to {most}")
    return value


def asked(name: str, default: int, most: int) -> int:
    """Return an integer of the query or raise."""
    given = request.args.get(name, str(default))
    return whole(int(given) if given.isdigit() else None, 1, most, name)


def room_of(room_id: object) -> dict:
    """Return a room or raise."""
    room = rooms.get(identifier(room_id, "room_id"))
    if room is None:
        raise Problem(404, "no such room")
    return room


def shown(room: dict) -> dict:
    """Return what everybody may see of a room."""
    hidden = ("password", "players")
    return {**{key: room[key] for key in room if key not in hidden}, "current_players": len(room["players"])}


@app.post("/api/v1/rooms")
def create_room():
    """Add a room; whoever creates it is in it."""
    given = body()
    password = given.get("password")
    creator = str(uuid.uuid4())
    room = {
        "room_id": str(uuid.uuid4()),
        "room_name": text(given, "room_name", 50),
        "max_players": whole(given.get("max_players"), 2, 8, "max_players"),
        "game_type": one_of(given.get("game_type"), GAMES, "game_type"),
        "password": None if password is None else text(given, "password", 20),
        "status": "waiting",
        "created_at": now(),
        "creator_id": creator,
        "players": {creator: player(creator, "creator")},
    }
    with lock:
        rooms[room["room_id"]] = room
        return jsonify(shown(room)), 201


def player(player_id: str, name: str) -> dict:
    """Return a new player."""
    return {"player_id": player_id, "player_name": name, "joined_at": now(), "is_ready": False}


@app.get("/api/v1/rooms")
def list_rooms():
    """Return a page of rooms."""
    page, limit = asked("page", 1, 10**6), asked("limit", 10, 1000)
    game, status = request.args.get("game_type"), request.args.get("status")
    if game is not None:
        one_of(game, GAMES, "game_type")
    if status is not None:
        one_of(status, ("waiting", "playing"), "status")
    with lock:
        chosen = [
            shown(room)
            for room in rooms.values()
            if game in (None, room["game_type"]) and status in (None, room["status"])
        ]
    pagination = {"page": page, "limit": limit, "total": len(chosen), "total_pages": -(-len(chosen) // limit)}
    return jsonify({"rooms": chosen[(page - 1) * limit : page * limit], "pagination": pagination})


@app.post("/api/v1/rooms/<room_id>/join")
def join(room_id):
    """Enter a room."""
    given = body()
    player_id, name = identifier(given.get("player_id"), "player_id"), text(given, "player_name", 30)
    with lock:
        room = room_of(room_id)
        if room["password"] not in (None, given.get("password")):
            raise Problem(403, "wrong password")
        if player_id in room["players"]:
            raise Problem(409, "the player is in the room")
        if len(room["players"]) >= room["max_players"]:
            raise Problem(409, "the room is full")
        room["players"][player_id] = player(player_id, name)
        info = {**shown(room), "players": list(room["players"].values())}
    return jsonify({"success": True, "message": "joined", "room_info": info})


@app.post("/api/v1/rooms/<room_id>/leave")
def leave(room_id):
    """Leave a room."""
    player_id = identifier(body().get("player_id"), "player_id")
    with lock:
        if room_of(room_id)["players"].pop(player_id, None) is None:
            raise Problem(404, "the player is not in the room")
    return jsonify({"success": True, "message": "left"})


def ranking(game: str | None = None, span: timedelta | None = None) -> list[dict]:
    """Return the scores, the best first, with their ranks."""
    since = "" if span is None else (datetime.now(timezone.utc) - span).isoformat()
    chosen = [one for one in scores.values() if game in (None, one["game_type"]) and one["updated_at"] >= since]
    chosen.sort(key=lambda one: -one["score"])
    return [{"rank": rank, **one} for rank, one in enumerate(chosen, 1)]


@app.post("/api/v1/leaderboard/score")
def submit_score():
    """Take a score in."""
    given = body()
    record = {
        "player_id": identifier(given.get("player_id"), "player_id"),
        "player_name": text(given, "player_name", 30),
        "score": whole(given.get("score"), 0, 2**53, "score"),
        "game_type": one_of(given.get("game_type"), GAMES, "game_type"),
        "updated_at": now(),
    }
    if "room_id" in given:
        identifier(given["room_id"], "room_id")
    with lock:
        scores[record["player_id"], record["game_type"]] = record
        rank = next(one["rank"] for one in ranking(record["game_type"]) if one["player_id"] == record["player_id"])
    return jsonify({"success": True, "message": "taken", "player_rank": rank, "score": record["score"]})


@app.get("/api/v1/leaderboard")
def leaderboard():
    """Return the best scores."""
    game, span = request.args.get("game_type", "all"), request.args.get("time_range", "all")
    one_of(game, (*GAMES, "all"), "game_type")
    one_of(span, tuple(SPANS), "time_range")
    limit = asked("limit", 100, 1000)
    with lock:
        ranked = ranking(None if game == "all" else game, SPANS[span])
    told = {"leaderboard": ranked[:limit], "time_range": span, "game_type": game, "total_players": len(ranked)}
    return jsonify(told)


@app.get("/api/v1/leaderboard/player/<player_id>")
def player_rank(player_id):
    """Return a player's place."""
    player_id, game = identifier(player_id, "player_id"), request.args.get("game_type")
    if game is not None:
        one_of(game, GAMES, "game_type")
    with lock:
        own = [one for one in ranking(game) if one["player_id"] == player_id]
    if not own:
        raise Problem(404, "no such player")
    return jsonify(own[0])


@app.post("/api/v1/game/state")
def change_state():
    """Take a game's state in."""
    given = body()
    room_id, player_id = (
        identifier(given.get("room_id"), "room_id"),
        identifier(given.get("player_id"), "player_id"),
    )
    action = one_of(given.get("action"), ACTIONS, "action")
    if not isinstance(given.get("game_state"), dict):
        raise Problem(400, "game_state is an object")
    try:
        datetime.fromisoformat(str(given.get("timestamp")).replace("Z", "+00:00"))
    except ValueError:
        raise Problem(400, "timestamp is no ISO 8601 time") from None
    with lock:
        state = states.setdefault(room_id, {"players": {}})
        state["players"].setdefault(player_id, player(player_id, "player"))
        order = list(state["players"])
        turn = order[(order.index(player_id) + 1) % len(order)]
        status = "finished" if action == "game_over" else "playing"
        state.update(game_state=given["game_state"], current_player=turn, status=status, last_updated=now())
    told = {"success": True, "message": "taken", "game_state": given["game_state"], "room_status": status}
    return jsonify({**told, "next_player": turn})


@app.get("/api/v1/game/state/<room_id>")
def read_state(room_id):
    """Return a game's state."""
    room_id = identifier(room_id, "room_id")
    with lock:
        state = states.get(room_id)
        if state is None:
            raise Problem(404, "no such game")
        return jsonify({**state, "room_id": room_id, "players": list(state["players"].values())})


@app.post("/api/v1/game/ready")
def set_ready():
    """Say whether a player is ready; the game starts when all are."""
    given = body()
    player_id = identifier(given.get("player_id"), "player_id")
    if not isinstance(given.get("is_ready"), bool):
        raise Problem(400, "is_ready is a boolean")
    with lock:
        room = room_of(given.get("room_id"))
        if player_id not in room["players"]:
            raise Problem(404, "the player is not in the room")
        room["players"][player_id]["is_ready"] = given["is_ready"]
        everybody = all(one["is_ready"] for one in room["players"].values())
        if everybody:
            room["status"] = "playing"
    return jsonify({"success": True, "message": "set", "all_ready": everybody, "game_started": everybody})
