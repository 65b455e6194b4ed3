"""What a stack has for a browser, on this machine's loopback address alone."""
