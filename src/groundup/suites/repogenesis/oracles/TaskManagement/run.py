"""Starts the service."""

import uvicorn

if __name__ == "__main__":
    uvicorn.run("service.application:app", host="0.0.0.0", port=8080)
