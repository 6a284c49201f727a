"""What a tensor is, and the one choke point through which every operation runs."""
