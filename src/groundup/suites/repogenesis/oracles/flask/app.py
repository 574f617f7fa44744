"""Echo and sum: the reference service of the task flask, whose tests use none."""

from flask import Flask, Response, jsonify, request

app = Flask(__name__)


@app.get("/health")
def health() -> Response:
    return jsonify(status="ok")


@app.post("/echo")
def echo() -> tuple[Response, int]:
    body = request.get_json(silent=True)
    message = body.get("message") if isinstance(body, dict) else None
    if not isinstance(message, str):
        return jsonify(error="message must be a string"), 400
    return jsonify(message=message, length=len(message)), 200


@app.get("/sum")
def total() -> tuple[Response, int]:
    try:
        numbers = [int(request.args[name]) for name in ("a", "b")]
    except (KeyError, ValueError):
        return jsonify(error="a and b must be integers"), 400
    return jsonify(result=sum(numbers)), 200


if __name__ == "__main__":
    app.run(host="0.0.0.0", port=5000, threaded=True)
