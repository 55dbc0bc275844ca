"""Messages on standard error."""

import os
import sys


def print_message(text: str) -> None:
    """Print one line on standard error; unprintable characters are escaped, since they could control a terminal."""
    try:
        print(f"tagsight: {escape_text(text)}", file=sys.stderr, flush=True)
    except OSError:  # the reader has ended, or the disk is full: the work continues
        discard_output(sys.stderr.fileno())


def escape_text(text: str) -> str:
    r"""The text with every character that is not printable replaced by an escape such as \x1b."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def discard_output(descriptor: int) -> None:
    """Discard everything that is written to a file descriptor from now on."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
