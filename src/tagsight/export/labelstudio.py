"""Label Studio: `tasks.json` with predictions (exact brush masks), and `config.xml`, the matching labelling interface.

A region is a brush mask with its score; its attributes are choices of that region, and their scores are in a note.
Masks are in the run-length format of Label Studio, `rle-pack`: row by row, over the values of red, green, blue and
alpha of each pixel, which are equal here.
"""

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

import numpy as np

from tagsight.data.vocabulary import Vocabulary
from tagsight.data.writers.xmltext import drop_illegal, quote_attribute
from tagsight.export.output import JsonList, OutputFile, Target
from tagsight.export.record import ExportedPhoto, Instance
from tagsight.export.runs import measure_runs
from tagsight.types import Array

LOCAL_FILES = "/data/local-files/?d="  # URL in Label Studio of a file below LOCAL_FILES_DOCUMENT_ROOT

WORD = 8  # bits of a value
SIZES = (3, 4, 8, 16)  # possible numbers of bits of a run's length
LONGEST = 1 << SIZES[-1]

FILES = TASKS, CONFIG = ("tasks.json", "config.xml")


def write(photos: Iterable[ExportedPhoto], target: Target) -> Iterator[OutputFile]:
    """Both files, after all photos."""
    tasks = JsonList()
    for photo in photos:
        results = [result for n in range(len(photo.instances)) for result in list_results(photo, n)]
        score = max((instance.score for instance in photo.instances), default=0.0)
        prediction = {"model_version": "tagsight", "score": score, "result": results}
        tasks.add({"data": {"image": LOCAL_FILES + quote(photo.name)}, "predictions": [prediction]})
    yield OutputFile(TASKS, tasks.to_json())
    yield OutputFile(CONFIG, make_config(target.vocabulary).encode())


def list_results(photo: ExportedPhoto, n: int) -> list[dict[str, Any]]:
    """A brush mask, and the choices for its attributes."""
    instance = photo.instances[n]
    width, height = photo.size
    region = {
        "id": f"object-{n + 1}",
        "to_name": "image",
        "original_width": width,
        "original_height": height,
        "image_rotation": 0,
    }
    value = {"format": "rle", "rle": list(encode_brush(photo.mask(n))), "brushlabels": [drop_illegal(instance.name)]}
    brush = region | {
        "type": "brushlabels",
        "from_name": "object",
        "value": value,
        "score": instance.score,
        "meta": {"text": [format_scores(instance)]},
    }
    if not instance.attributes:
        return [brush]
    chosen = [drop_illegal(attribute.name) for attribute in instance.attributes]
    return [brush, region | {"type": "choices", "from_name": "attributes", "value": {"choices": chosen}}]


def format_scores(instance: Instance) -> str:
    """The scores of an instance and its attributes, such as `horse 0.93, furry 0.88`."""
    return ", ".join(f"{one.name} {one.score:.2f}" for one in (instance, *instance.attributes))


def make_config(vocabulary: Vocabulary) -> str:
    """The labelling interface: brushes for the objects, choices per region for the attributes."""
    lines = ["<View>", '  <Image name="image" value="$image" zoom="true"/>']
    lines += ['  <BrushLabels name="object" toName="image">']
    lines += [f"    <Label value={quote_attribute(name)}/>" for name in vocabulary.objects]
    lines += ["  </BrushLabels>"]
    if vocabulary.attributes:
        lines += ['  <Choices name="attributes" toName="image" perRegion="true" choice="multiple">']
        lines += [f"    <Choice value={quote_attribute(name)}/>" for name in vocabulary.attributes]
        lines += ["  </Choices>"]
    return "\n".join([*lines, "</View>", ""])


def encode_brush(mask: Array) -> bytes:
    """A mask (H, W) as rle-pack.

    32 bits: number of values; 5 bits: bits of a value - 1; four times 4 bits: bits of each size - 1. Then for every run
    a 1, two bits that choose the size of its length, length - 1, and the value.
    """
    header = f"{4 * mask.size:032b}{WORD - 1:05b}" + "".join(f"{size - 1:04b}" for size in SIZES)
    runs: list[str] = []
    for n, length in enumerate((4 * measure_runs(mask.ravel())).tolist()):
        whole, rest = divmod(length, LONGEST)
        value = f"{255 * (n % 2):0{WORD}b}"
        runs += [_encode_length(LONGEST) + value] * whole
        runs += [_encode_length(rest) + value] if rest else []
    bits = np.frombuffer((header + "".join(runs)).encode(), np.uint8) - ord("0")
    return np.packbits(bits).tobytes()


def _encode_length(length: int) -> str:
    choice = next(n for n, size in enumerate(SIZES) if length <= 1 << size)
    return f"1{choice:02b}{length - 1:0{SIZES[choice]}b}"
