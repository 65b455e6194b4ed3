"""What a stack has on AWS outside of Pulumi's updates: its own things, what is left, who is let in."""
