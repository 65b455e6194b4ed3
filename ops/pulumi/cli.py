"""Pulumi's CLI as Automation runs it, but so that a signal reaches it once and is waited for."""

import os
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import IO, Any

from pulumi import automation
from pulumi.automation.errors import create_command_error

from ops.pulumi import interruption


class Cli(automation.PulumiCommand):
    """The CLI on PATH, in a process group of its own: a terminal's Ctrl-C does not reach it beside ours."""

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: Callable[[str], Any] | None = None,
        on_error: Callable[[str], Any] | None = None,
    ) -> automation.CommandResult:
        """Run a command; `on_output` and `on_error` take its lines. Raises automation.CommandError, guard.Ended."""
        with (
            interruption.working() as work,
            subprocess.Popen(
                [self.command, "--non-interactive", *args],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env={**os.environ, **additional_env, "PULUMI_AUTOMATION_API": "true"},
                encoding="utf-8",
                process_group=0,
            ) as process,
            ThreadPoolExecutor(2) as readers,
        ):
            work.started(process)
            streams = ((process.stdout, on_output), (process.stderr, on_error))
            outputs = [readers.submit(_lines, stream, to) for stream, to in streams]
            out, err = (each.result() for each in outputs)
            code = process.wait()
        result = automation.CommandResult(stdout=out, stderr=err, code=code)
        if code:
            raise create_command_error(result)
        return result


def _lines(stream: IO[str] | None, to: Callable[[str], Any] | None) -> str:
    """All output, each line handed on; whoever does not listen any more must not keep Pulumi from going on."""
    assert stream is not None
    lines = []
    for line in stream:
        lines.append(line.rstrip())
        if to is not None:
            with suppress(OSError):
                to(lines[-1])
    return "\n".join(lines)
