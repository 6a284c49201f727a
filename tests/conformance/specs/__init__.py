"""The specs of all ops, by family."""
