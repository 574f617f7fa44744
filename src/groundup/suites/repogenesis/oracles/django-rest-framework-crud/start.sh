#!/bin/bash
set -e
python manage.py migrate --run-syncdb --verbosity 0
exec python manage.py runserver 0.0.0.0:8000 --noreload
