"""Tic-tac-toe: the reference service of the task Tic-Tac-Toe."""

import threading
import uuid
from collections import Counter
from datetime import datetime, timezone
from typing import Literal

import uvicorn
from fastapi import APIRouter, FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

app = FastAPI()
api = APIRouter(prefix="/api/v1")
lock = threading.Lock()
games: dict[str, dict] = {}
wins: Counter[str] = Counter()
LINES = (
    *(tuple((row, col) for col in range(3)) for row in range(3)),
    *(tuple((row, col) for row in range(3)) for col in range(3)),
    tuple((at, at) for at in range(3)),
    tuple((at, 2 - at) for at in range(3)),
)


class NewGame(BaseModel):
    """Who plays."""

    player_x: str = Field(min_length=1, max_length=50)
    player_o: str = Field(min_length=1, max_length=50)


class Move(BaseModel):
    """Who puts a mark where."""

    player: Literal["X", "O"]
    row: int = Field(ge=0, le=2)
    col: int = Field(ge=0, le=2)


def now() -> str:
    """Return the time in ISO 8601."""
    return datetime.now(timezone.utc).isoformat()


def error(status: int, code: str, message: str) -> JSONResponse:
    """Return an error as the specification writes it."""
    return JSONResponse({"error": {"code": code, "message": message}}, status)


@app.exception_handler(HTTPException)
async def failed(request: Request, problem: HTTPException) -> JSONResponse:
    """Return a refused request."""
    return error(problem.status_code, str(problem.status_code), str(problem.detail))


@app.exception_handler(RequestValidationError)
async def invalid(request: Request, problem: RequestValidationError) -> JSONResponse:
    """Return 400 for what is no JSON, 422 for what does not fit."""
    malformed = any(one["type"] == "json_invalid" for one in problem.errors())
    return error(400 if malformed else 422, "invalid", "the request is not valid")


def found(game_id: str) -> dict:
    """Return a game or raise."""
    if game_id not in games:
        raise HTTPException(404, "no such game")
    return games[game_id]


def empty_board() -> list[list[str | None]]:
    """Return a board without marks."""
    return [[None] * 3 for _ in range(3)]


@api.get("/health")
def health() -> dict:
    """Say that the service is well."""
    return {"status": "healthy", "timestamp": now(), "version": "1.0.0"}


@api.post("/games", status_code=201)
def start_game(players: NewGame) -> dict:
    """Start a game."""
    game = {
        "game_id": str(uuid.uuid4()),
        "board": empty_board(),
        "next_player": "X",
        "status": "in_progress",
        "winner": None,
        "players": {"X": players.player_x, "O": players.player_o},
        "created_at": now(),
        "updated_at": now(),
    }
    with lock:
        games[game["game_id"]] = game
    return game


@api.get("/games/{game_id}")
def read_game(game_id: str) -> dict:
    """Return a game."""
    return found(game_id)


@api.post("/games/{game_id}/moves")
def move(game_id: str, made: Move) -> dict:
    """Put a mark on the board."""
    with lock:
        game = found(game_id)
        if game["status"] != "in_progress":
            raise HTTPException(409, "the game is over")
        if game["next_player"] != made.player:
            raise HTTPException(409, "it is the other player's turn")
        if game["board"][made.row][made.col] is not None:
            raise HTTPException(409, "the cell is taken")
        game["board"][made.row][made.col] = made.player
        settle(game, made.player)
        game["updated_at"] = now()
        return {**game, "last_move": made.model_dump()}


def settle(game: dict, player: str) -> None:
    """Say who is next, or how the game ended."""
    board = game["board"]
    game["next_player"] = None
    if any(all(board[row][col] == player for row, col in line) for line in LINES):
        game.update(status="finished", winner=player)
        wins[game["players"][player]] += 1
    elif all(cell is not None for row in board for cell in row):
        game["status"] = "draw"
    else:
        game["next_player"] = "O" if player == "X" else "X"


@api.post("/games/{game_id}/reset")
def reset(game_id: str) -> dict:
    """Clear the board."""
    with lock:
        game = found(game_id)
        game.update(board=empty_board(), next_player="X", status="in_progress", winner=None, updated_at=now())
        return game


@api.get("/leaderboard")
def leaderboard(limit: int = Query(10, ge=1, le=100)) -> dict:
    """Return who won most often."""
    items = [{"player": player, "wins": number} for player, number in wins.most_common(limit)]
    return {"items": items, "pagination": {"limit": limit, "total": len(wins)}}


app.include_router(api)

if __name__ == "__main__":
    uvicorn.run(app, host="0.0.0.0", port=8082)
