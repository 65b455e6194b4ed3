"""Which Kubernetes namespaces a program makes."""

from collections.abc import Mapping
from typing import Any

import pulumi


def made_namespaces() -> list[str]:
    """Names of the namespaces that end with the stack, filled as the program declares them from here on."""
    made: list[str] = []

    def note(args: pulumi.ResourceTransformationArgs) -> None:
        given: Mapping[str, Any] = args.props
        if args.opts.retain_on_delete:
            return
        if args.type_ == "kubernetes:core/v1:Namespace":
            made.append(given["metadata"]["name"])
        elif args.type_ == "kubernetes:helm.sh/v3:Release" and given["create_namespace"]:
            made.append(given["namespace"])

    pulumi.runtime.register_stack_transformation(note)
    return made
