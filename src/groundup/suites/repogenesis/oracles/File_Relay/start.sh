#!/bin/bash
cd "$(dirname "$0")" && exec python -m uvicorn relay.api:app --host 0.0.0.0 --port 8085
