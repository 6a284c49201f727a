"""Running results along an axis."""
