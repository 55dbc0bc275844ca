"""tagsight models."""

from textwrap import fill
from typing import Any

from tagsight.cli.arguments import AsJson
from tagsight.cli.console import print_json, show_text
from tagsight.predict.model_file import load_model
from tagsight.predict.shipped import SHIPPED, STARTER, ShippedModel, read_figures

WIDTH = 100  # columns of the text


def run(json: AsJson = False) -> None:
    """List the models that tagsight ships: their words, training photos, accuracy and limits."""
    cards = [make_card(name, shipped) for name, shipped in SHIPPED.items()]
    if json:
        print_json(cards)
    else:
        for card in cards:
            print(format_card(card))


def make_card(name: str, shipped: ShippedModel) -> dict[str, Any]:
    """The card of a shipped model as a JSON value."""
    model = load_model(shipped.path)
    return {
        "name": name,
        "default": name == STARTER,
        "path": str(shipped.path),
        "bytes": shipped.path.stat().st_size,
        "objects": list(model.vocabulary.objects),
        "attributes": list(model.vocabulary.attributes),
        "features": model.extractor_config.features,
        "training": {
            "photos": model.training.n_photos,
            "source": shipped.source,
            "seed": model.training.seed,
            "version": model.training.version,
        },
        "figures": read_figures(shipped)._asdict(),
        "limits": list(shipped.limits),
        "licence": shipped.licence,
    }


def format_card(card: dict[str, Any]) -> str:
    """The card of a shipped model as lines of text."""
    figures, training = card["figures"], card["training"]
    used = " (used if a command names no model)" if card["default"] else ""
    accuracy = (
        f"on {figures['n_photos']:,} test photos of the same source, the object named first is in the photo in "
        f"{figures['object_right']:.1%}, and {figures['precision_at_5']:.1%} of its first 5 attributes are right; "
        f"mean IoU of outlines {figures['miou']:.1%}"
    )
    parts = {
        "objects": f"{len(card['objects'])}: {', '.join(map(show_text, card['objects']))}",
        "attributes": f"{len(card['attributes'])}: {', '.join(map(show_text, card['attributes']))}",
        "trained on": f"{training['photos']:,} photos: {training['source']}",
        "accuracy": accuracy,
        "limits": "; ".join(card["limits"]),
        "licence": card["licence"],
    }
    lines = [_wrap(name, text) for name, text in parts.items()]
    return "\n".join([f"{card['name']}{used}", *lines, f"  {'file':12}{show_text(card['path'])}"])


def _wrap(name: str, text: str) -> str:
    return fill(text, WIDTH, initial_indent=f"  {name:12}", subsequent_indent=" " * 14)
