#!/bin/bash
cd "$(dirname "$0")/.." && exec gunicorn --workers 1 --threads 8 --bind 0.0.0.0:8081 users:app
