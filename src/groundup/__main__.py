"""`groundup` and `python -m groundup`: ^C ends them with a line, while modules load, too."""

import sys


def main() -> int:
    """Run one command; return its exit code."""
    try:
        from groundup.cli.main import main as run_command

        return run_command()
    except KeyboardInterrupt:
        pass
    except RuntimeError as error:
        if not isinstance(error.__cause__, KeyboardInterrupt):  # which Python wraps while it makes a class
            raise
    sys.stderr.write("groundup: interrupted\n")
    return 130


if __name__ == "__main__":
    raise SystemExit(main())
