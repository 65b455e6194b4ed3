"""YAML as Pulumi's parser takes it, and one sentence without a value for what it refuses.

What is accepted was read by Pulumi's CLI 3.260.0 too, with the same result.
"""

from pathlib import Path
from typing import Any

import pytest

from ops.pulumi.yaml_file import YamlFileError, read

MARKER = "hf_MARKER"


def written(folder: Path, text: str | bytes) -> Any:
    file = folder / "Pulumi.x.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(file)


def test_what_only_yaml_1_1_takes_for_something_else_is_text(tmp_path: Path) -> None:
    assert written(tmp_path, "{a: 017, b: 1_000, c: '1:30', d: 1:30, e: off, f: NO, g: y, h: true, i: ~}") == {
        "a": 15, "b": 1000, "c": "1:30", "d": "1:30", "e": "off", "f": "NO", "g": "y", "h": True, "i": None,
    }  # fmt: skip
    assert written(tmp_path, "{2: a, true: b, on: c, 1.5: d}") == {
        "2": "a",
        "true": "b",
        "on": "c",
        "1.5": "d",
    }


def test_an_alias_stands_for_what_it_names(tmp_path: Path) -> None:
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: [*a, *a]"
    one = {"x": 1, "y": 2}
    assert written(tmp_path, text) == {"a": one, "b": {"x": 3, "y": 2}, "c": [one, one]}


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)
TOO_DEEP = ": its values are nested deeper than 50 levels"
IN_QUOTES = "which Pulumi hands on in other words; write it in quotes"
REFUSED: dict[str, tuple[str | bytes, str]] = {
    "a date": ("t: {at: 2026-11-21}", f": t.at: of type date, {IN_QUOTES}"),
    "a time": ("t: [2026-11-21T10:00:00Z]", f": t[0]: of type datetime, {IN_QUOTES}"),
    "bytes": ("t: !!binary aGVsbG8=", f": t: of type bytes, {IN_QUOTES}"),
    "a set": ("t: !!set {a, b}", f": t: of type set, {IN_QUOTES}"),
    "no key": ("~: x", ": None is no key; write it in quotes"),
    "endless": ("t: .inf", ": t: inf is no number that Pulumi takes; write a finite one"),
    "no number": ("t: {a: .nan}", ": t.a: nan is no number that Pulumi takes; write a finite one"),
    "a key twice": ("a: 1\nb: {c: 1, c: 2}", ": a key is there twice in line 2, column 11"),
    "inside itself": ("t: &t {more: *t}", TOO_DEEP),
    "deep": ("t: " + "[" * 400 + "]" * 400, TOO_DEEP),
    "deeper": ("t: " + "[" * 4000 + "]" * 4000, TOO_DEEP),
    "aliases of aliases": (
        BOMB,
        ": it holds more than 10000 values, each alias counted as what it stands for",
    ),
    "a long number": ("t: " + "9" * 5000, ": one of its values is not what its tag says, or too long"),
    "a number of more than 64 bits": (
        f"t: {{a: {2**64}}}",
        ": t.a: more than 64 bits, which Pulumi rounds; write a smaller one",
    ),
    "a long hexadecimal": (
        "t: 0x" + "f" * 5000,
        ": t: more than 64 bits, which Pulumi rounds; write a smaller one",
    ),
    "half a character": ('{a: 1, b: "x\\ud800"}', ": half a character in line 1, column 11"),
    "half a character in a key": ('{a: 1, "\\udfff": b}', ": half a character in line 1, column 8"),
    "a tag of nothing": ("t: !!float ''", ": one of its values is not what its tag says, or too long"),
    "a truth that is none": ("t: !!bool x", ": one of its values is not what its tag says, or too long"),
    "a name that cannot be seen": (
        '"\\x1b[31m": .nan',
        ": \\x1b[31m: nan is no number that Pulumi takes; write a finite one",
    ),
    "a long name": (
        f"t: {{? {'a' * 5000} : .inf}}",
        f": t.{'a' * 120}… (5000 characters): inf is no number that Pulumi takes; write a finite one",
    ),
    "a long name that is none": (
        f"? !!binary {'YWFh' * 1000}\n: x",
        f": b'{'a' * 118}… (3003 characters) is no key; write it in quotes",
    ),
    "no Unicode": ("t: \xe9".encode("latin-1"), " cannot be read: it is not text in UTF-8"),
    "UTF-16": ("t: x".encode("utf-16"), " cannot be read: it is not text in UTF-8"),
    "a control character": ("t: \x01", " cannot be read: it is not text in UTF-8"),
    "a list": ("- a", " is not a mapping of keys to values"),
    "nothing": ("", " is not a mapping of keys to values"),
    "half": ("a: [", " is not YAML in line 1, column 5: expected the node content, but found '<stream end>'"),
    "a token with a colon": (
        f"a: {{token: {MARKER}: : [",
        " is not YAML in line 1, column 21: expected ',' or '}', but got ':'",
    ),
    "a token after a sign": (
        f"token: @{MARKER}",
        " is not YAML in line 1, column 8: found character '@' that cannot start any token",
    ),
    "a token as alias": (f"token: *{MARKER}", " is not YAML in line 1, column 8: found undefined alias"),
    "a token as tag": (
        f"token: !{MARKER} x",
        " is not YAML in line 1, column 8: could not determine a constructor for the tag",
    ),
    "a token as handle": (
        "token: !hfMARKER!x y",
        " is not YAML in line 1, column 8: found undefined tag",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_with_this_message(tmp_path: Path, name: str) -> None:
    text, message = REFUSED[name]
    with pytest.raises(YamlFileError) as error:
        written(tmp_path, text)
    assert str(error.value) == f"Pulumi.x.yaml{message}"


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(YamlFileError) as error:
        read(tmp_path)
    assert str(error.value) == f"{tmp_path.name} cannot be read: Is a directory"
