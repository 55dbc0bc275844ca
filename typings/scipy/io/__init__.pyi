from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

def loadmat(
    file_name: str | PathLike[str], *, variable_names: Sequence[str] | None = None, squeeze_me: bool = False
) -> dict[str, Any]: ...
def savemat(file_name: str | PathLike[str], mdict: Mapping[str, Any]) -> None: ...
