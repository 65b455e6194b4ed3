"""What a stack asks for and cannot have: a module for each subject. Pure."""
