"""Where users and files are kept: SQLite for what is known of them, a folder for their bytes."""

import hashlib
import secrets
import sqlite3
import threading
from datetime import datetime, timezone
from pathlib import Path

FOLDER = Path("data")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS users (id TEXT PRIMARY KEY, username TEXT UNIQUE, salt BLOB, secret BLOB,
    created_at TEXT);
CREATE TABLE IF NOT EXISTS tokens (token TEXT PRIMARY KEY, username TEXT);
CREATE TABLE IF NOT EXISTS files (id TEXT PRIMARY KEY, filename TEXT, size INTEGER, content_type TEXT, kind TEXT,
    upload_time TEXT, uploader TEXT, description TEXT, tags TEXT, checksum TEXT);
"""


def now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _hashed(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=2**12, r=8, p=1)


class Storage:
    """One connection, used by one thread at a time."""

    def __init__(self, folder: Path = FOLDER) -> None:
        (folder / "files").mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._lock = threading.Lock()
        self._database = sqlite3.connect(folder / "relay.sqlite", check_same_thread=False)
        self._database.row_factory = sqlite3.Row
        self._database.executescript(_SCHEMA)

    def _ask(self, query: str, *values: object) -> list[dict]:
        with self._lock, self._database:
            return [dict(row) for row in self._database.execute(query, values)]

    def add_user(self, username: str, password: str) -> dict | None:
        salt, row = secrets.token_bytes(16), {"id": f"usr_{secrets.token_hex(6)}", "username": username}
        row["created_at"] = now()
        try:
            self._ask(
                "INSERT INTO users VALUES (?, ?, ?, ?, ?)",
                row["id"], username, salt, _hashed(password, salt), row["created_at"],
            )  # fmt: skip
        except sqlite3.IntegrityError:
            return None
        return row

    def login(self, username: str, password: str) -> str | None:
        for user in self._ask("SELECT * FROM users WHERE username = ?", username):
            if secrets.compare_digest(user["secret"], _hashed(password, user["salt"])):
                token = secrets.token_urlsafe(32)
                self._ask("INSERT INTO tokens VALUES (?, ?)", token, username)
                return token
        return None

    def user_of(self, token: str) -> str | None:
        found = self._ask("SELECT username FROM tokens WHERE token = ?", token)
        return found[0]["username"] if found else None

    def add_file(self, row: dict) -> None:
        names = ", ".join(f":{name}" for name in row)
        with self._lock, self._database:
            self._database.execute(f"INSERT INTO files ({', '.join(row)}) VALUES ({names})", row)

    def file(self, number: str) -> dict | None:
        found = self._ask("SELECT * FROM files WHERE id = ?", number)
        return found[0] if found else None

    def update(self, number: str, description: str, tags: str) -> None:
        self._ask("UPDATE files SET description = ?, tags = ? WHERE id = ?", description, tags, number)

    def remove(self, number: str) -> None:
        self._ask("DELETE FROM files WHERE id = ?", number)
        self.place(number).unlink(missing_ok=True)

    def page(self, where: str, values: list, page: int, size: int) -> tuple[list[dict], int]:
        total = self._ask(f"SELECT count(*) AS n FROM files WHERE {where}", *values)[0]["n"]
        query = f"SELECT * FROM files WHERE {where} ORDER BY upload_time DESC, id LIMIT ? OFFSET ?"
        return self._ask(query, *values, size, (page - 1) * size), total

    def place(self, number: str) -> Path:
        return self.folder / "files" / number
