from typing import Any

from ray import ObjectRef

class ActorHandle:
    def __getattr__(self, method: str) -> _ActorMethod: ...  # one of the actor's class

class _ActorMethod:
    def remote(self, *arguments: Any) -> ObjectRef[Any]: ...
