"""Functions of single elements, each written as a scalar expression."""
