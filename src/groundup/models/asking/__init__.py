"""How endpoints are asked: requests to JSON, replies from JSON."""
