"""The command line of the reference service of the task django-rest-framework-crud."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cinema.settings")  # noqa: TID251
    execute_from_command_line(sys.argv)
