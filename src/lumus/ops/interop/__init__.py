"""To and from the outside: NumPy, DLPack, text, files in memory, other devices."""
