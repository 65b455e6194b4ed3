"""How many of a stack's resources an `up` has made, and which it is making."""

from dataclasses import dataclass, field


@dataclass
class Made:
    """total: resources that the stack registers. Written by who makes them, read by who shows it."""

    total: int
    _there: set[str] = field(default_factory=set)
    _making: dict[str, None] = field(default_factory=dict)

    def begin(self, name: str) -> None:
        """It is being made, under the name that people know it by."""
        self._making[name] = None

    def over(self, name: str) -> None:
        """It is being made no more."""
        self._making.pop(name, None)

    def end(self, identity: str) -> None:
        """It is there."""
        self._there.add(identity)

    @property
    def complete(self) -> bool:
        """Whether all of them are there."""
        return len(self._there) >= self.total and not self._making

    def __str__(self) -> str:
        making = [*self._making][-2:]
        now = f"; now {', '.join(making)}" if making else ""
        return f"{len(self._there)} of {max(self.total, len(self._there))}{now}"
