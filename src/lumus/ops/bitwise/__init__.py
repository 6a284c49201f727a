"""The bits of ints: and, or, exclusive or, not, and shifts."""
