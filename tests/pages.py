"""The code blocks of documentation pages, and an environment in which their commands run."""

import os
import re
import sys
from pathlib import Path


def read_blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def read_commands(page: Path) -> list[str]:
    """The lines of all shell blocks."""
    return [line for block in read_blocks(page, "sh") for line in block.splitlines()]


def make_environment(cache: Path) -> dict[str, str]:
    """An environment with this Python's commands first in the path and its own feature cache."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "TAGSIGHT_CACHE": str(cache)}
