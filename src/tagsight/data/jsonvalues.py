"""The shapes of JSON values, told apart so that the type checker follows."""

from typing import Any, TypeGuard


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Tell whether a JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Tell whether a JSON value is a list."""
    return isinstance(value, list)


def is_words(value: Any) -> TypeGuard[list[str]]:
    """Tell whether a JSON value is a list of strings."""
    return is_list(value) and all(isinstance(item, str) for item in value)
