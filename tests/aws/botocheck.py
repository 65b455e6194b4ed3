"""What botocore knows of an operation's parameters: names, types, lengths, and the values of enumerations."""

from collections.abc import Iterator
from typing import Any

import botocore.session
from botocore.validate import ParamValidator

_SESSION = botocore.session.get_session()


def operation_input(service: str, operation: str) -> Any:
    """The shape of an operation's parameters, for example of ec2's RunInstances."""
    return _SESSION.get_service_model(service).operation_model(operation).input_shape


def enum(service: str, shape: str) -> frozenset[str]:
    """The values of an enumeration."""
    return frozenset(_SESSION.get_service_model(service).shape_for(shape).enum)


def check(service: str, operation: str, parameters: dict[str, Any]) -> None:
    """Raise AssertionError with everything that botocore's model says is wrong; clients alone check no enumeration."""
    shape = operation_input(service, operation)
    report = ParamValidator().validate(parameters, shape)
    problems = (
        [report.generate_report()] if report.has_errors() else list(_strangers(shape, parameters, operation))
    )
    assert not problems, f"{service} {operation}: {problems}"


def _strangers(shape: Any, value: Any, path: str) -> Iterator[str]:
    if shape.type_name == "structure":
        for key, item in value.items():
            yield from _strangers(shape.members[key], item, f"{path}.{key}")
    elif shape.type_name == "list":
        for item in value:
            yield from _strangers(shape.member, item, path)
    elif shape.type_name == "map":
        for item in value.values():
            yield from _strangers(shape.value, item, path)
    elif shape.type_name == "string" and shape.enum and value not in shape.enum:
        yield f"{path}: {value!r} is none of {shape.enum}"
