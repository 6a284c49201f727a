"""Operations along axes."""
