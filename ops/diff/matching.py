"""Which resource of one synth is which of another, as the engine would find it in a stack's state. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

Synth = Mapping[str, Any]
Resource = Mapping[str, Any]


def match_resources(base: Synth | None, head: Synth | None) -> dict[str, Resource]:
    """The base's resource by URN of the head's: the same one, or one that an alias of it or of its parent names.

    A stack's name is no part of it: `pulumi stack rename` changes that in the state.
    """
    there = {_identity(resource["urn"]): resource for resource in (base or {}).get("resources", ())}
    found: dict[str, Resource] = {}
    for resource in (head or {}).get("resources", ()):
        for identity in _identities(resource, found):
            if identity in there:
                found[resource["urn"]] = there.pop(identity)
                break
    return found


def _identity(urn: str) -> str:
    """What is left of a URN without the stack: project, types of all parents and its own, name."""
    return urn.split("::", 1)[-1]


def _identities(resource: Resource, parents: Mapping[str, Resource]) -> Iterator[str]:
    """Every identity that the resource may have had, today's first. parents: as they were, by today's URN."""
    own = [_identity(urn) for urn in (resource["urn"], *resource.get("aliases", ()))]
    yield from own
    parent = parents.get(resource["parent"])
    if parent is None or _identity(parent["urn"]) == _identity(resource["parent"]):
        return
    project, types, _ = _identity(parent["urn"]).split("::")
    for identity in own:
        _, own_types, name = identity.split("::")
        yield f"{project}::{types}${own_types.rpartition('$')[2]}::{name}"
