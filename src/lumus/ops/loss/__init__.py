"""Losses: how far a prediction is from its target."""
