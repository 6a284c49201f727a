"""Training runs: loops, and what they leave behind."""
