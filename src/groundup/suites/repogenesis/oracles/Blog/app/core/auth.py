"""Who asks."""

from typing import Annotated

from fastapi import Depends, Header, HTTPException

from app.core.database import Db
from app.core.security import signed, subject_of
from app.models.user import User


def create_user_access_token(user_id: int) -> str:
    """Return a token of one user."""
    return signed(str(user_id))


def optional_user(db: Db, authorization: Annotated[str, Header()] = "") -> User | None:
    """Return who asks; None where no valid token was sent."""
    kind, _, token = authorization.partition(" ")
    subject = subject_of(token) if kind.lower() == "bearer" else None
    return None if subject is None else db.get(User, int(subject))


Reader = Annotated[User | None, Depends(optional_user)]


def current_user(user: Reader, authorization: Annotated[str, Header()] = "") -> User:
    """Return who asks, who must have a valid token."""
    if not authorization:
        raise HTTPException(403, "Not authenticated")
    if user is None:
        raise HTTPException(401, "Invalid token")
    return user


Caller = Annotated[User, Depends(current_user)]
