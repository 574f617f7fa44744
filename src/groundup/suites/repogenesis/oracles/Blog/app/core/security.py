"""Passwords and signed tokens."""

import hashlib
import hmac
import secrets
import time

import jwt

SECRET = secrets.token_hex(32)
LASTS_S = 24 * 3600


def get_password_hash(password: str, salt: str | None = None) -> str:
    """Return a salted hash of *password*."""
    salt = salt or secrets.token_hex(16)
    return f"{salt}${hashlib.pbkdf2_hmac('sha256', password.encode(), salt.encode(), 20_000).hex()}"


def fits(password: str, hashed: str) -> bool:
    """Whether *hashed* was made of *password*."""
    return hmac.compare_digest(get_password_hash(password, hashed.partition("$")[0]), hashed)


def signed(subject: str) -> str:
    """Return a token that names *subject*."""
    return jwt.encode({"sub": subject, "exp": int(time.time()) + LASTS_S}, SECRET, algorithm="HS256")


def subject_of(token: str) -> str | None:
    """Return whom *token* names; None where it is not valid."""
    try:
        return jwt.decode(token, SECRET, algorithms=["HS256"])["sub"]
    except jwt.PyJWTError:
        return None
