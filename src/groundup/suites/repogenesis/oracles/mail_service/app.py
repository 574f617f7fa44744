"""Mails that are queued and remembered, never sent: the reference service of the task mail_service."""

import re
import threading
import uuid
from datetime import datetime, timezone

from flask import Flask, jsonify, request

app = Flask(__name__)
mails: dict[str, dict] = {}
lock = threading.Lock()
ADDRESS = re.compile(r"[^@\s]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
STATUSES = ("pending", "sent", "failed", "delivered", "bounced")
PRIORITIES = ("low", "normal", "high")
LARGEST_BODY = 1024 * 1024
LARGEST_BATCH = 100
MOST_RECORDS = 100


class Rejected(Exception):  # noqa: N818
    """A request that cannot be met."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


@app.errorhandler(Rejected)
def rejected(error: Rejected):
    """Return a rejection as JSON."""
    return jsonify({"error": error.code, "message": str(error)}), error.status


@app.errorhandler(404)
def not_found(error):
    """Return a missing page as JSON."""
    return jsonify({"error": "NOT_FOUND", "message": "no such page"}), 404


def now() -> str:
    """Return the time in ISO 8601."""
    return datetime.now(timezone.utc).isoformat().replace("+00:00", "Z")


def checked_addresses(values: object, name: str) -> list[str]:
    """Return a list of addresses or raise."""
    if not isinstance(values, list):
        raise Rejected("INVALID_EMAIL", f"{name} must be a list of addresses")
    for value in values:
        if not isinstance(value, str) or not ADDRESS.fullmatch(value):
            raise Rejected("INVALID_EMAIL", f"{name} holds an invalid address")
    return values


def checked(mail: object) -> dict:
    """Return a mail or raise."""
    if not isinstance(mail, dict):
        raise Rejected("MISSING_FIELD", "a mail is an object")
    for name in ("to", "subject", "body"):
        if not mail.get(name):
            raise Rejected("MISSING_FIELD", f"{name} is required")
    if not isinstance(mail["subject"], str) or not isinstance(mail["body"], str):
        raise Rejected("MISSING_FIELD", "subject and body are strings")
    for name in ("to", "cc", "bcc"):
        checked_addresses(mail.get(name, []), name)
    if "from" in mail:
        checked_addresses([mail["from"]], "from")
    if mail.get("priority", "normal") not in PRIORITIES:
        raise Rejected("INVALID_PRIORITY", f"priority is one of {', '.join(PRIORITIES)}")
    if len(mail["body"].encode()) > LARGEST_BODY:
        raise Rejected("BODY_TOO_LARGE", "the body is larger than 1 MB")
    return mail


def queue(mail: dict) -> dict:
    """Remember a checked mail and return what is told of it."""
    identifier = str(uuid.uuid4())
    record = {
        "mail_id": identifier,
        "status": "sent",
        "to": mail["to"],
        "subject": mail["subject"],
        "sent_at": now(),
        "delivered_at": None,
        "error": None,
    }
    with lock:
        mails[identifier] = record
    return {"mail_id": identifier, "status": "sent", "message": "queued"}


def body() -> dict:
    """Return the request's object or raise."""
    given = request.get_json(silent=True)
    if not isinstance(given, dict):
        raise Rejected("INVALID_INPUT", "a JSON object is required")
    return given


@app.get("/health")
def health():
    """Say that the service is well."""
    return jsonify({"status": "ok"})


@app.post("/api/v1/mail/send")
def send():
    """Queue one mail."""
    return jsonify({**queue(checked(body())), "timestamp": now()})


@app.post("/api/v1/mail/send-batch")
def send_batch():
    """Queue many mails; those that are invalid fail alone."""
    given = body().get("emails")
    if not given or not isinstance(given, list):
        raise Rejected("MISSING_FIELD", "emails is required")
    if len(given) > LARGEST_BATCH:
        raise Rejected("BATCH_TOO_LARGE", f"at most {LARGEST_BATCH} mails")
    results = []
    for mail in given:
        try:
            results.append(queue(checked(mail)))
        except Rejected as error:
            results.append({"mail_id": str(uuid.uuid4()), "status": "failed", "message": str(error)})
    failed = sum(result["status"] == "failed" for result in results)
    return jsonify(
        {
            "batch_id": str(uuid.uuid4()),
            "total": len(results),
            "queued": len(results) - failed,
            "failed": failed,
            "results": results,
            "timestamp": now(),
        }
    )


@app.get("/api/v1/mail/status/<mail_id>")
def status(mail_id):
    """Return what became of a mail."""
    if mail_id not in mails:
        raise Rejected("NOT_FOUND", "no such mail", 404)
    return jsonify(mails[mail_id])


def number(name: str, default: int, least: int) -> int:
    """Return an integer of the query or raise."""
    text = request.args.get(name, str(default))
    if not text.lstrip("-").isdigit() or int(text) < least:
        raise Rejected("INVALID_PARAMETER", f"{name} must be an integer from {least}")
    return int(text)


def moment(name: str) -> datetime | None:
    """Return a time of the query or raise."""
    text = request.args.get(name)
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise Rejected("INVALID_PARAMETER", f"{name} is no ISO 8601 time") from None
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)


@app.get("/api/v1/mail/history")
def history():
    """Return mails, the latest first."""
    limit, offset = min(number("limit", 50, 1), MOST_RECORDS), number("offset", 0, 0)
    wanted, after, before = request.args.get("status"), moment("from_date"), moment("to_date")
    if wanted is not None and wanted not in STATUSES:
        raise Rejected("INVALID_PARAMETER", "unknown status")
    if after and before and after > before:
        raise Rejected("INVALID_PARAMETER", "from_date is after to_date")
    with lock:
        found = sorted(mails.values(), key=lambda mail: mail["sent_at"], reverse=True)
    found = [mail for mail in found if wanted in (None, mail["status"]) and is_between(mail, after, before)]
    shown = [{key: mail[key] for key in mail if key != "error"} for mail in found[offset : offset + limit]]
    return jsonify({"total": len(found), "limit": limit, "offset": offset, "emails": shown})


def is_between(mail: dict, after: datetime | None, before: datetime | None) -> bool:
    """Whether a mail was sent between two times."""
    sent = datetime.fromisoformat(mail["sent_at"].replace("Z", "+00:00"))
    return (after is None or sent >= after) and (before is None or sent <= before)


if __name__ == "__main__":
    app.run(host="0.0.0.0", port=8080, threaded=True)
