"""Operations that move elements, or only look at them differently."""
