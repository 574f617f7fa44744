"""How endpoints are asked: requests as JSON, and what their replies say."""
