"""What differs between two revisions' synths of a stack, and what that would cost."""
