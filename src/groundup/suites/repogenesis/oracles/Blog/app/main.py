"""Posts, categories and comments: the reference service of the task Blog."""

from fastapi import APIRouter, FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from app.core.auth import Caller, Reader, create_user_access_token
from app.core.database import Base, Db, engine
from app.core.security import fits, get_password_hash
from app.models.post import Category, Comment, Post, PostStatus
from app.models.user import User

EMAIL = r"^[\w.+-]+@[\w-]+(\.[\w-]+)+$"
Base.metadata.create_all(engine)
app = FastAPI(title="Blog CMS API")
api = APIRouter(prefix="/api/v1")


class Registration(BaseModel):
    """A new account."""

    username: str = Field(min_length=3, max_length=20)
    email: str = Field(pattern=EMAIL)
    password: str = Field(min_length=6, max_length=50)


class Login(BaseModel):
    """A name and its password."""

    username: str
    password: str


class PostText(BaseModel):
    """A post as it is sent."""

    title: str = Field(min_length=1, max_length=200)
    content: str = Field(min_length=1, max_length=10_000)
    excerpt: str | None = Field(default=None, min_length=1, max_length=500)
    category_id: int
    tags: list[str] = []
    status: PostStatus = PostStatus.DRAFT


class CategoryText(BaseModel):
    """A category as it is sent."""

    name: str = Field(min_length=1, max_length=50)
    description: str | None = Field(default=None, min_length=1, max_length=200)


class CommentText(BaseModel):
    """A comment as it is sent."""

    content: str = Field(min_length=1, max_length=1000)
    parent_id: int | None = None


@app.exception_handler(HTTPException)
def told(request: Request, error: HTTPException) -> JSONResponse:
    body = {"error": str(error.status_code), "message": error.detail, "detail": error.detail}
    return JSONResponse(body, error.status_code)


@app.exception_handler(RequestValidationError)
def refused(request: Request, error: RequestValidationError) -> JSONResponse:
    wrong = {".".join(map(str, one["loc"])): one["msg"] for one in error.errors()}
    return JSONResponse({"error": "422", "message": "Data validation failed", "details": wrong}, 422)


@app.get("/health")
def health() -> dict:
    return {"status": "healthy"}


@api.post("/auth/register", status_code=201)
def register(sent: Registration, db: Db) -> dict:
    same = select(User).where(or_(User.username == sent.username, User.email == sent.email))
    if db.scalars(same).first() is not None:
        raise HTTPException(400, "User already exists")
    hashed = get_password_hash(sent.password)
    user = User(username=sent.username, email=sent.email, hashed_password=hashed)
    db.add(user)
    db.commit()
    return {"message": "User registered successfully", "user_id": user.id, "username": user.username}


@api.post("/auth/login")
def login(sent: Login, db: Db) -> dict:
    user = db.scalars(select(User).where(User.username == sent.username)).first()
    if user is None or not fits(sent.password, user.hashed_password):
        raise HTTPException(401, "Invalid username or password")
    token = create_user_access_token(user.id)
    return {"access_token": token, "token_type": "bearer", "user_id": user.id, "username": user.username}


def written(post: Post) -> dict:
    """Return a post as its author gets it."""
    names = ("id", "title", "content", "excerpt", "author_id", "category_id", "tags", "status")
    return {name: getattr(post, name) for name in names} | moments(post)


def moments(post: Post) -> dict:
    return {"created_at": post.created_at.isoformat(), "updated_at": post.updated_at.isoformat()}


def read(post: Post) -> dict:
    """Return a post as readers get it, without its text."""
    category = {"id": post.category.id, "name": post.category.name}
    told = {name: getattr(post, name) for name in ("id", "title", "excerpt", "tags", "status")}
    return told | {"author": post.author.short(), "category": category} | moments(post)


def found(db: Session, post_id: int, user: User | None) -> Post:
    """Return a post that *user* may see."""
    post = db.get(Post, post_id)
    if post is None or (post.status == PostStatus.DRAFT.value and (user is None or user.id != post.author_id)):
        raise HTTPException(404, "Post not found")
    return post


