"""The `tagsight` command: errors become a message and an exit code here and nowhere else.

Signals are handled before anything else is imported: a library that is being imported may drop a KeyboardInterrupt.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

from tagsight.errors import StoppedError, TagsightError
from tagsight.runtime.interrupts import STOP, ignore_signals, install_handlers
from tagsight.runtime.messages import print_message

ADVICE = {  # how to continue a command that was stopped
    "train": "the same command with --resume continues from here",
    "annotate": "the photos printed are done; run the command again for the others",
    "segment": "the masks written are complete; run the same command again for the others",
    "export": "no file is half-written; run the same command again for the whole export",
    "write-back": "every file is as it was or complete; run the same command again for the others",
    "index": "the same command continues from here",
    "serve": "run the same command to serve again",
    "demo": "run the same command to start again; features that were extracted are not extracted again",
}


def main() -> None:
    """Run the command line; the process ends after it."""
    with exit_with_code(ADVICE.get("".join(sys.argv[1:2]), "run the same command again")):
        from tagsight.cli.app import make_app

        make_app()()


@contextmanager
def exit_with_code(advice: str) -> Generator[None]:
    """Turn errors of the block into a message and an exit code; `advice` states how to continue after a signal."""
    install_handlers(advice)
    from tagsight.cli.console import flush_output, prepare_output, print_warnings

    prepare_output()
    print_warnings()
    try:
        yield
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
    ignore_signals()  # one message is enough
    print_message(str(error))
    sys.exit(128 + error.signal)


def _fail(reason: str) -> NoReturn:
    """End with the reason, or with the signal's message if a signal came, since it may have caused the failure."""
    if STOP.signal is not None:
        _end_stopped(StoppedError(STOP.signal, STOP.advice))
    print_message(reason)
    sys.exit(1)
