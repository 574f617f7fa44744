#!/bin/bash
# Installs what is declared, as many start scripts do; it is there already.
cd "$(dirname "$0")/.." || exit 1
pip install -q -r requirements.txt || exit 1
exec gunicorn --threads 8 --bind 0.0.0.0:8080 game:app
