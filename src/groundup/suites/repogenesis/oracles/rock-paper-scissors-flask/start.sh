#!/bin/sh
exec flask --app web_app run --host 0.0.0.0 --port 5000
