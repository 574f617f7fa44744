"""Users in SQLite: the reference service of the task SimpleFastPyAPI."""

import sqlite3
import threading

import uvicorn
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

app = FastAPI()
lock = threading.Lock()
database = sqlite3.connect("users.db", check_same_thread=False)
database.row_factory = sqlite3.Row
database.execute("CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, password TEXT)")


class UserUpdate(BaseModel):
    """What can be changed."""

    name: str
    email: str


class UserCreate(UserUpdate):
    """What a new user has."""

    password: str


def run(statement: str, *values: object) -> sqlite3.Cursor:
    """Run one statement and commit."""
    with lock, database:
        return database.execute(statement, values)


def found(user_id: int) -> dict:
    """Return a user or raise."""
    row = run("SELECT * FROM users WHERE id = ?", user_id).fetchone()
    if row is None:
        raise HTTPException(404, "User not found")
    return dict(row)


@app.get("/users/")
def list_users() -> list[dict]:
    """Return all users."""
    return [dict(row) for row in run("SELECT * FROM users ORDER BY id").fetchall()]


@app.get("/users/{user_id}")
def read_user(user_id: int) -> dict:
    """Return one user."""
    return found(user_id)


@app.post("/users/")
def create_user(user: UserCreate) -> dict:
    """Add a user."""
    fields = (user.name, user.email, user.password)
    cursor = run("INSERT INTO users (name, email, password) VALUES (?, ?, ?)", *fields)
    return found(cursor.lastrowid)


@app.put("/users/{user_id}")
def change_user(user_id: int, user: UserUpdate) -> dict:
    """Change a user."""
    found(user_id)
    run("UPDATE users SET name = ?, email = ? WHERE id = ?", user.name, user.email, user_id)
    return {"message": "User updated successfully"}


@app.delete("/users/{user_id}")
def remove_user(user_id: int) -> dict:
    """Remove a user."""
    found(user_id)
    run("DELETE FROM users WHERE id = ?", user_id)
    return {"message": "User deleted successfully"}


if __name__ == "__main__":
    uvicorn.run(app, host="0.0.0.0", port=8000)
