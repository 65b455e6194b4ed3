"""A stack, and whether it goes onto the embedded cluster."""

from dataclasses import dataclass
from pathlib import Path

from embedded.paths import PROJECT
from ops.pulumi import stack_config
from ops.pulumi.stack_file import StackFile
from ops.stack.on_embedded import is_embedded, on_embedded, plan_of
from stacks.plan import StackPlan


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A stack and where it goes. embedded: onto the embedded cluster. own_nodes: it brings simulated nodes along.

    full_name: as it was asked for, which may be `organization/name`. changed: full config keys of which `file` says
    something else than what stands on disk, for this time alone.
    """

    file: StackFile
    full_name: str
    plan: StackPlan
    embedded: bool
    own_nodes: bool
    changed: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name alone."""
        return self.file.stack

    def command(self, verb: str, *options: str) -> str:
        """What to type for a verb on this stack, as messages say it."""
        given = [*(["--embedded"] if self.own_nodes else []), *options]
        words = " ".join(given)
        arguments = f" ARGS='{words}'" if len(given) > 1 else f" ARGS={words}" if given else ""
        return f"make {verb} STACK={self.full_name}{arguments}"

    @property
    def namespace(self) -> str:
        """The namespace that the stack works in."""
        return self.plan.cluster.namespace


def find(stack: str, *, embedded: bool = False, project: Path = PROJECT) -> Stack:
    """The stack by name; embedded puts it on the embedded cluster whatever its file says.

    Raises StackFileError, stacks.settings.ConfigError.
    """
    file = stack_config.load(project, stack)
    plan = plan_of(file)
    at_home = is_embedded(plan, project)
    if embedded and not at_home:
        file = on_embedded(file)
        plan = plan_of(file)
    return Stack(
        file=file,
        full_name=stack,
        plan=plan,
        embedded=embedded or at_home,
        own_nodes=embedded and not at_home,
    )
