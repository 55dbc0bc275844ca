from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from numpy.typing import NDArray

class SessionOptions:
    intra_op_num_threads: int
    inter_op_num_threads: int
    log_severity_level: int
    def add_session_config_entry(self, key: str, value: str) -> None: ...

class NodeArg:
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def shape(self) -> list[int | str | None]: ...

class InferenceSession:
    def __init__(
        self,
        path_or_bytes: bytes | str | PathLike[str],
        sess_options: SessionOptions | None = None,
        providers: Sequence[str] | None = None,
    ) -> None: ...
    def get_inputs(self) -> list[NodeArg]: ...
    def get_outputs(self) -> list[NodeArg]: ...
    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]: ...
