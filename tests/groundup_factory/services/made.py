"""A small service in Flask, as a repository has it."""

APP = '''
from flask import Flask, jsonify, request

app = Flask(__name__)
notes = {}


@app.route("/health")
def health():
    return jsonify({"status": "well", "notes": len(notes)})


@app.route("/notes", methods=["POST"])
def add():
    """Keep a note, whose text is wanted."""
    data = request.get_json()
    if "text" not in data:
        return jsonify({"error": "a note needs a text"}), 400
    number = len(notes) + 1
    notes[number] = {"id": number, "text": data["text"], "done": data.get("done", False)}
    return jsonify(notes[number]), 201


@app.route("/notes/<int:number>")
def show(number):
    if number not in notes:
        return jsonify({"error": "no such note"}), 404
    return jsonify(notes[number])


@app.route("/notes/<int:number>", methods=["DELETE"])
def remove(number):
    if number not in notes:
        return jsonify({"error": "no such note"}), 404
    del notes[number]
    return "", 204


if __name__ == "__main__":
    app.run(host="0.0.0.0", port=5005)
'''
REPOSITORY = {
    "app.py": APP,
    "requirements.txt": "flask\n",
    "README.md": "# Notes\n\nKeeps notes in memory.\n\n```sh\npython app.py\n```\n",
    "LICENSE": "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy\n",
}
