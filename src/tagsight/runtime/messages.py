"""Messages on standard error."""

import os
import sys


def print_message(text: str) -> None:
    """Print one line on standard error; characters that are not printable, and could act on a terminal, are escaped."""
    try:
        print(f"tagsight: {escape_text(text)}", file=sys.stderr, flush=True)
    except OSError:  # its reader has ended, or its disk is full: the work continues
        discard_output(sys.stderr.fileno())


def escape_text(text: str) -> str:
    r"""The text with every character that is not printable as an escape such as \x1b."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def discard_output(descriptor: int) -> None:
    """Discard what is written to a file descriptor from now on."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
