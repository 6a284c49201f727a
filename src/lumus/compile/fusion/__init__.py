"""The parts of the pass `fuse`: who may join whom, what pays, and how expressions are joined."""
