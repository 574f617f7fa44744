"""A leaderboard: runs packed so that others can check them, verification by grading again, and the page."""
