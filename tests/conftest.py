"""Fixtures that tests of several folders share."""

from tests.live import plane, shared_plane

__all__ = ["plane", "shared_plane"]
