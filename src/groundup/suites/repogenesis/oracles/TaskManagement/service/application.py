"""The routes and what they store."""

import itertools
import threading
from datetime import datetime, timezone
from typing import Annotated, Literal

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, Field

app = FastAPI()
lock = threading.Lock()
tasks: dict[int, dict] = {}
numbers = itertools.count(1)
JSON = "application/json"
Priority = Literal["low", "medium", "high"]
Status = Literal["pending", "in_progress", "completed"]


def not_blank(text: str) -> str:
    """Return *text* unless it is blank."""
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def iso_time(text: str) -> str:
    """Return *text* when it is a date or a time in ISO 8601."""
    datetime.fromisoformat(text.replace("Z", "+00:00"))
    return text


Title = Annotated[str, Field(max_length=200), AfterValidator(not_blank)]
Description = Annotated[str, Field(max_length=1000)]
Time = Annotated[str, AfterValidator(iso_time)]


class NewTask(BaseModel):
    """What a task is made of."""

    title: Title
    priority: Priority
    description: Description | None = None
    due_date: Time | None = None


class Changes(BaseModel):
    """What can be changed."""

    title: Title | None = None
    priority: Priority | None = None
    status: Status | None = None
    description: Description | None = None
    due_date: Time | None = None


@app.exception_handler(HTTPException)
async def failed(request: Request, problem: HTTPException) -> JSONResponse:
    """Return a refused request."""
    return JSONResponse({"error": {"code": "not_found", "message": str(problem.detail)}}, problem.status_code)


@app.exception_handler(RequestValidationError)
async def invalid(request: Request, problem: RequestValidationError) -> JSONResponse:
    """Return 415 for what does not call itself JSON, 400 for what is none, 422 for what does not fit."""
    status, code = 422, "validation_error"
    if any(one["type"] == "json_invalid" for one in problem.errors()):
        status, code = 400, "bad_request"
    elif request.method in ("POST", "PUT") and not request.headers.get("content-type", "").startswith(JSON):
        status, code = 415, "unsupported_media_type"
    return JSONResponse({"error": {"code": code, "message": "the request is not valid"}}, status)


def now() -> str:
    """Return the time in ISO 8601."""
    return datetime.now(timezone.utc).isoformat()


def found(task_id: int) -> dict:
    """Return a task or raise."""
    if task_id not in tasks:
        raise HTTPException(404, "no such task")
    return tasks[task_id]


@app.get("/api/v1/health")
def health() -> dict:
    """Say that the service is well."""
    return {"status": "healthy", "timestamp": now(), "version": "1.0.0"}


@app.post("/api/v1/tasks", status_code=201)
def create(new: NewTask) -> dict:
    """Add a task."""
    with lock:
        task = {
            "id": next(numbers),
            **new.model_dump(),
            "status": "pending",
            "created_at": now(),
            "updated_at": now(),
        }
        tasks[task["id"]] = task
    return task


@app.get("/api/v1/tasks")
def listing(
    page: int = Query(1, ge=1),
    limit: int = Query(10, ge=1, le=100),
    status: Status | None = None,
    priority: Priority | None = None,
) -> dict:
    """Return a page of tasks."""
    with lock:
        chosen = [
            task
            for task in tasks.values()
            if status in (None, task["status"]) and priority in (None, task["priority"])
        ]
    pagination = {"page": page, "limit": limit, "total": len(chosen), "pages": -(-len(chosen) // limit)}
    return {"tasks": chosen[(page - 1) * limit : page * limit], "pagination": pagination}


@app.get("/api/v1/tasks/{task_id}")
def read(task_id: int) -> dict:
    """Return a task."""
    return found(task_id)


@app.put("/api/v1/tasks/{task_id}")
def change(task_id: int, changes: Changes) -> dict:
    """Change a task."""
    with lock:
        task = found(task_id)
        task.update(changes.model_dump(exclude_unset=True, exclude_none=True), updated_at=now())
        return task


@app.delete("/api/v1/tasks/{task_id}")
def remove(task_id: int) -> dict:
    """Remove a task."""
    with lock:
        found(task_id)
        del tasks[task_id]
    return {"message": "deleted"}
