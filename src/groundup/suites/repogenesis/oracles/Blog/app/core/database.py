"""Where the blog is kept."""

from collections.abc import Iterator
from typing import Annotated

from fastapi import Depends
from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Session, sessionmaker

engine = create_engine("sqlite:///blog.db", connect_args={"check_same_thread": False})
new_session = sessionmaker(bind=engine, autoflush=False)


class Base(DeclarativeBase):
    """What all tables have in common."""


def get_db() -> Iterator[Session]:
    """Yield a session for one request."""
    with new_session() as session:
        yield session


Db = Annotated[Session, Depends(get_db)]
