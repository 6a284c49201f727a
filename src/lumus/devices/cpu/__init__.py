"""The CPU: drives the native core."""
