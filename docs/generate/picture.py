"""Takes the picture of a stack's page that the README shows: `python -m docs.generate.picture`; needs a Chromium."""

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

PROJECT = Path(__file__).parents[2]
PICTURE = PROJECT / "docs" / "pictures" / "report.png"
STACK = "disagg-b200"
SIZE = (1280, 812)
"""Pixels: down to the end of the topology."""
_COLOURS = 128
"""As many are enough for a page without photographs, and a third of the size."""
_PROGRAMS = ("chromium", "google-chrome")


def take(page: Path, program: str) -> bytes:
    """The upper part of a page, as PNG."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        view = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]}, color_scheme="light")
        view.goto(page.as_uri())
        taken = view.screenshot()
        browser.close()
    return taken


def main() -> None:
    """Write the page of the stack, take its picture, and make that small."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        sys.exit(f"none of {', '.join(_PROGRAMS)} is on PATH")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        verb = [sys.executable, "-m", "ops", "report", f"--stack={STACK}", f"--out={page}"]
        subprocess.run(verb, cwd=PROJECT, check=True)
        picture = Image.open(io.BytesIO(take(page, program)))
    picture.convert("RGB").quantize(_COLOURS).save(PICTURE, optimize=True)
    print(PICTURE.relative_to(PROJECT))


if __name__ == "__main__":
    main()
