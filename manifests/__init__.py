"""A resolved target turned into Kubernetes objects and engine command lines; pure functions, no Pulumi."""
