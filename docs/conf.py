"""Settings of Sphinx for the site: `python -m sphinx -W docs site` writes it, without a network."""

from __future__ import annotations

import sys
from pathlib import Path

import poplite

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "poplite"
author = "The poplite developers"
version = release = poplite.__version__
html_title = f"poplite {version}"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "myst_nb",
    "public_names",
]
exclude_patterns = ["description.md", "_extensions", "_static"]  # of the package index
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}

# Pages: Markdown as it is read in a repository, where headings can be linked to.
myst_heading_anchors = 4
nb_execution_mode = "off"  # the tests execute notebooks and compare what they print
nb_render_error_lexer = "text"

# Docstrings: names in single backquotes are links where there is such a name.
default_role = "name"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_type_aliases = {
    "AxesLike": "AxesLike",
    "ElementTypeLike": "ElementTypeLike",
    "MappingLike": "MappingLike",
    "npt.ArrayLike": "ArrayLike",
    "ShapeLike": "ShapeLike",
    "TypeLike": "ElementTypeLike",
}
python_display_short_literal_types = True
python_maximum_signature_line_length = 88
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
toc_object_entries = False

html_theme = "furo"
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
pygments_dark_style = "github-dark"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
