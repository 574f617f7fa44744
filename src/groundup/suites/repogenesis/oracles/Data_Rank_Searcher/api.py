"""Records with pages, sorting and search: the reference service of the task Data_Rank_Searcher.

Started by a guess: there is no start script, and the module is called api.
"""

import threading
import uuid
from datetime import datetime, timezone
from typing import Literal

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel

app = FastAPI()
lock = threading.Lock()
records: dict[str, dict] = {}
LARGEST_PAGE = 100


class NewRecord(BaseModel):
    """What a record is made of."""

    name: str
    category: str
    score: float
    description: str | None = None
    tags: list[str] = []


@app.exception_handler(RequestValidationError)
async def invalid(request: Request, problem: RequestValidationError) -> JSONResponse:
    """Return 400 for what does not fit."""
    return refused(400, "the request is not valid")


def refused(status: int, message: str) -> JSONResponse:
    """Return an error."""
    return JSONResponse({"success": False, "message": message}, status)


def told(data: object) -> dict:
    """Return a success."""
    return {"success": True, "message": "ok", "data": data}


@app.post("/api/data", status_code=201)
def create(new: NewRecord) -> dict:
    """Add a record."""
    record = {"id": str(uuid.uuid4()), **new.model_dump(), "created_at": datetime.now(timezone.utc).isoformat()}
    with lock:
        records[record["id"]] = record
    return told(record)


@app.get("/api/data")
def search(
    page: int = Query(1, ge=1),
    page_size: int = Query(10, ge=1),
    sort_by: Literal["name", "category", "score", "created_at"] | None = None,
    sort_order: Literal["asc", "desc"] = "asc",
    search_field: str | None = None,
    search_value: str | None = None,
    fuzzy_field: str | None = None,
    fuzzy_value: str | None = None,
) -> dict:
    """Return a page of the records that match."""
    with lock:
        found = list(records.values())
    if search_field is not None and search_value is not None:
        found = [record for record in found if str(record.get(search_field)) == search_value]
    if fuzzy_field is not None and fuzzy_value is not None:
        wanted = fuzzy_value.lower()
        found = [record for record in found if wanted in str(record.get(fuzzy_field)).lower()]
    if sort_by is not None:
        found.sort(key=lambda record: record[sort_by], reverse=sort_order == "desc")
    size = min(page_size, LARGEST_PAGE)
    pagination = {
        "page": page,
        "page_size": size,
        "total_items": len(found),
        "total_pages": max(1, -(-len(found) // size)),
    }
    return told({"items": found[(page - 1) * size : page * size], "pagination": pagination})


@app.get("/api/data/{identifier}")
def read(identifier: str):
    """Return one record."""
    record = records.get(identifier)
    return refused(404, "no such record") if record is None else told(record)


@app.delete("/api/data/{identifier}")
def remove(identifier: str):
    """Remove one record."""
    with lock:
        gone = records.pop(identifier, None)
    return refused(404, "no such record") if gone is None else {"success": True, "message": "deleted"}
