"""How slices of a stack's plan become components, a module for each part of the program."""
