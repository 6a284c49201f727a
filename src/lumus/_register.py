"""Imports for their effect.

Ops, composites and devices that no public name brings in register here.
"""

import lumus.autograd.backward
import lumus.devices.cpu.device
import lumus.devices.reference.device
import lumus.inspect.graph
import lumus.ops.attention.attention_grad
import lumus.ops.conv.convolution_transpose
import lumus.ops.conv.convolution_weight
import lumus.ops.elementwise.map
import lumus.ops.embedding.embedding_grad
import lumus.ops.index.copy_into
import lumus.ops.index.getitem
import lumus.ops.index.index
import lumus.ops.index.index_put
import lumus.ops.index.slice_put
import lumus.ops.interop.checked
import lumus.ops.interop.text
import lumus.ops.interop.transfer
import lumus.ops.recurrent.recurrent_grad
import lumus.ops.scan.recurrence
import lumus.ops.shape.slice  # noqa: F401
