"""Where graphs differ from what their sources publish, on purpose, and why; as data. Pure.

Whatever is not listed here has the published value; a test compares every flag, variable, engine-file value and
field of each source with the rendered graph.
"""

from docs.generate.command_differences import COMMAND_DIFFERENCES
from docs.generate.pod_differences import POD_DIFFERENCES

DIFFERENCES = (*COMMAND_DIFFERENCES, *POD_DIFFERENCES)
