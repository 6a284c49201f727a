"""Linear algebra."""
