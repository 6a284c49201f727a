"""Where tensors are and what computes them."""
