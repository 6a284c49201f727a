"""Comparisons, logic, and questions about single elements: the result is Bool."""
