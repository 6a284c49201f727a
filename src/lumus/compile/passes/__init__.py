"""One pass a file: each takes a program and returns a better one that means the same."""
