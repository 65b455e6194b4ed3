"""`python -m docs.generate.sbom PYTHON.cdx.json MODULE...` adds the Go modules and lists licenses (`make sbom`).

Beside the CycloneDX file of the Python packages it writes `sbom.cdx.json`, with the modules too, and `licenses.txt`.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Component = Mapping[str, Any]
_REQUIRED = re.compile(r"^(?:require |\t)(\S+) (v\S+)", re.MULTILINE)
_REPLACED = re.compile(r"^(?:replace |\t)(\S+)(?: v\S+)? => (\S+) (v\S+)", re.MULTILINE)


def main(python: Path, modules: Iterable[Path]) -> None:
    """Write both files beside `python`. modules: folders with a go.mod."""
    bom = json.loads(python.read_text())
    found = {(each["name"], each["version"]): each for folder in modules for each in go_components(folder)}
    bom["components"] += [found[key] for key in sorted(found)]
    # The graph of dependencies is of Python packages alone: a go.mod is flat.
    (python.parent / "sbom.cdx.json").write_text(json.dumps(bom, indent=1) + "\n")
    (python.parent / "licenses.txt").write_text("".join(f"{line}\n" for line in licenses(bom["components"])))
    print(f"{python.parent}/sbom.cdx.json, licenses.txt: {len(bom['components'])} components")


def go_components(folder: Path) -> list[Component]:
    """Every module that the build in this folder may use, as CycloneDX components."""
    text = (folder / "go.mod").read_text()
    instead = {name: (other, version) for name, other, version in _REPLACED.findall(text)}
    return [_go_component(*instead.get(name, (name, version))) for name, version in _REQUIRED.findall(text)]


def _go_component(name: str, version: str) -> Component:
    url = f"pkg:golang/{name}@{version}"
    return {"bom-ref": url, "type": "library", "name": name, "version": version, "purl": url}


def licenses(components: Iterable[Component]) -> list[str]:
    """A line a component: name, version, licenses as its own metadata say them, or `not said`."""
    return [f"{each['name']} {each['version']}: {_license(each)}" for each in components]


def _license(component: Component) -> str:
    said = [
        entry.get("expression") or entry["license"].get("id") or entry["license"]["name"]
        for entry in component.get("licenses", [])
    ]
    return ", ".join(said) or "not said"


if __name__ == "__main__":
    main(Path(sys.argv[1]), map(Path, sys.argv[2:]))
