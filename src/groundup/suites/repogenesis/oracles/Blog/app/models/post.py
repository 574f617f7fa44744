"""What is written: posts in categories, and comments on posts."""

from datetime import datetime, timezone
from enum import Enum

from sqlalchemy import JSON, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.core.database import Base
from app.models.user import User


def now() -> datetime:
    """Return the moment, in UTC."""
    return datetime.now(timezone.utc)


class PostStatus(str, Enum):  # noqa: UP042 - Python 3.10
    """Who sees a post: its author alone, or everybody."""

    DRAFT = "draft"
    PUBLISHED = "published"


class Category(Base):
    """What posts are about."""

    __tablename__ = "categories"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    description: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    posts: Mapped[list["Post"]] = relationship(back_populates="category")


class Post(Base):
    """An article."""

    __tablename__ = "posts"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    content: Mapped[str]
    excerpt: Mapped[str | None]
    tags: Mapped[list] = mapped_column(JSON, default=list)
    status: Mapped[str] = mapped_column(default=PostStatus.DRAFT.value)
    author_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    category_id: Mapped[int] = mapped_column(ForeignKey("categories.id"))
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)
    author: Mapped[User] = relationship()
    category: Mapped[Category] = relationship(back_populates="posts")
    comments: Mapped[list["Comment"]] = relationship(back_populates="post", cascade="all, delete-orphan")


class Comment(Base):
    """What somebody says to a post or to another comment."""

    __tablename__ = "comments"
    id: Mapped[int] = mapped_column(primary_key=True)
    content: Mapped[str]
    post_id: Mapped[int] = mapped_column(ForeignKey("posts.id"))
    parent_id: Mapped[int | None] = mapped_column(ForeignKey("comments.id"))
    author_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(default=now)
    author: Mapped[User] = relationship()
    post: Mapped[Post] = relationship(back_populates="comments")
