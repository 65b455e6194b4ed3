"""Stacks through Pulumi's CLI and Automation API: config, state, updates, signals."""
