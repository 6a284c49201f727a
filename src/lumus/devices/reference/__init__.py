"""The reference device: NumPy, slow and obviously right; the oracle of the tests."""
