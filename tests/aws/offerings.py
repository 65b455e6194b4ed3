"""Where EC2 offers an instance type, as moto ships EC2's answer."""

import gzip
import json
from importlib.resources import files

from moto import ec2


def regions(instance_type: str) -> frozenset[str]:
    """Regions that list the type."""
    listed = files(ec2).joinpath("resources/instance_type_offerings/region")
    return frozenset(
        offer["Location"]
        for path in listed.iterdir()
        if path.name.endswith(".json.gz")
        for offer in json.loads(gzip.decompress(path.read_bytes()))
        if offer["InstanceType"] == instance_type
    )
