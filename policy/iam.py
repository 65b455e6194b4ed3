"""What rules read off policies of IAM. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policy.resource import Resource, decoded, listed

_READS = re.compile(r"^[a-z0-9-]+:(Describe|Get|List)\w*\*?$")


def statements(resource: Resource) -> Iterator[Mapping[str, Any]]:
    """Allowing statements of a policy; none of one that is not known yet."""
    inline = [each.get("policy") for each in listed(resource.inputs.get("inlinePolicies"))]
    for text in (resource.inputs.get("policy"), *inline):
        for statement in listed((decoded(text) or {}).get("Statement")):
            if statement.get("Effect") == "Allow":
                yield statement


def wide(statement: Mapping[str, Any]) -> Iterator[str]:
    """What an allowing statement allows that is too much."""
    actions = listed(statement.get("Action"))
    yield from (f"allows {each}" for each in actions if each == "*" or each.endswith(":*"))
    if "NotAction" in statement:
        yield "allows everything but NotAction"
    writes = [each for each in actions if not _READS.match(each) and not each.endswith("*")]
    if writes and "*" in listed(statement.get("Resource")) and not statement.get("Condition"):
        yield f"allows {', '.join(writes)} on every resource"
