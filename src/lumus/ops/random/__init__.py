"""Random tensors from counter-based generators."""
