"""Arguments of components out of the plain objects that programs in other languages send."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar, get_args

import pulumi
from pulumi.provider.experimental import analyzer
from pulumi.provider.experimental.util import camel_case

from targets.errors import UserError

Args = TypeVar("Args")


class ArgumentProblem(UserError):
    """A value that is no argument. path: which argument."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason


def args_from(kind: Callable[..., Args], given: Mapping[str, Any], path: str = "") -> Args:
    """A record of arguments, nested ones included. given: by camelCase name. Raises ArgumentProblem."""
    known = {camel_case(each.name): each for each in fields(kind)}  # type: ignore[arg-type]
    for name in given:
        if name not in known:
            raise ArgumentProblem(_below(path, name), f"unknown; choose one of {', '.join(known)}")
    values = {}
    for name, each in known.items():
        if given.get(name) is not None:
            values[each.name] = _value(each.type, given[name], _below(path, name), choices_of(each)[1])
        elif not has_default(each):
            raise ArgumentProblem(_below(path, name), f"missing; {description(kind, each)}")
    return kind(**values)


def has_default(argument: Field[Any]) -> bool:
    """Whether it need not be given."""
    return argument.default is not MISSING or argument.default_factory is not MISSING


def choices_of(argument: Field[Any]) -> tuple[str, tuple[str, ...]]:
    """What the names that it may be are called, and the names; none where it may be anything of its type."""
    return next(((called, tuple(names)) for called, names in argument.metadata.items()), ("", ()))


def description(kind: Any, argument: Field[Any]) -> str:
    """The sentence below the field."""
    text = analyzer.Analyzer("").get_docstring(kind, argument.name) or ""
    return " ".join(text.split()).removesuffix(".")


def record_in(declared: Any) -> type | None:
    """The record that an argument, or an item of it, is; None for anything else."""
    if is_dataclass(declared) and isinstance(declared, type):
        return declared
    return next((found for each in get_args(declared) if (found := record_in(each))), None)


def _value(declared: Any, given: Any, path: str, choices: tuple[str, ...]) -> Any:
    """One value, of the type that is declared for it."""
    later = analyzer.is_input(declared)
    if analyzer.is_optional(declared) and not later:
        declared = analyzer.unwrap_optional(declared)
    if later:
        declared = analyzer.unwrap_input(declared)
    if isinstance(given, pulumi.Output):
        if later:
            return given
        raise ArgumentProblem(
            path, "an output of another resource, but it says what is made; give a plain value"
        )
    if choices and given not in choices:
        raise ArgumentProblem(path, f"{given!r} is not allowed; choose one of {', '.join(choices)}")
    return _convert(declared)(given, path)


def _convert(declared: Any) -> Callable[[Any, str], Any]:
    """How a plain value becomes one of a type."""
    if is_dataclass(declared) and isinstance(declared, type):
        return lambda given, path: args_from(declared, _object(given, path), path)
    if analyzer.is_dict(declared):
        (_, item) = get_args(declared)
        return lambda given, path: {
            key: _value(item, value, _below(path, key), ()) for key, value in _object(given, path).items()
        }
    if analyzer.is_list(declared):
        (item,) = get_args(declared)
        return lambda given, path: [
            _value(item, value, f"{path}[{place}]", ()) for place, value in enumerate(_list(given, path))
        ]
    if isinstance(declared, type) and issubclass(declared, Enum):
        return lambda given, path: _member(declared, given, path)
    return lambda given, path: _simple(declared, given, path)


def _member(declared: type[Enum], given: Any, path: str) -> Enum:
    try:
        return declared(given)
    except ValueError:
        names = ", ".join(str(each.value) for each in declared)
        raise ArgumentProblem(path, f"{given!r} is not allowed; choose one of {names}") from None


def _object(given: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise ArgumentProblem(path, f"{given!r} is not an object")
    return given


def _list(given: Any, path: str) -> list[Any]:
    if not isinstance(given, list):
        raise ArgumentProblem(path, f"{given!r} is not a list")
    return given


def _simple(declared: Any, given: Any, path: str) -> Any:
    """Text, a number, a switch, or anything at all. Over the wire every number is a floating-point one."""
    whole = whole_numbers(given)
    if declared is Any or type(whole) is declared or (declared is float and type(whole) is int):
        return whole
    words = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    raise ArgumentProblem(path, f"{given!r} is not {words[declared]}")


def whole_numbers(given: Any) -> Any:
    """The same with numbers that are whole as such."""
    if isinstance(given, Mapping):
        return {key: whole_numbers(value) for key, value in given.items()}
    if isinstance(given, list):
        return [whole_numbers(value) for value in given]
    return int(given) if isinstance(given, float) and given.is_integer() else given


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
