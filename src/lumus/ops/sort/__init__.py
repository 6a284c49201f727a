"""Sorting, and what follows from an order."""
