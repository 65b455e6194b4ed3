"""Wiring of stacks, by subject. What brings pulumi_aws with it is imported once a stack needs it, and by no other."""

from importlib import import_module
from typing import TYPE_CHECKING

_OF_AWS = ("eks", "eks_services", "images")
if TYPE_CHECKING:
    from stacks.wiring import eks, eks_services, images
else:

    def __getattr__(name: str) -> object:
        if name not in _OF_AWS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module(f"{__name__}.{name}")


__all__ = ["eks", "eks_services", "images"]
