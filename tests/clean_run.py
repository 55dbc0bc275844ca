"""Run pytest, and fail if its process writes to standard error: libraries report leaks there after the last test."""

import subprocess
import sys
from tempfile import TemporaryFile

if __name__ == "__main__":
    with TemporaryFile("w+", encoding="utf-8") as errors:
        code = subprocess.run([sys.executable, "-m", "pytest", *sys.argv[1:]], stderr=errors).returncode
        errors.seek(0)
        written = errors.read()
    sys.stderr.write(written)
    if written.strip() and not code:
        sys.exit("the tests pass, but their process wrote to standard error: see above")
    sys.exit(code)
