"""Scheduled tasks: the reference service of the task Timer4Tasker. Runs are recorded, files stay untouched."""

import re
import threading
import uuid
from datetime import datetime, timezone

from flask import Blueprint, Flask, jsonify, request

app = Flask(__name__)
api = Blueprint("api", __name__, url_prefix="/api/v1")
lock = threading.RLock()
tasks: dict[str, dict] = {}
executions: list[dict] = []
TYPES = ("file_cleanup", "data_summary", "data_backup")
RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
PART = re.compile(r"(?:\*|(\d+)(?:-(\d+))?)(?:/([1-9]\d*))?")


class Problem(Exception):  # noqa: N818
    """A request that cannot be met."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@app.errorhandler(Problem)
def problem(error: Problem):
    """Return what is wrong."""
    return jsonify({"success": False, "message": str(error)}), error.status


def told(data: dict, status: int = 200):
    """Return a success."""
    return jsonify({"success": True, "data": data}), status


def now() -> str:
    """Return the time in ISO 8601."""
    return datetime.now(timezone.utc).isoformat()


def is_cron(text: str) -> bool:
    """Whether *text* is a cron expression of five fields."""
    fields = text.split()
    return len(fields) == len(RANGES) and all(
        all(is_cron_part(part, low, high) for part in field.split(","))
        for field, (low, high) in zip(fields, RANGES, strict=True)
    )


def is_cron_part(part: str, low: int, high: int) -> bool:
    """Whether *part* is a star, a number or a range within bounds, with a step or without."""
    found = PART.fullmatch(part)
    if found is None:
        return False
    bounds = [int(number) for number in found.group(1, 2) if number is not None]
    return all(low <= bound <= high for bound in bounds) and bounds == sorted(bounds)


def checked(required: tuple[str, ...] = ()) -> dict:
    """Return the request's fields or raise."""
    body = request.get_json(silent=True)
    if not isinstance(body, dict):
        raise Problem("a JSON object is required")
    for name in required:
        if not body.get(name):
            raise Problem(f"{name} is required")
    kinds = {"name": str, "description": str, "task_type": str, "schedule": str, "config": dict, "enabled": bool}
    for name, kind in kinds.items():
        if name in body and not isinstance(body[name], kind):
            raise Problem(f"{name} has the wrong type")
    if "task_type" in body and body["task_type"] not in TYPES:
        raise Problem(f"task_type is one of {', '.join(TYPES)}")
    if "schedule" in body and not is_cron(body["schedule"]):
        raise Problem("schedule is no cron expression")
    return body


def found(task_id: str) -> dict:
    """Return a task or raise."""
    if task_id not in tasks:
        raise Problem("no such task", 404)
    return tasks[task_id]


def number(name: str, default: int) -> int:
    """Return a positive integer of the query or raise."""
    text = request.args.get(name, str(default))
    if not text.isdigit() or int(text) < 1:
        raise Problem(f"{name} must be a positive integer")
    return int(text)


@api.post("/tasks")
def create_task():
    """Add a task."""
    body = checked(("name", "task_type", "schedule"))
    task = {
        "task_id": str(uuid.uuid4()),
        "name": body["name"],
        "description": body.get("description", ""),
        "task_type": body["task_type"],
        "schedule": body["schedule"],
        "config": body.get("config", {}),
        "enabled": body.get("enabled", True),
        "created_at": now(),
        "updated_at": now(),
        "last_run": None,
        "next_run": None,
    }
    with lock:
        tasks[task["task_id"]] = task
    return told(task, 201)


@api.get("/tasks")
def list_tasks():
    """Return a page of tasks."""
    page, size = number("page", 1), number("page_size", 10)
    kind, enabled = request.args.get("task_type"), request.args.get("enabled")
    with lock:
        chosen = [
            task
            for task in tasks.values()
            if kind in (None, task["task_type"])
            and (enabled is None or (enabled.lower() == "true") == task["enabled"])
        ]
    shown = chosen[(page - 1) * size : page * size]
    return told({"tasks": shown, "total": len(chosen), "page": page, "page_size": size})


@api.get("/tasks/<task_id>")
def read_task(task_id):
    """Return a task."""
    return told(found(task_id))


@api.put("/tasks/<task_id>")
def change_task(task_id):
    """Change a task."""
    with lock:
        task, body = found(task_id), checked()
        changeable = ("name", "description", "schedule", "config", "enabled")
        task.update({name: body[name] for name in changeable if name in body}, updated_at=now())
        return told(task)


@api.delete("/tasks/<task_id>")
def remove_task(task_id):
    """Remove a task."""
    with lock:
        found(task_id)
        del tasks[task_id]
    return jsonify({"success": True, "message": "deleted"})


@api.post("/tasks/<task_id>/toggle")
def toggle_task(task_id):
    """Start or stop a task."""
    with lock:
        task, body = found(task_id), checked()
        if "enabled" not in body:
            raise Problem("enabled is required")
        task.update(enabled=body["enabled"], updated_at=now())
        return told({"task_id": task_id, "enabled": task["enabled"]})


@api.post("/tasks/<task_id>/execute")
def execute_task(task_id):
    """Run a task now."""
    with lock:
        task = found(task_id)
        execution = {
            "execution_id": str(uuid.uuid4()),
            "task_id": task_id,
            "status": "completed",
            "started_at": now(),
            "completed_at": now(),
            "result": {"processed": 0},
            "error": None,
        }
        executions.append(execution)
        task["last_run"] = execution["started_at"]
        return told(execution)


@api.get("/tasks/<task_id>/executions")
def list_executions(task_id):
    """Return a task's runs, the latest first."""
    with lock:
        found(task_id)
        own = [execution for execution in reversed(executions) if execution["task_id"] == task_id]
    return told({"executions": own[: number("limit", 20)]})


@api.get("/stats")
def stats():
    """Count tasks and runs."""
    with lock:
        done = sum(execution["status"] == "completed" for execution in executions)
        return told(
            {
                "total_tasks": len(tasks),
                "active_tasks": sum(task["enabled"] for task in tasks.values()),
                "total_executions": len(executions),
                "successful_executions": done,
                "failed_executions": len(executions) - done,
            }
        )


app.register_blueprint(api)

if __name__ == "__main__":
    app.run(host="0.0.0.0", port=8080)
