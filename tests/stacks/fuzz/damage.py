"""Stack files that are written as no file should be: bytes, encodings, and YAML that no parser likes."""

import random as chance
from collections.abc import Callable, Mapping

_BOMB = b"a: &a [x, x, x, x, x, x, x, x, x]\n" + b"".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n".encode()
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)
WHOLE: Mapping[str, bytes] = {
    "nothing": b"",
    "a line's end": b"\n",
    "a comment": b"# nothing\n",
    "null": b"null\n",
    "a text": b"text\n",
    "a number": b"42\n",
    "a list": b"- a\n",
    "only NUL": b"\x00" * 100,
    "an executable": b"\x7fELF\x02\x01\x01\x00" + bytes(range(256)) * 4,
    "an archive": b"\x1f\x8b\x08\x00" + bytes(range(255, -1, -1)),
    "JSON": b'{"config": {"dynamo-gpt-oss:target": "mocker-disagg-cpu"}}',
    "a page": b"<html><body>404</body></html>",
    "no config": b"encryptionsalt: v1:x\n",
    "an empty config": b"config:\n",
    "a config that is a list": b"config: [a, b]\n",
    "a config that is a text": b"config: text\n",
    "a config in a config": b"config: {config: {config: {}}}\n",
    "another program's alone": b"config: {'aws:region': us-east-2}\n",
    "an environment": b"environment: [base]\nconfig: {}\n",
    "an environment of no form": b"environment: {a: [{b: 1}]}\n",
    "an environment of none": b"environment: [{}, null, [a]]\nconfig: {}\n",
    "aliases of aliases": _BOMB,
    "inside itself": b"config: &c {more: *c}\n",
    "deep": b"config: " + b"[" * 5000,
    "deep and closed": b"config: " + b"[" * 400 + b"]" * 400,
    "deep maps": b"config: " + b"{a: " * 400 + b"}" * 400,
    "a merge of itself": b"config: &a\n  <<: *a\n",
    "a merge of a text": b"config: {<<: text}\n",
    "a merge of a list": b"config: {<<: [1, 2]}\n",
    "no key": b"config: {~: x, [a]: b, {c: d}: e}\n",
    "a number as key": b"config: {1: a, 1.5: b, true: c}\n",
    "an object of Python's": b"config: !!python/object/apply:os.system ['id']\n",
    "a tag": b"config: !mine {a: 1}\n",
    "a date": b"config: {tags: {more: {a: 2026-11-21}}}\n",
    "a broken date": b"config: {tags: {more: {a: 2026-99-99}}}\n",
    "bytes": b"config: {target: !!binary aGVsbG8=}\n",
    "bytes that are none": b"config: {target: !!binary '=='}\n",
    "a set": b"config: {target: !!set {a, b}}\n",
    "pairs": b"config: {target: !!pairs [a: b]}\n",
    "an int that is none": b"config: {target: !!int abc}\n",
    "an int of nothing": b"config: {target: !!int ''}\n",
    "a float of nothing": b"config: {target: !!float ''}\n",
    "a bool that is none": b"config: {target: !!bool abc}\n",
    "a null with words": b"config: {target: !!null abc}\n",
    "a map that is none": b"config: !!map [a]\n",
    "a text that is a map": b"config: {target: !!str {a: b}}\n",
    "a number of 5000 digits": b"config: {target: " + b"9" * 5000 + b"}\n",
    "a hexadecimal of 5000 digits": b"config: {target: 0x" + b"f" * 5000 + b"}\n",
    "an octal": b"config: {target: 0o17, pool: 08}\n",
    "a number of underscores": b"config: {target: 0x_, pool: 1__0, graph: 0b_}\n",
    "a directive": b"%YAML 9.9\n---\nconfig: {}\n",
    "an unknown directive": b"%FOO bar\n---\nconfig: {}\n",
    "a key of a thousand characters": b"config: {" + b"k" * 2000 + b": 1}\n",
    "a complex key": b"config:\n  ? [a, b]\n  : c\n",
    "an escape of no character": b'config: {target: "\\ud800"}\n',
    "an escape of half a pair in a key": b'config: {"\\ud800": 1}\n',
    "an escape of half a pair in a namespace": b'config: {"aws:\\udfff": "\\ud800"}\n',
    "an escape beyond Unicode": b'config: {target: "\\U00110000"}\n',
    "an unknown escape": b'config: {target: "\\q"}\n',
    "a half escape": b'config: {target: "\\x4',
}
"""By what each is."""
_SIGNS = b"[]{}:,&*!|>'\"%@`#?-"
PARTS: Mapping[str, Callable[[bytes, chance.Random], bytes]] = {
    "BOM": lambda content, _: b"\xef\xbb\xbf" + content,
    "CRLF": lambda content, _: content.replace(b"\n", b"\r\n"),
    "CR": lambda content, _: content.replace(b"\n", b"\r"),
    "tabs": lambda content, _: content.replace(b"  ", b"\t"),
    "UTF-16": lambda content, _: content.decode().encode("utf-16"),
    "UTF-32": lambda content, _: content.decode().encode("utf-32"),
    "Latin": lambda content, _: content + "# é\n".encode("latin-1"),
    "two documents": lambda content, _: content + b"---\n" + content,
    "an end of document": lambda content, _: content + b"...\n",
    "a key twice": lambda content, _: content + content,
    "cut off": lambda content, random: content[: random.randrange(len(content))],
    "a byte more": lambda content, random: _with(content, random, bytes([random.randrange(256)])),
    "a sign more": lambda content, random: _with(
        content, random, random.choice(list(b"[]{}:,&*!|>'\"%@`#?-")).to_bytes()
    ),
    "a line less": lambda content, random: b"\n".join(_without_one(content.split(b"\n"), random)),
    "a line twice": lambda content, random: b"\n".join(_one_twice(content.split(b"\n"), random)),
    "NUL": lambda content, random: _with(content, random, b"\x00"),
    "half a character": lambda content, random: _with(content, random, b"\xed\xa0\x80"),
    "a surrogate's bytes": lambda content, random: _with(content, random, b"\xf0\x9f\x92"),
    "lines of another kind": lambda content, _: content.replace(b"\n", "\u2028".encode()),
    "long": lambda content, _: content + b"# " + b"x" * 1_000_000 + b"\n",
}
"""By what is done to a file that was right."""


def damaged(content: bytes, random: chance.Random) -> bytes:
    """One of those that are wrong as a whole, or the content with something done to it."""
    if random.random() < 0.3:
        return random.choice([*WHOLE.values()])
    return random.choice([*PARTS.values()])(content, random)


def _with(content: bytes, random: chance.Random, more: bytes) -> bytes:
    place = random.randrange(len(content) + 1)
    return content[:place] + more + content[place:]


def _without_one(lines: list[bytes], random: chance.Random) -> list[bytes]:
    place = random.randrange(len(lines))
    return lines[:place] + lines[place + 1 :]


def _one_twice(lines: list[bytes], random: chance.Random) -> list[bytes]:
    place = random.randrange(len(lines))
    return [*lines[:place], lines[place], *lines[place:]]
