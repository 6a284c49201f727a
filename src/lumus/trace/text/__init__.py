"""Programs as text in a file, and back: every value that one is made of."""
