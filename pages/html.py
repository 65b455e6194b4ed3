"""Templates as pages that need no other file."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from pages.palette import variables


def environment(*packages: str) -> Environment:
    """Jinja2 with the templates of the packages, and behind them those that all pages share."""
    folders = [files(package) for package in (*packages, "pages.templates")]

    def source(name: str) -> str | None:
        return next(
            (folder.joinpath(name).read_text() for folder in folders if folder.joinpath(name).is_file()), None
        )

    return Environment(
        loader=FunctionLoader(source),
        autoescape=lambda name: name is not None and ".html" in name,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render(package: str, template: str, content: Mapping[str, Any]) -> str:
    """A template of a package; what is a page extends `base.html.j2`."""
    colours = {"light": variables("light"), "dark": variables("dark")}
    return environment(package).get_template(template).render(colours=colours, **content)
