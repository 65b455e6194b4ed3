"""Rules for a stack's resources, for `pulumi preview --policy-pack policy` and for `ops synth --check`."""
