"""What can be served, on which hardware, and what cannot work; plain data and pure functions, no Pulumi."""
