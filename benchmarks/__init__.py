"""Speed and memory of lumus beside its peers."""
