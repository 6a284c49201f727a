"""Data: the bundled digits, and batches of tensors."""

from lumus.data.batches import Batches
from lumus.data.digits import Labelled, digits

__all__ = ["Batches", "Labelled", "digits"]
