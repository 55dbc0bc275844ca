"""Signals: the first sets a flag, a second ends the process, and neither raises inside a library."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tagsight.errors import StoppedError
from tagsight.runtime.interrupts import Stop

ADVICE = "run it again"
WAIT = f"""
import sys, time
from tagsight.runtime.interrupts import STOP, install_handlers
install_handlers({ADVICE!r})
print("ready", flush=True)
while STOP.signal is None:
    time.sleep(0.01)
print("asked", flush=True)
if sys.argv[1] == "insists":
    time.sleep(600)
STOP.check()
"""
KERNEL = """
from tagsight.runtime.kernels import kernel

@kernel()
def twice(x):
    return 2 * x
"""
INTERRUPTED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from numba.core.codegen import JITCPUCodegen

library = JITCPUCodegen._library_class
hook = library._object_getbuffer_hook.__func__
asked = 0

def interrupt(cls, module):
    global asked
    asked += 1
    os.kill(os.getpid(), signal.SIGINT)  # its handler runs before the next line
    return hook(cls, module)

library._object_getbuffer_hook = classmethod(interrupt)
from one_kernel import twice
try:
    twice(2.0)
except KeyboardInterrupt:
    print("interrupted")
assert asked
print(twice(3.0))
"""


def test_a_signal_is_detected_at_the_next_check() -> None:
    stop = Stop()
    stop.check()
    stop.receive(signal.SIGTERM)
    with pytest.raises(StoppedError, match=r"^stopped by SIGTERM$"):
        stop.check()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_ends_the_process_at_once_with_one_sentence(number: signal.Signals) -> None:
    command = [sys.executable, "-c", WAIT, "insists"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "asked\n"
        process.send_signal(number)
        assert process.communicate()[1] == f"tagsight: stopped by {number.name}; {ADVICE}\n"
    assert process.returncode == 128 + number


def test_a_signal_that_the_parent_ignores_stays_ignored() -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = subprocess.Popen([sys.executable, "-c", WAIT, "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGHUP, before)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        stderr = process.communicate()[1].decode()
    assert stderr.strip().endswith(f"StoppedError: stopped by SIGTERM; {ADVICE}")


def test_an_interrupt_while_a_cached_kernel_is_loaded_does_not_damage_it(tmp_path: Path) -> None:
    """llvmlite drops an exception that is raised while it asks for cached code, and links an empty module."""
    (tmp_path / "one_kernel.py").write_text(KERNEL)
    compile_first = "import sys; sys.path.insert(0, sys.argv[1]); from one_kernel import twice; twice(1.0)"
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    for script, printed in ((compile_first, ""), (INTERRUPTED, "interrupted\n6.0\n")):
        run = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, env=environment
        )
        assert run.returncode == 0, run.stderr
        assert run.stdout == printed
        assert run.stderr == ""
