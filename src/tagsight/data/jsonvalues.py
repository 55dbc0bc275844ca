"""Type guards for JSON values, which the type checker understands."""

from typing import Any, TypeGuard


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether a JSON value is a list."""
    return isinstance(value, list)


def is_words(value: Any) -> TypeGuard[list[str]]:
    """Whether a JSON value is a list of strings."""
    return is_list(value) and all(isinstance(item, str) for item in value)
