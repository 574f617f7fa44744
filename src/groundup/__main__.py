"""`groundup` and `python -m groundup`: ^C ends them with a line, while modules load, too."""

import gc
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
    finally:
        gc.freeze()  # at its end Python looks for rubbish in all that was imported, which goes with the process
    sys.stderr.write("groundup: interrupted\n")
    return 130


if __name__ == "__main__":
    raise SystemExit(main())
