"""A YAML file as Pulumi's CLI reads it: what its parser, Go's, takes for text is text, what it refuses is refused."""

import math
import re
from pathlib import Path
from typing import Any

import yaml

from stacks.hidden import cut, visible
from targets.errors import UserError

_VALUES = 10_000
"""Far more than any file holds; aliases of aliases make billions of a few lines."""
_DEPTH = 50
_BITS = 64
_TOO_DEEP = f"its values are nested deeper than {_DEPTH} levels"
_OWN_WORDS = re.compile("(alias|anchor|tag|handle) .*")
"""Where the parser's message goes on in the file's words."""
_HALF = re.compile("[\ud800-\udfff]")
"""What an escape can make, and no encoding has."""
_TAG = "tag:yaml.org,2002:"


class YamlFileError(UserError):
    """The file cannot be read, or Pulumi could not read it; the message shows no value of it."""

    def __init__(self, message: str) -> None:
        super().__init__(visible(message))


class _Loader(yaml.SafeLoader):
    """YAML 1.1 without what Go leaves as text: `yes`, `off` and their like, `1:30`."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, match) for tag, match in each if tag not in (f"{_TAG}bool", f"{_TAG}int")]
    for first, each in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    f"{_TAG}bool", re.compile("^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_Loader.add_implicit_resolver(
    f"{_TAG}int",
    re.compile("^[-+]?(?:0|0b[01_]+|0[0-7_]+|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$"),
    list("-+0123456789"),
)


def read(path: Path) -> dict[str, Any]:
    """Its keys and values: text, numbers, truth values, None, lists, mappings. Raises YamlFileError."""
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), _Loader)
        if problem := _problem(node):
            raise YamlFileError(f"{path.name}: {problem}")
        content = _Loader("").construct_document(node) if node else None
    except yaml.MarkedYAMLError as error:
        what = _OWN_WORDS.sub(r"\1", error.problem or "it ends too early")
        raise YamlFileError(f"{path.name} is not YAML{_place(error.problem_mark)}: {what}") from None
    except (OSError, UnicodeError, yaml.reader.ReaderError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise YamlFileError(f"{path.name} cannot be read: {reason}") from None
    except RecursionError:
        raise YamlFileError(f"{path.name}: {_TOO_DEEP}") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        # What PyYAML's constructors raise for `!!float ''`, `!!bool x`, `!!int []`.
        raise YamlFileError(f"{path.name}: one of its values is not what its tag says, or too long") from None
    if not isinstance(content, dict):
        raise YamlFileError(f"{path.name} is not a mapping of keys to values")
    return {_key(path.name, key): _plain(path.name, _shown(key), value) for key, value in content.items()}


def _problem(root: yaml.Node | None) -> str:
    """What would hang the reading of it, or is lost by it without a word."""
    ahead, seen = [(root, 0)] if root else [], 0
    while ahead:
        node, depth = ahead.pop()
        seen += 1
        if depth > _DEPTH:
            return _TOO_DEEP
        if seen > _VALUES:
            return f"it holds more than {_VALUES} values, each alias counted as what it stands for"
        below = node.value if isinstance(node, yaml.CollectionNode) else ()
        keys = [key for key, _ in below] if isinstance(node, yaml.MappingNode) else []
        for each in (node, *keys):
            if isinstance(each, yaml.ScalarNode) and _HALF.search(each.value):
                return f"half a character{_place(each.start_mark)}"
        if isinstance(node, yaml.MappingNode):
            # In reverse, so that it is the second one that is named.
            names = [key.value for key, _ in below if isinstance(key, yaml.ScalarNode) and key.value != "<<"]
            for key, _ in reversed(below):
                if names.count(key.value) > 1:
                    return f"a key is there twice{_place(key.start_mark)}"
            below = [value for _, value in below]
        ahead += [(each, depth + 1) for each in below]
    return ""


def _place(mark: yaml.Mark | None) -> str:
    return f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""


def _key(file: str, key: Any) -> str:
    if not isinstance(key, str | int | float):
        raise YamlFileError(f"{file}: {_shown(repr(key))} is no key; write it in quotes")
    return str(key).lower() if isinstance(key, bool) else str(key)


def _shown(key: Any) -> str:
    return cut(visible(str(key)))


def _plain(file: str, path: str, value: Any) -> Any:
    """The value, as JSON has it. path: its key, as a message shows it."""
    if isinstance(value, dict):
        return {_key(file, key): _plain(file, f"{path}.{_shown(key)}", item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(file, f"{path}[{index}]", item) for index, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise YamlFileError(f"{file}: {path}: {value} is no number that Pulumi takes; write a finite one")
    if isinstance(value, int) and value.bit_length() > _BITS:
        raise YamlFileError(
            f"{file}: {path}: more than {_BITS} bits, which Pulumi rounds; write a smaller one"
        )
    if value is None or isinstance(value, str | int | float):
        return value
    raise YamlFileError(
        f"{file}: {path}: of type {type(value).__name__}, which Pulumi hands on in other words; write it in quotes"
    )
