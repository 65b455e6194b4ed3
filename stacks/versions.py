"""Every pin that is not a Python package: charts, images, Kubernetes. One a line, each with its source."""
