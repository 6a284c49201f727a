"""What a tensor can do: one file an operation, in folders by family."""
