"""The project as somebody has it, with a real Pulumi CLI: nothing of the backend is in the environment."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from tests.engine.conftest import Engine, kubernetes_plugin
from tests.project import PROJECT

_CODE = ("Pulumi.yaml", "__main__.py", *(each.parent.name for each in PROJECT.glob("*/__init__.py")))
Done = subprocess.CompletedProcess[str]


class Copy:
    """Code of its own, so that its embedded cluster is its own, and a home of Pulumi's own, so that its login is."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.folder, self.home, self.bin = folder / "project", folder / "home", folder / "bin"
        self.state = self.folder / ".embedded"
        for each in (self.folder, self.home / "plugins", self.bin):
            each.mkdir(parents=True)
        kubernetes_plugin(self.home / "plugins")
        for name in _CODE:
            copy = shutil.copytree if (PROJECT / name).is_dir() else shutil.copy
            copy(PROJECT / name, self.folder / name)
        (self.folder / ".venv").symlink_to(PROJECT / ".venv")
        kept = {key: text for key, text in os.environ.items() if not key.startswith("PULUMI_")}
        said = {key: text for key, text in engine.environment.items() if key != "PULUMI_BACKEND_URL"}
        path = os.pathsep.join([str(self.bin), kept["PATH"]])
        self.environment = kept | said | {"PULUMI_HOME": str(self.home), "PATH": path}

    def ops(self, *arguments: str) -> Done:
        """What a verb said and how it ended."""
        command = [sys.executable, "-m", "ops", *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        """The same while it runs, as a terminal starts it."""
        return subprocess.Popen(
            [sys.executable, "-m", "ops", *arguments], cwd=self.folder, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def pulumi(self, *arguments: str, folder: Path | None = None) -> str:
        """What the CLI answers; it must succeed."""
        command = ["pulumi", *arguments, "--non-interactive"]
        done = subprocess.run(
            command,
            cwd=folder or self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start_cluster(self) -> None:
        """Its own embedded cluster, without anything on it."""
        start = "from embedded import cluster; cluster.start(print, graph_version='v1beta1')"
        subprocess.run([sys.executable, "-c", start], cwd=self.folder, env=self.environment, check=True)
        program = json.loads((self.state / "cluster.json").read_text())["controlplane"]
        (self.bin / "kubectl").write_text(f'#!/bin/sh\nexec {program} kubectl "$@"\n')
        (self.bin / "kubectl").chmod(0o700)

    def stack_file(self, name: str, like: str, **sections: object) -> None:
        """A stack of its own, like a shipped one but for some sections."""
        content = yaml.safe_load((PROJECT / f"Pulumi.{like}.yaml").read_text())
        content["config"] |= {f"dynamo-gpt-oss:{key}": section for key, section in sections.items()}
        (self.folder / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump(content))
