"""`python -m tests.engine.record REVISION STACK…`: keep stacks' states as an earlier version of this project had them.

The engine is real and exports them; nothing of AWS or a cluster is, for both plugins only echo (echo_provider.py).
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.engine.conftest import offline_engine
from tests.project import PROJECT

STATES = Path(__file__).parent / "states"
_LONG = 3000
"""Characters, more than any text of AWS or of an engine has."""
_KEPT = (
    "urn", "custom", "type", "id", "inputs", "outputs", "parent", "provider", "dependencies", "propertyDependencies",
    "protect", "external", "retainOnDelete", "replaceOnChanges", "ignoreChanges", "deleteBeforeReplace", "aliases",
)  # fmt: skip


def record(revision: str, stacks: list[str]) -> None:
    """Deploy the stacks of a revision and write their states."""
    with tempfile.TemporaryDirectory() as folder:
        then = Path(folder) / "then"
        git = ("git", "-C", str(PROJECT), "worktree")
        subprocess.run([*git, "add", "--detach", str(then), revision], check=True)
        try:
            engine = offline_engine(Path(folder), then)
            for name in stacks:
                shutil.copy(then / f"Pulumi.{name}.yaml", engine.folder)
                stack = engine.stack(name)
                stack.up()
                write(f"{revision}-{name}", stack.export_stack().deployment or {})
        finally:
            subprocess.run([*git, "remove", "--force", str(then)], check=True)


def write(name: str, deployment: Any) -> None:
    """Without times, outputs that only repeat inputs, and long scripts, whose ConfigMaps show as changed for it."""
    lines = []
    for resource in _cut(deployment["resources"]):
        kept = {key: resource[key] for key in _KEPT if resource.get(key)}
        inputs = kept.get("inputs", {})
        kept["outputs"] = {k: v for k, v in kept.get("outputs", {}).items() if inputs.get(k) != v}
        lines.append(json.dumps(kept, sort_keys=True, separators=(",", ":")))
    STATES.mkdir(exist_ok=True)
    (STATES / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut(item) for item in value]
    return f"({len(value)} characters)" if isinstance(value, str) and len(value) > _LONG else value


def read(path: Path) -> list[dict[str, Any]]:
    """The resources of a recorded state."""
    found = []
    for line in path.read_text().splitlines():
        resource = json.loads(line)
        resource["outputs"] = resource.get("inputs", {}) | resource.get("outputs", {})
        found.append(resource)
    return found


if __name__ == "__main__":
    record(sys.argv[1], sys.argv[2:])