def filled(db: Session, post: Post, sent: PostText) -> dict:
    """Write what was sent into *post*, and keep it."""
    if db.get(Category, sent.category_id) is None:
        raise HTTPException(404, "Category not found")
    for name, value in sent.model_dump(mode="json").items():
        setattr(post, name, value)
    db.add(post)
    db.commit()
    return written(post)


@api.post("/posts", status_code=201)
def create(sent: PostText, user: Caller, db: Db) -> dict:
    return filled(db, Post(author_id=user.id), sent)


@api.get("/posts")
def listed(
    user: Reader,
    db: Db,
    page: int = Query(1, ge=1),
    limit: int = Query(10, ge=1, le=100),
    status: PostStatus | None = None,
    category_id: int | None = None,
    author_id: int | None = None,
    search: str | None = None,
) -> dict:
    visible = Post.status == PostStatus.PUBLISHED.value
    wanted = select(Post).where(visible if user is None else or_(visible, Post.author_id == user.id))
    for column, value in ((Post.status, status and status.value), (Post.category_id, category_id)):
        wanted = wanted if value is None else wanted.where(column == value)
    if author_id is not None:
        wanted = wanted.where(Post.author_id == author_id)
    if search:
        wanted = wanted.where(or_(Post.title.contains(search), Post.content.contains(search)))
    posts = db.scalars(wanted.order_by(Post.id.desc())).all()
    pages = {"page": page, "limit": limit, "total": len(posts), "pages": -(-len(posts) // limit)}
    return {"posts": [read(post) for post in posts[(page - 1) * limit : page * limit]], "pagination": pages}


@api.get("/posts/{post_id}")
def show(post_id: int, user: Reader, db: Db) -> dict:
    post = found(db, post_id, user)
    return read(post) | {"content": post.content}


@api.put("/posts/{post_id}")
def change(post_id: int, sent: PostText, user: Caller, db: Db) -> dict:
    post = found(db, post_id, user)
    if post.author_id != user.id:
        raise HTTPException(403, "No permission to update this post")
    return filled(db, post, sent)


@api.delete("/posts/{post_id}")
def remove(post_id: int, user: Caller, db: Db) -> dict:
    post = found(db, post_id, user)
    if post.author_id != user.id:
        raise HTTPException(403, "No permission to delete this post")
    db.delete(post)
    db.commit()
    return {"message": "Post deleted successfully"}


@api.post("/categories", status_code=201)
def create_category(sent: CategoryText, user: Caller, db: Db) -> dict:
    if db.scalars(select(Category).where(Category.name == sent.name)).first() is not None:
        raise HTTPException(400, "Category already exists")
    category = Category(**sent.model_dump())
    db.add(category)
    db.commit()
    return described(category)


def described(category: Category) -> dict:
    told = {name: getattr(category, name) for name in ("id", "name", "description")}
    return told | {"created_at": category.created_at.isoformat()}


@api.get("/categories")
def categories(db: Db) -> dict:
    every = db.scalars(select(Category).order_by(Category.id)).all()
    return {"categories": [described(one) | {"post_count": len(one.posts)} for one in every]}


def said(comment: Comment) -> dict:
    told = {name: getattr(comment, name) for name in ("id", "content", "parent_id")}
    return told | {"author": comment.author.short(), "created_at": comment.created_at.isoformat()}


@api.post("/posts/{post_id}/comments", status_code=201)
def comment(post_id: int, sent: CommentText, user: Caller, db: Db) -> dict:
    post = found(db, post_id, user)
    if sent.parent_id is not None and sent.parent_id not in {one.id for one in post.comments}:
        raise HTTPException(404, "Comment not found")
    made = Comment(**sent.model_dump(), post_id=post_id, author_id=user.id)
    db.add(made)
    db.commit()
    return said(made) | {"post_id": post_id}


@api.get("/posts/{post_id}/comments")
def comments(post_id: int, user: Reader, db: Db) -> dict:
    every = sorted(found(db, post_id, user).comments, key=lambda one: one.id)
    told = {one.id: said(one) | {"replies": []} for one in every}
    for one in every:
        if one.parent_id in told:
            told[one.parent_id]["replies"].append(told[one.id])
    return {"comments": [told[one.id] for one in every if one.parent_id not in told]}


app.include_router(api)
