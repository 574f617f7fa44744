"""A small dictionary and a clock: the reference service of the task Multilingual. Works without a network."""

from datetime import datetime
from zoneinfo import ZoneInfo

from flask import Flask, jsonify, request

app = Flask(__name__)
LANGUAGES = {
    "en": "english",
    "zh-cn": "chinese (simplified)",
    "es": "spanish",
    "fr": "french",
    "de": "german",
    "ja": "japanese",
}
GREETINGS = {"en": "hello", "zh-cn": "你好", "es": "hola", "fr": "bonjour", "de": "hallo", "ja": "こんにちは"}
FORMATS = {
    "en": "%B %d, %Y %I:%M:%S %p",
    "zh": "%Y年%m月%d日 %H:%M:%S",
    "ja": "%Y年%m月%d日 %H:%M:%S",
    "es": "%d/%m/%Y %H:%M:%S",
    "fr": "%d/%m/%Y %H:%M:%S",
    "de": "%d.%m.%Y %H:%M:%S",
}


class BadRequest(Exception):  # noqa: N818
    """A request that cannot be met."""


@app.errorhandler(BadRequest)
def bad_request(error: BadRequest):
    """Return what is wrong."""
    return jsonify({"success": False, "error": str(error)}), 400


def fields(*names: str) -> list[str]:
    """Return the required strings of the request's body."""
    body = request.get_json(silent=True)
    if not isinstance(body, dict):
        raise BadRequest("a JSON object is required")
    for name in names:
        if not isinstance(body.get(name), str) or not body[name]:
            raise BadRequest(f"{name} is required")
    return [body[name] for name in names]


def zone(name: str) -> ZoneInfo:
    """Return a time zone."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise BadRequest(f"unknown time zone {name}") from None


def moment(text: str, zone_name: str) -> datetime:
    """Return a time in a zone."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=zone(zone_name))
    except ValueError:
        raise BadRequest(f"{text} is no ISO 8601 time") from None


def translated(text: str, source: str, target: str) -> str:
    """Return the translation of a greeting; other texts are marked with their language."""
    if text.strip().lower() == GREETINGS[source]:
        return GREETINGS[target]
    return text if source == target else f"[{target}] {text}"


@app.get("/api/languages")
def languages():
    """Return the languages."""
    return jsonify({"success": True, "languages": LANGUAGES})


@app.post("/api/translate")
def translate():
    """Translate a text."""
    text, source, target = fields("text", "source_lang", "target_lang")
    for code in (source, target):
        if code not in LANGUAGES:
            raise BadRequest(f"unknown language {code}")
    return jsonify(
        {
            "success": True,
            "original_text": text,
            "translated_text": translated(text, source, target),
            "source_lang": source,
            "target_lang": target,
        }
    )


@app.post("/api/timezone")
def convert():
    """Convert a time to another zone."""
    text, source, target = fields("datetime", "from_timezone", "to_timezone")
    original = moment(text, source)
    return jsonify(
        {
            "success": True,
            "original_datetime": original.isoformat(),
            "converted_datetime": original.astimezone(zone(target)).isoformat(),
            "from_timezone": source,
            "to_timezone": target,
        }
    )


@app.post("/api/localize")
def localize():
    """Write a time as a locale does."""
    text, zone_name, locale = fields("datetime", "timezone", "locale")
    layout = FORMATS.get(locale.partition("_")[0])
    if layout is None:
        raise BadRequest(f"unknown locale {locale}")
    shown = moment(text, zone_name).strftime(layout)
    return jsonify({"success": True, "formatted_datetime": shown, "timezone": zone_name, "locale": locale})


if __name__ == "__main__":
    app.run(host="0.0.0.0", port=5000)
