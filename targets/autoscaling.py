"""Who decides how many workers a graph has. Pure."""

from enum import StrEnum


class Autoscaler(StrEnum):
    """Who decides: nobody, KEDA, Dynamo's Planner, or something of the user's that finds the scaling adapters."""

    NONE = "none"
    KEDA = "keda"
    PLANNER = "planner"
    EXTERNAL = "external"
