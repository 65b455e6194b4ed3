"""Stacks onto a cluster and off it: through Pulumi, or with kubectl on the embedded cluster."""
