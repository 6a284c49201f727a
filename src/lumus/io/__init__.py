"""Files: tensors and modules as safetensors, written whole or not at all."""

from lumus.io.tensors import load, load_metadata, load_module, save

__all__ = ["load", "load_metadata", "load_module", "save"]
