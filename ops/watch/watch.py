"""Watch a stack come up: a thread that looks, and hands each view on."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from ops.watch.made import Made
from ops.watch.reasons import Reason, reasons
from ops.watch.snapshot import Snapshot
from ops.watch.view import View, view
from stacks.plan import StackPlan
from targets.errors import UserError

INTERVAL_SECONDS = 2.0
"""Between two looks: a cause is to be told within seconds, and each look costs a call of kubectl."""
_LAST_SECONDS = 5.0
"""That the last look may take: a cluster that does not answer keeps nobody waiting."""

Show = Callable[[View], None]


class Watch:
    """Looks every two seconds. look: takes a snapshot, or returns None while the cluster is not there yet."""

    def __init__(
        self,
        plan: StackPlan,
        look: Callable[[], Snapshot | None],
        show: Show,
        *,
        embedded: bool,
        made: Made | None,
    ) -> None:
        self._plan, self._look, self._show = plan, look, show
        self._embedded, self._made = embedded, made
        self._reasons: tuple[Reason, ...] = ()
        self._over = threading.Event()
        self._shown = threading.Lock()
        self._ended = False

    def reasons(self) -> tuple[Reason, ...]:
        """Of the last look."""
        return self._reasons

    def see(self) -> None:
        """Look once and show it; what cannot be looked at now is looked at next time."""
        began = time.monotonic()
        try:
            found = self._look()
        except UserError:
            return
        if found is None:
            return
        with self._shown:
            if self._ended:
                return
            every = reasons(found, self._plan, nodes_join=not self._embedded)
            self._reasons = tuple(replace(each, looked=began) for each in every)
            self._show(view(found, self._reasons, self._plan, embedded=self._embedded, made=self._made))

    def _run(self) -> None:
        while True:
            last = self._over.is_set()
            self.see()
            if last:
                return
            self._over.wait(INTERVAL_SECONDS)

    @contextmanager
    def running(self) -> Iterator["Watch"]:
        """For as long as the block runs; what came of it is shown at its end. A failure here ends nothing."""
        thread = threading.Thread(target=self._run, name="watch", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._over.set()
            thread.join(timeout=_LAST_SECONDS)
            with self._shown:
                self._ended = True
