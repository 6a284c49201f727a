"""Loops whose body is a function of tensors."""
