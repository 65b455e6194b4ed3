"""What can be served, and a target resolved with the knobs of a user; plain data and pure functions, no Pulumi."""
