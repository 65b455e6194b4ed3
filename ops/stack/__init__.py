"""A stack as a verb was asked for it, and how its cluster is reached."""
