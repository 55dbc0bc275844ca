"""The errors of reading an index."""

from tagsight.errors import InputError, TagsightError


class UnknownPhotoError(InputError):
    """No photo of the index has this number."""

    def __init__(self, photo: int):
        super().__init__(photo)
        self.photo = photo

    def __str__(self) -> str:
        return f"photo {self.photo} is not in the index"


class LostIndexError(InputError):
    """The folder holds no index, or one with a missing or damaged file."""


class BusyError(TagsightError):
    """The index cannot answer now. The same request may succeed later."""
