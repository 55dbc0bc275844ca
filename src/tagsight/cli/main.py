"""The `tagsight` command: the one place that turns errors into sentences and exit codes.

Signals are handled before anything else is imported: a library that is being imported may drop a KeyboardInterrupt.
"""

import os
import sys
from collections.abc import Callable
from typing import NoReturn

from tagsight.errors import StoppedError, TagsightError
from tagsight.runtime.interrupts import STOP, ignore_signals, install_handlers

ADVICE = {  # how to go on with a command that was stopped
    "train": "the same command with --resume goes on from here",
    "annotate": "the photos printed are done; run the command again for the others",
    "segment": "the masks written are complete; run the same command again for the others",
    "export": "no file is half-written; run the same command again for the whole export",
    "index": "the same command goes on from here",
    "serve": "run the same command to serve again",
    "demo": "run the same command to begin again; photos that are described are not described again",
}


def main() -> None:
    """Run the command line; the process ends after it."""
    arguments = sys.argv[1:]

    def run() -> None:
        from tagsight.cli.app import choose_commands, make_app

        make_app(choose_commands(arguments))()

    run_command(run, ADVICE.get("".join(arguments[:1]), "run the same command again"))


def run_command(run: Callable[[], None], advice: str) -> None:
    """Call `run`; turn its errors into one sentence and an exit code. `advice` says how to continue after a signal."""
    install_handlers(advice)
    from tagsight.cli.console import flush_output, prepare_output, print_warnings

    prepare_output()
    print_warnings()
    try:
        run()
    except StoppedError as error:
        _end_stopped(error)
    except TagsightError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{os.fsdecode(error.filename or 'a file')} cannot be read or written: {error.strerror or error}")
    finally:
        ignore_signals()
        flush_output()


def _end_stopped(error: StoppedError) -> NoReturn:
    from tagsight.runtime.messages import print_message

    ignore_signals()  # one sentence is enough
    print_message(str(error))
    sys.exit(128 + error.signal)


def _fail(reason: str) -> NoReturn:
    """End with the reason; with the signal's sentence where one came, since it may be the cause of the failure."""
    from tagsight.runtime.messages import print_message

    if STOP.asked is not None:
        _end_stopped(StoppedError(STOP.asked, STOP.advice))
    print_message(reason)
    sys.exit(1)
