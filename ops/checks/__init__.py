"""What is looked at before a stack is deployed; nothing here costs anything or changes anything."""
