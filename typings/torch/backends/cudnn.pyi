from contextlib import AbstractContextManager

def flags(
    enabled: bool = False, *, benchmark: bool = False, deterministic: bool = False, allow_tf32: bool = True
) -> AbstractContextManager[None]: ...
