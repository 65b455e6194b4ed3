"""The verbs around Pulumi: synth, up, down, status, diff, verify, bench, cost."""
