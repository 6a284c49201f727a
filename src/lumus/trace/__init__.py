"""Tracing: a function's ops as a program, which is data."""
