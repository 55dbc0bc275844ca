"""XMP sidecars for photo managers: `NAME.jpg.xmp`, keywords flat (dc:subject) and nested ("horse|furry").

An existing sidecar keeps all its bytes, and keywords that it lacks are added. The format has no outlines or scores.
"""

from collections.abc import Iterable, Iterator

from tagsight.data.collection import Problem
from tagsight.data.readers.xmp import HIERARCHY, SUBJECT
from tagsight.data.writers.packet import Keywords
from tagsight.data.writers.sidecars import plan_sidecar, read_sidecar
from tagsight.export.output import Target, make_each
from tagsight.export.record import ExportedPhoto
from tagsight.storage.edits import FileChange


def write(photos: Iterable[ExportedPhoto], target: Target) -> Iterator[FileChange | Problem]:
    """One sidecar per photo, merged with the existing one."""

    def plan(photo: ExportedPhoto, name: str) -> FileChange:
        file = target.folder / name
        return plan_sidecar(file, read_sidecar(file), list_keywords(photo), create=(SUBJECT, HIERARCHY))

    yield from make_each(photos, lambda name: f"{name}.xmp", plan)


def list_keywords(photo: ExportedPhoto) -> Keywords:
    """Objects and attributes, each once, and attributes below their objects."""
    flat: dict[str, None] = {}
    nested: dict[tuple[str, ...], None] = {}
    for instance in photo.instances:
        flat[instance.name] = nested[instance.name,] = None
        for attribute in instance.attributes:
            flat[attribute.name] = nested[instance.name, attribute.name] = None
    return Keywords(tuple(flat), tuple(nested))
