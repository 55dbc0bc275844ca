"""Settings of the documentation site; `make docs` builds it."""

from importlib import metadata

project = "tagsight"
author = "The tagsight authors"
copyright = author
release = metadata.version("tagsight")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build"]
nitpicky = False

myst_enable_extensions = ["deflist", "dollarmath"]
myst_fence_as_directive = ["math"]  # GitHub and the site show the same equations
myst_heading_anchors = 3

default_role = "code"  # docstrings mark code with single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_numpy_docstring = True  # `StackedIBP`, as scikit-learn has it

html_theme = "furo"
html_title = f"tagsight {release}"
html_static_path: list[str] = []
copybutton_prompt_text = r"\$ |head\$ |other\$ "
copybutton_prompt_is_regexp = True
