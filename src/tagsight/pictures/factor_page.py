"""A page that lists every factor with example crops."""

from base64 import b64encode

from jinja2 import Environment, PackageLoader

from tagsight.predict.factors import Factor
from tagsight.predict.trained_model import TrainedModel


def render_factors(model: TrainedModel, factors: list[Factor]) -> str:
    """A page as HTML with its pictures embedded; names are escaped."""
    template = open_templates().get_template("factors.html")
    pictures = [[inline_jpeg(example_crop.jpeg) for example_crop in row] for row in model.example_crops]
    return template.render(factors=list(zip(factors, pictures, strict=True)), n_photos=model.training.n_photos)


def open_templates() -> Environment:
    """The templates of this package; every value is escaped."""
    return Environment(loader=PackageLoader("tagsight.pictures"), autoescape=True, trim_blocks=True)


def inline_jpeg(content: bytes) -> str:
    """A JPEG as a data URL."""
    return "data:image/jpeg;base64," + b64encode(content).decode()
