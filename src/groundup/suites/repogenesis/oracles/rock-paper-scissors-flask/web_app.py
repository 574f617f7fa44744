"""Rock, paper, scissors in HTML: the reference service of the task rock-paper-scissors-flask."""

import random

from flask import Flask, render_template_string, request

app = Flask(__name__)
BEATS = {"rock": "scissors", "paper": "rock", "scissors": "paper"}
HOME = """<!doctype html>
<html><head><title>Rock-Paper-Scissors App</title></head><body>
<form action="/results" method="POST">
{% for choice in choices %}<label><input type="radio" name="choice" value="{{ choice }}">{{ choice }}</label>
{% endfor %}<button>Play</button></form></body></html>
"""
RESULTS = """<!doctype html>
<html><head><title>Rock-Paper-Scissors App</title></head><body>
<p>You chose: {{ user }}</p><p>The computer chose: {{ computer }}</p><p>Results: {{ message }}</p>
</body></html>
"""


@app.get("/")
def home():
    """Return the form."""
    return render_template_string(HOME, choices=BEATS)


@app.route("/results", methods=["GET", "POST"])
def results():
    """Play one game; what is no choice counts as rock."""
    user = request.values.get("choice", "rock")
    user = user if user in BEATS else "rock"
    computer = random.choice(list(BEATS))
    message = "You win!" if BEATS[user] == computer else "It's a tie!" if user == computer else "You lose!"
    return render_template_string(RESULTS, user=user, computer=computer, message=message)


if __name__ == "__main__":
    app.run(host="0.0.0.0", port=5000)
