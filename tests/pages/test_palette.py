"""Colours that can be read on each other, in light and in dark."""

import pytest

from pages.palette import PALETTE, variables

READ_ON = {
    "page": ("ink", "quiet", "accent", "warning"),
    "card": ("ink", "quiet", "accent", "warning", "kv", *(n for n in PALETTE if n.startswith("series-"))),
    "warning-soft": ("ink",),
    "prefill-soft": ("ink", "quiet", "kv"),
    "decode-soft": ("ink", "quiet", "kv"),
    "kv-soft": ("kv",),
    "paid": ("on-colour",),
    "unpaid": ("on-colour",),
}
"""Words by what they stand on."""
SEEN_ON = {"card": ("paid", "unpaid", "prefill", "decode", "kv")}
"""Shapes by what they stand on, for which three times the light is enough."""


def light(colour: str) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((light(one), light(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("table", "least"), [(READ_ON, 4.5), (SEEN_ON, 3.0)])
def test_contrast(table: dict[str, tuple[str, ...]], least: float, scheme: str) -> None:
    weak = {
        (name, ground): round(found, 2)
        for ground, names in table.items()
        for name in names
        if (found := contrast(getattr(PALETTE[name], scheme), getattr(PALETTE[ground], scheme))) < least
    }
    assert weak == {}


def test_black_on_white_is_the_most_there_is() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def test_a_light_colour_says_which_one_it_is() -> None:
    assert len({colour.light for colour in PALETTE.values()}) == len(PALETTE)


def test_variables_are_those_of_the_scheme() -> None:
    assert f"--ink: {PALETTE['ink'].dark};" in variables("dark")
    assert variables("light").count("--") == len(PALETTE)
