"""The picture of a page that the README shows."""

from PIL import Image

from docs.generate import picture
from tests.project import PROJECT


def test_it_is_as_large_as_it_is_taken_and_small_on_disk() -> None:
    with Image.open(picture.PICTURE) as taken:
        assert taken.size == picture.SIZE
    assert picture.PICTURE.stat().st_size <= 200_000


def test_the_readme_shows_it_and_says_of_which_stack() -> None:
    text = (PROJECT / "README.md").read_text()
    address = picture.PICTURE.relative_to(PROJECT)
    assert f"]({address})" in text
    assert f"make report STACK={picture.STACK}" in text
