"""Serves the package to Pulumi's engine; with `schema` as argument prints its schema instead."""

import json
import sys

from pulumi.provider import main

from package.provider import Package
from package.rules import problems

if sys.argv[1:] == ["schema"]:
    print(json.dumps(Package().described, indent=2, ensure_ascii=False))
else:
    main(Package(problems), sys.argv[1:])
