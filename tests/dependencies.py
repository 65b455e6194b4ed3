"""What waits for what among the resources of an evaluated program."""

from collections.abc import Mapping

from ops.evaluate import Resource


def before(resource: Resource, resources: Mapping[str, Resource]) -> set[str]:
    """URNs of everything that is complete before the resource, or a component around it, is made; resources by URN."""
    done: set[str] = set()
    todo = [*resource.dependencies, resource.parent]
    while todo:
        urn = todo.pop()
        if urn in done or urn not in resources:
            continue
        done.add(urn)
        todo += [*resources[urn].dependencies, resources[urn].parent]
    return done
