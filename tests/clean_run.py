"""Run pytest in several processes; fail if one writes to standard error, where leaks are reported at exit."""

import subprocess
import sys
from tempfile import TemporaryFile

PARALLEL = ("--numprocesses", "auto", "--maxprocesses", "4", "--dist", "worksteal")

if __name__ == "__main__":
    with TemporaryFile("w+", encoding="utf-8") as errors:
        code = subprocess.run([sys.executable, "-m", "pytest", *PARALLEL, *sys.argv[1:]], stderr=errors).returncode
        errors.seek(0)
        written = errors.read()
    sys.stderr.write(written)
    if written.strip() and not code:
        sys.exit("the tests pass, but one of their processes wrote to standard error: see above")
    sys.exit(code)
