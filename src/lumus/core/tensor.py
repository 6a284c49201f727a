"""The Tensor class: a handle on data with its spec and its place in the graph, and many short
methods.

Each method is one `apply` (or one composite) by name; what an op does, its formula, its errors and
its gradient stand at the public function of the same name in `lumus.ops`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, overload

import numpy as np

from lumus.core.broadcast import normalize_axes, normalize_axis, normalize_shape
from lumus.core.composite import call
from lumus.core.constant import FLOATS, constant
from lumus.core.construct import new_tensor, register_tensor_class
from lumus.core.device import Device
from lumus.core.dispatch import apply, bind_tensor_class
from lumus.core.dtypes import DType, bfloat16, float32
from lumus.core.kinds import A_TENSOR, Bool, Float, Int, K, Kind
from lumus.core.record import Cut, Leaf, Node, Origin
from lumus.core.site import call_site, describe
from lumus.core.spec import Spec
from lumus.core.write import apply_into
from lumus.errors import ArgumentError, DTypeError, GradientError, KindError, ShapeError

if TYPE_CHECKING:
    from lumus.autograd.gradients import GradStore
    from lumus.inspect.graph import Graph

K2 = TypeVar("K2", bound=Kind)
Axes = int | Sequence[int] | None
PadMode = Literal["constant", "edge", "reflect", "symmetric", "wrap"]
PadWidth = int | Sequence[int] | Sequence[Sequence[int]] | Mapping[int, int | Sequence[int]]
Index = Any
"""Ints, slices, None, ..., lists, Bool masks and Int tensors, or a tuple of them."""


def operand(like: Tensor[Any], other: Any, op: str) -> Tensor[Any] | None:
    """`other` as a tensor beside `like`; None when it is nothing that a tensor can meet."""
    if isinstance(other, Tensor):
        return cast("Tensor[Any]", other)
    if isinstance(other, np.generic):
        other = other.item()
    if isinstance(other, bool | int | float):
        return constant(other, like.spec.dtype, like.spec.device, op)
    if isinstance(other, np.ndarray):
        return call("from_numpy", other, device=like.spec.device)
    return None


def _binary(name: str, x: Tensor[Any], y: Any) -> Any:
    if y.__class__ is float:  # before all else: it is the most frequent, with a tensor
        spec = x.spec
        if y:  # 0.0 and -0.0 are equal, but not the same constant
            known = FLOATS.get((y, spec.dtype, spec.device))
            if known is not None:
                return apply(name, x, known)
        return apply(name, x, constant(y, spec.dtype, spec.device, name))
    if not isinstance(y, Tensor):
        y = operand(x, y, name)
        if y is None:
            return NotImplemented
    return apply(name, x, y)


def _reflected(name: str, y: Any, x: Tensor[Any]) -> Any:
    other = operand(x, y, name)
    return NotImplemented if other is None else apply(name, other, x)


def _of_bits(name: str, x: Tensor[Any]) -> str:
    """The op of an operator that masks and ints share."""
    return f"logical_{name}" if x.spec.dtype.kind == "bool" else f"bitwise_{name}"


def _power(x: Tensor[Any], p: Any) -> Any:
    """The power by the public function, which refuses negative powers of Ints."""
    power = operand(x, p, "pow")
    return NotImplemented if power is None else call("pow", x, power)


class Tensor(Generic[K]):
    """An n-dimensional array of one dtype on one device, of kind Float, Int or Bool.

    Made by the creation functions (`lumus.tensor`, `lumus.zeros`, ...), never directly. Views share
    memory. `requires_grad` tensors record what is done to them; see `backward`.
    """

    __slots__ = ("__weakref__", "data", "origin", "spec")
    __array_ufunc__ = None  # NumPy leaves `array * tensor` to us

    data: Any
    spec: Spec
    origin: Origin

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError("tensors are made by lumus.tensor, lumus.zeros, ...; see lumus.tensor")

    # What it is
    # ------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self.spec.shape

    @property
    def dtype(self) -> DType[K]:
        """The element type."""
        return self.spec.dtype

    @property
    def device(self) -> Device:
        """Where the elements are."""
        return self.spec.device

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.spec.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.spec.size

    @property
    def nbytes(self) -> int:
        """The bytes of the elements, were they dense."""
        return self.spec.nbytes

    @property
    def node(self) -> Node | None:
        """The node of the graph that made it (a `Leaf` for a leaf); None off the graph."""
        return self.origin[0] if isinstance(self.origin, tuple) else None

    @property
    def cut(self) -> Cut | None:
        """Where its values left a graph, if they did."""
        return self.origin if isinstance(self.origin, Cut) else None

    @property
    def requires_grad(self) -> bool:
        """True when the tensor takes part in a recorded graph."""
        return isinstance(self.origin, tuple)

    @property
    def is_leaf(self) -> bool:
        """True when no recorded op computed it."""
        return self.node is None or isinstance(self.node, Leaf)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor[K]:
        """Makes a tensor that no op computed a leaf of the graph, or takes it off; returns it."""
        if self.node is not None and not isinstance(self.node, Leaf):
            raise GradientError(
                f"requires_grad_: the tensor was computed (by {self.node.op} at "
                f"{describe(self.node.site)}); only leaves can be set",
                hint="use .detach() to get a tensor off the graph",
            )
        if not requires_grad:
            self.origin = None
            return self
        if self.spec.dtype.kind != "float":
            raise KindError(
                "requires_grad: only Float tensors have gradients, this is "
                f"{A_TENSOR[self.spec.dtype.kind]} ({self.spec.dtype.name})",
                hint="convert it first with .astype(lumus.float32)",
            )
        if self.node is None:
            self.origin = (Leaf(cast("Tensor[Float]", self), call_site()), 0)
        return self

    # Gradients
    # -------------------------------------------------------------------------------------

    def backward(
        self: Tensor[Float],
        grad: Tensor[Float] | None = None,
        *,
        create_graph: bool = False,
        retain_graph: bool = False,
        into: GradStore | None = None,
    ) -> GradStore:
        """Gradients of this tensor with respect to each leaf that requires grad; see `GradStore`.

        `grad` is the gradient of this tensor itself (ones for a scalar). The graph is released on
        the way unless `retain_graph`; with `create_graph` the gradients can be differentiated
        again. `into` accumulates into an existing store. Raises GradientError for a tensor off the
        graph, or a non-scalar without `grad`; GraphFreedError for a second backward;
        SavedTensorMutatedError when a value that is needed has been overwritten. When it raises, no
        store has changed.

        >>> import lumus as lm
        >>> w = lm.tensor([1.0, 2.0], requires_grad=True)
        >>> (w * w).sum().backward()[w].tolist()
        [2.0, 4.0]
        """
        store: GradStore = call(
            "backward", self, grad, create_graph=create_graph, retain_graph=retain_graph, into=into
        )
        return store

    def graph(self) -> Graph:
        """The recorded graph that leads to this tensor, as readable text and as data."""
        graph: Graph = call("graph", self)
        return graph

    def detach(self) -> Tensor[K]:
        """The same memory off the graph: gradients do not flow through it."""
        view: Tensor[K] = new_tensor(self.data, self.spec)
        origin = self.origin
        view.origin = origin if origin is None else call("cut", self)
        return view

    # To the outside
    # --------------------------------------------------------------------------------

    def numpy(self) -> Any:
        """The elements as a NumPy array that shares memory; raises GradientError on a graph."""
        if self.node is not None:
            raise GradientError(
                "numpy: a tensor that requires grad would leave the graph unseen",
                hint="use .detach().numpy()",
            )
        if self.spec.dtype is bfloat16:
            raise DTypeError(
                "numpy: NumPy has no bfloat16", hint="use .astype(lumus.float32).numpy()"
            )
        return self.spec.device.copy_out(self.data, self.spec)

    def _host(self) -> Any:
        wide: Tensor[Any] = self
        if self.spec.dtype is bfloat16:
            wide = apply("astype", self.detach(), dtype=float32)
        return wide.spec.device.copy_out(wide.data, wide.spec)

    def item(self) -> Any:
        """The one element as a Python number; raises ShapeError when there is not exactly one."""
        if self.spec.size != 1:
            raise ShapeError(
                f"item: the tensor has {self.spec.size} elements, shape {self.spec.shape}",
                hint="use .tolist(), or index one element",
            )
        return self._host().item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self._host().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        if dtype is not None and array.dtype != np.dtype(dtype):
            if copy is False:
                raise ValueError("converting to another dtype needs a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        return sys.modules["lumus"]

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return call("to_dlpack", self, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = call("dlpack_device", self)
        return device

    def __repr__(self) -> str:
        text: str = call("repr", self)
        return text

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    def __len__(self) -> int:
        if not self.spec.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.spec.shape[0]

    def __iter__(self) -> Iterator[Tensor[K]]:
        if not self.spec.shape:
            raise TypeError("iteration over a 0-d tensor")
        return (self[position] for position in range(self.spec.shape[0]))

    def __contains__(self, value: object) -> bool:
        if isinstance(value, Tensor | np.generic):
            value = value.item()
        if not isinstance(value, bool | int | float):
            return False
        try:
            return bool((self._host() == value).any())
        except OverflowError:  # an int beyond every float
            return False

    def __bool__(self) -> bool:
        if self.spec.size != 1:
            raise ShapeError(
                f"bool: the truth of a tensor of {self.spec.size} elements is ambiguous",
                hint="use .any() or .all()",
            )
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.spec.dtype.kind != "int" or self.spec.ndim:
            raise TypeError("only a 0-d Int tensor can be used as an index")
        return int(self.item())

    def __hash__(self) -> int:
        return id(self)

    def __copy__(self) -> Tensor[K]:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor[K]:
        if not self.is_leaf:
            raise GradientError(
                "deepcopy: only leaves can be copied deeply; this tensor was computed",
                hint="use .detach().copy() or .copy()",
            )
        twin = call("deep_copy", self)
        memo[id(self)] = twin
        return cast("Tensor[K]", twin)

    def __reduce__(self) -> Any:
        reduced: tuple[Any, ...] = call("reduce", self)
        return reduced

    def to_device(self, device: str | Device) -> Tensor[K]:
        """The tensor on another device (itself when it is there already); off the graph."""
        moved: Tensor[K] = call("to_device", self, device)
        return moved

    # Indexing
    # --------------------------------------------------------------------------------------

    def __getitem__(self, index: Index) -> Tensor[K]:
        item: Tensor[K] = call("getitem", self, index)
        return item

    def __setitem__(self, index: Index, value: Any) -> None:
        call("setitem", self, index, value)

    @property
    def at(self) -> At[K]:
        """Differentiable updates: `x.at[index].set(v)` and `.add(v)` return a new tensor."""
        return At(self)

    # Arithmetic
    # --------------------------------------------------------------------------------------
    @overload
    def __add__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def __add__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def __add__(self, other: Any) -> Any:
        if other.__class__ is Tensor:
            return apply("add", self, other)
        return _binary("add", self, other)

    @overload
    def __radd__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def __radd__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def __radd__(self, other: Any) -> Any:
        return _reflected("add", other, self)

    @overload
    def __sub__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def __sub__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def __sub__(self, other: Any) -> Any:
        if other.__class__ is Tensor:
            return apply("subtract", self, other)
        return _binary("subtract", self, other)

    @overload
    def __rsub__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def __rsub__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def __rsub__(self, other: Any) -> Any:
        return _reflected("subtract", other, self)

    @overload
    def __mul__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def __mul__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def __mul__(self, other: Any) -> Any:
        if other.__class__ is Tensor:
            return apply("multiply", self, other)
        return _binary("multiply", self, other)

    @overload
    def __rmul__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def __rmul__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def __rmul__(self, other: Any) -> Any:
        return _reflected("multiply", other, self)

    def __truediv__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]:
        if other.__class__ is Tensor:
            return apply("divide", self, other)  # pyright: ignore[reportArgumentType]
        return _binary("divide", self, other)

    def __rtruediv__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]:
        return _reflected("divide", other, self)

    @overload
    def __floordiv__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def __floordiv__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def __floordiv__(self, other: Any) -> Any:
        if other.__class__ is Tensor:
            return apply("floor_divide", self, other)
        return _binary("floor_divide", self, other)

    @overload
    def __rfloordiv__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def __rfloordiv__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def __rfloordiv__(self, other: Any) -> Any:
        return _reflected("floor_divide", other, self)

    @overload
    def __mod__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def __mod__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def __mod__(self, other: Any) -> Any:
        if other.__class__ is Tensor:
            return apply("remainder", self, other)
        return _binary("remainder", self, other)

    @overload
    def __rmod__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def __rmod__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def __rmod__(self, other: Any) -> Any:
        return _reflected("remainder", other, self)

    @overload
    def __pow__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def __pow__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def __pow__(self, other: Any) -> Any:
        return _power(self, other) if self.spec.dtype.kind == "int" else _binary("pow", self, other)

    @overload
    def __rpow__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def __rpow__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def __rpow__(self, other: Any) -> Any:
        base = operand(self, other, "pow")
        return NotImplemented if base is None else _power(base, self)

    @overload
    def __neg__(self: Tensor[Float]) -> Tensor[Float]: ...
    @overload
    def __neg__(self: Tensor[Int]) -> Tensor[Int]: ...
    def __neg__(self) -> Any:
        return apply("negative", self)

    @overload
    def __abs__(self: Tensor[Float]) -> Tensor[Float]: ...
    @overload
    def __abs__(self: Tensor[Int]) -> Tensor[Int]: ...
    def __abs__(self) -> Any:
        return apply("abs", self)

    @overload
    def __matmul__(self: Tensor[Float], other: Tensor[Float]) -> Tensor[Float]: ...
    @overload
    def __matmul__(self: Tensor[Int], other: Tensor[Int]) -> Tensor[Int]: ...
    def __matmul__(self, other: Any) -> Any:
        if other.__class__ is Tensor:
            return apply("matmul", self, other)
        return _binary("matmul", self, other)

    def __rmatmul__(self, other: np.ndarray[Any, Any]) -> Any:
        return _reflected("matmul", other, self)

    # Comparison and logic
    # ----------------------------------------------------------------------------
    @overload
    def __lt__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Bool]: ...
    @overload
    def __lt__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Bool]: ...
    def __lt__(self, other: Any) -> Any:
        if other.__class__ is Tensor:
            return apply("less", self, other)
        return _binary("less", self, other)

    @overload
    def __le__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Bool]: ...
    @overload
    def __le__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Bool]: ...
    def __le__(self, other: Any) -> Any:
        if other.__class__ is Tensor:
            return apply("less_equal", self, other)
        return _binary("less_equal", self, other)

    @overload
    def __gt__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Bool]: ...
    @overload
    def __gt__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Bool]: ...
    def __gt__(self, other: Any) -> Any:
        if other.__class__ is Tensor:
            return apply("greater", self, other)
        return _binary("greater", self, other)

    @overload
    def __ge__(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Bool]: ...
    @overload
    def __ge__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Bool]: ...
    def __ge__(self, other: Any) -> Any:
        if other.__class__ is Tensor:
            return apply("greater_equal", self, other)
        return _binary("greater_equal", self, other)

    def __eq__(self, other: Tensor[K] | float) -> Tensor[Bool]:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        if other.__class__ is Tensor:
            return apply("equal", self, other)  # pyright: ignore[reportArgumentType]
        return _binary("equal", self, other)

    def __ne__(self, other: Tensor[K] | float) -> Tensor[Bool]:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        if other.__class__ is Tensor:
            return apply("not_equal", self, other)  # pyright: ignore[reportArgumentType]
        return _binary("not_equal", self, other)

    @overload
    def __and__(self: Tensor[Bool], other: Tensor[Bool] | bool) -> Tensor[Bool]: ...
    @overload
    def __and__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def __and__(self, other: Any) -> Any:
        return _binary(_of_bits("and", self), self, other)

    @overload
    def __rand__(self: Tensor[Bool], other: bool) -> Tensor[Bool]: ...
    @overload
    def __rand__(self: Tensor[Int], other: int) -> Tensor[Int]: ...
    def __rand__(self, other: Any) -> Any:
        return _reflected(_of_bits("and", self), other, self)

    @overload
    def __or__(self: Tensor[Bool], other: Tensor[Bool] | bool) -> Tensor[Bool]: ...
    @overload
    def __or__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def __or__(self, other: Any) -> Any:
        return _binary(_of_bits("or", self), self, other)

    @overload
    def __ror__(self: Tensor[Bool], other: bool) -> Tensor[Bool]: ...
    @overload
    def __ror__(self: Tensor[Int], other: int) -> Tensor[Int]: ...
    def __ror__(self, other: Any) -> Any:
        return _reflected(_of_bits("or", self), other, self)

    @overload
    def __xor__(self: Tensor[Bool], other: Tensor[Bool] | bool) -> Tensor[Bool]: ...
    @overload
    def __xor__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def __xor__(self, other: Any) -> Any:
        return _binary(_of_bits("xor", self), self, other)

    @overload
    def __rxor__(self: Tensor[Bool], other: bool) -> Tensor[Bool]: ...
    @overload
    def __rxor__(self: Tensor[Int], other: int) -> Tensor[Int]: ...
    def __rxor__(self, other: Any) -> Any:
        return _reflected(_of_bits("xor", self), other, self)

    @overload
    def __invert__(self: Tensor[Bool]) -> Tensor[Bool]: ...
    @overload
    def __invert__(self: Tensor[Int]) -> Tensor[Int]: ...
    def __invert__(self) -> Any:
        return apply("logical_not" if self.spec.dtype.kind == "bool" else "bitwise_invert", self)

    def __lshift__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]:
        return _binary("bitwise_left_shift", self, other)

    def __rlshift__(self: Tensor[Int], other: int) -> Tensor[Int]:
        return _reflected("bitwise_left_shift", other, self)

    def __rshift__(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]:
        return _binary("bitwise_right_shift", self, other)

    def __rrshift__(self: Tensor[Int], other: int) -> Tensor[Int]:
        return _reflected("bitwise_right_shift", other, self)

    # Elementwise
    # -------------------------------------------------------------------------------------
    def exp(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.exp`."""
        return apply("exp", self)

    def expm1(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.expm1`."""
        return apply("expm1", self)

    def log(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.log`."""
        return apply("log", self)

    def log1p(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.log1p`."""
        return apply("log1p", self)

    def sin(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.sin`."""
        return apply("sin", self)

    def cos(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.cos`."""
        return apply("cos", self)

    def tanh(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.tanh`."""
        return apply("tanh", self)

    def sigmoid(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.sigmoid`."""
        return apply("sigmoid", self)

    def erf(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.erf`."""
        return apply("erf", self)

    def erfc(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.erfc`."""
        return apply("erfc", self)

    def exp2(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.exp2`."""
        return apply("exp2", self)

    def log2(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.log2`."""
        return apply("log2", self)

    def log10(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.log10`."""
        return apply("log10", self)

    def tan(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.tan`."""
        return apply("tan", self)

    def asin(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.asin`."""
        return apply("asin", self)

    def acos(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.acos`."""
        return apply("acos", self)

    def atan(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.atan`."""
        return apply("atan", self)

    def sinh(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.sinh`."""
        return apply("sinh", self)

    def cosh(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.cosh`."""
        return apply("cosh", self)

    def asinh(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.asinh`."""
        return apply("asinh", self)

    def acosh(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.acosh`."""
        return apply("acosh", self)

    def atanh(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.atanh`."""
        return apply("atanh", self)

    def erfinv(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.erfinv`."""
        return apply("erfinv", self)

    def lgamma(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.lgamma`."""
        return apply("lgamma", self)

    def digamma(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.digamma`."""
        return apply("digamma", self)

    def sqrt(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.sqrt`."""
        return apply("sqrt", self)

    def rsqrt(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.rsqrt`."""
        return apply("rsqrt", self)

    def reciprocal(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.reciprocal`."""
        return apply("reciprocal", self)

    def relu(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.relu`."""
        return apply("relu", self)

    def silu(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.silu`."""
        return apply("silu", self)

    def floor(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.floor`."""
        return apply("floor", self)

    def ceil(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.ceil`."""
        return apply("ceil", self)

    def round(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.round`."""
        return apply("round", self)

    def trunc(self: Tensor[Float]) -> Tensor[Float]:
        """See `lumus.trunc`."""
        return apply("trunc", self)

    def nan_to_num(
        self: Tensor[Float],
        nan: float = 0.0,
        posinf: float | None = None,
        neginf: float | None = None,
    ) -> Tensor[Float]:
        """See `lumus.nan_to_num`."""
        return call("nan_to_num", self, nan, posinf, neginf)

    def leaky_relu(self: Tensor[Float], slope: float = 0.01) -> Tensor[Float]:
        """See `lumus.leaky_relu`."""
        return apply("leaky_relu", self, slope=slope)

    def gelu(self: Tensor[Float], approximate: Literal["none", "tanh"] = "none") -> Tensor[Float]:
        """See `lumus.gelu`."""
        return apply("gelu", self, approximate=approximate)

    @overload
    def abs(self: Tensor[Float]) -> Tensor[Float]: ...
    @overload
    def abs(self: Tensor[Int]) -> Tensor[Int]: ...
    def abs(self) -> Any:
        """See `lumus.abs`."""
        return apply("abs", self)

    @overload
    def sign(self: Tensor[Float]) -> Tensor[Float]: ...
    @overload
    def sign(self: Tensor[Int]) -> Tensor[Int]: ...
    def sign(self) -> Any:
        """See `lumus.sign`."""
        return apply("sign", self)

    @overload
    def square(self: Tensor[Float]) -> Tensor[Float]: ...
    @overload
    def square(self: Tensor[Int]) -> Tensor[Int]: ...
    def square(self) -> Any:
        """See `lumus.square`."""
        return apply("square", self)

    @overload
    def maximum(self: Tensor[Float], y: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def maximum(self: Tensor[Int], y: Tensor[Int] | int) -> Tensor[Int]: ...
    def maximum(self, y: Any) -> Any:
        """See `lumus.maximum`."""
        return apply("maximum", self, require_operand(self, y, "maximum"))

    @overload
    def minimum(self: Tensor[Float], y: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def minimum(self: Tensor[Int], y: Tensor[Int] | int) -> Tensor[Int]: ...
    def minimum(self, y: Any) -> Any:
        """See `lumus.minimum`."""
        return apply("minimum", self, require_operand(self, y, "minimum"))

    @overload
    def clip(
        self: Tensor[Float],
        min: Tensor[Float] | float | None = None,
        max: Tensor[Float] | float | None = None,
    ) -> Tensor[Float]: ...
    @overload
    def clip(
        self: Tensor[Int],
        min: Tensor[Int] | int | None = None,
        max: Tensor[Int] | int | None = None,
    ) -> Tensor[Int]: ...
    def clip(self, min: Any = None, max: Any = None) -> Any:
        """See `lumus.clip`."""
        return call("clip", self, min, max)

    def isnan(self: Tensor[Float]) -> Tensor[Bool]:
        """See `lumus.isnan`."""
        return apply("isnan", self)

    def isfinite(self: Tensor[Float]) -> Tensor[Bool]:
        """See `lumus.isfinite`."""
        return apply("isfinite", self)

    def isinf(self: Tensor[Float]) -> Tensor[Bool]:
        """See `lumus.isinf`."""
        return apply("isinf", self)

    # Reductions
    # --------------------------------------------------------------------------------------
    @overload
    def sum(self: Tensor[Float], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Float]: ...
    @overload
    def sum(self: Tensor[Int], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Int]: ...
    @overload
    def sum(self: Tensor[Bool], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Int]: ...
    def sum(self, axis: Axes = None, *, keepdims: bool = False) -> Any:
        """See `lumus.sum`."""
        return _reduce("sum", self, axis, keepdims)

    @overload
    def prod(
        self: Tensor[Float], axis: Axes = None, *, keepdims: bool = False
    ) -> Tensor[Float]: ...
    @overload
    def prod(self: Tensor[Int], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Int]: ...
    def prod(self, axis: Axes = None, *, keepdims: bool = False) -> Any:
        """See `lumus.prod`."""
        return _reduce("prod", self, axis, keepdims)

    @overload
    def max(self: Tensor[Float], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Float]: ...
    @overload
    def max(self: Tensor[Int], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Int]: ...
    def max(self, axis: Axes = None, *, keepdims: bool = False) -> Any:
        """See `lumus.max`."""
        return _reduce("max", self, axis, keepdims)

    @overload
    def min(self: Tensor[Float], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Float]: ...
    @overload
    def min(self: Tensor[Int], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Int]: ...
    def min(self, axis: Axes = None, *, keepdims: bool = False) -> Any:
        """See `lumus.min`."""
        return _reduce("min", self, axis, keepdims)

    def mean(self: Tensor[Float], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Float]:
        """See `lumus.mean`."""
        return _reduce("mean", self, axis, keepdims)

    def logsumexp(
        self: Tensor[Float], axis: Axes = None, *, keepdims: bool = False
    ) -> Tensor[Float]:
        """See `lumus.logsumexp`."""
        return _reduce("logsumexp", self, axis, keepdims)

    def any(self: Tensor[Bool], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Bool]:
        """See `lumus.any`."""
        return _reduce("any", self, axis, keepdims)

    def all(self: Tensor[Bool], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Bool]:
        """See `lumus.all`."""
        return _reduce("all", self, axis, keepdims)

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Tensor[Int]:
        """See `lumus.argmax`."""
        if axis is not None:
            axis = normalize_axis("argmax", axis, self.spec.ndim)
        return apply("argmax", self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Tensor[Int]:
        """See `lumus.argmin`."""
        if axis is not None:
            axis = normalize_axis("argmin", axis, self.spec.ndim)
        return apply("argmin", self, axis=axis, keepdims=keepdims)

    def var(
        self: Tensor[Float], axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False
    ) -> Tensor[Float]:
        """See `lumus.var`."""
        return call("var", self, axis, correction=correction, keepdims=keepdims)

    def std(
        self: Tensor[Float], axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False
    ) -> Tensor[Float]:
        """See `lumus.std`."""
        return call("std", self, axis, correction=correction, keepdims=keepdims)

    def norm(
        self: Tensor[Float], p: float = 2.0, axis: Axes = None, *, keepdims: bool = False
    ) -> Tensor[Float]:
        """See `lumus.norm`."""
        return call("norm", self, p, axis, keepdims=keepdims)

    def count_nonzero(self, axis: Axes = None, *, keepdims: bool = False) -> Tensor[Int]:
        """See `lumus.count_nonzero`."""
        return call("count_nonzero", self, axis, keepdims=keepdims)

    def median(self: Tensor[Float], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Float]:
        """See `lumus.median`."""
        return call("median", self, axis, keepdims=keepdims)

    def quantile(
        self: Tensor[Float],
        q: float | Sequence[float],
        axis: Axes = None,
        *,
        keepdims: bool = False,
        method: str = "linear",
    ) -> Tensor[Float]:
        """See `lumus.quantile`."""
        return call("quantile", self, q, axis, keepdims=keepdims, method=method)

    def softmax(self: Tensor[Float], axis: int = -1) -> Tensor[Float]:
        """See `lumus.softmax`."""
        axis = normalize_axis("softmax", axis, self.spec.ndim)
        return apply("softmax", self, axis=axis)

    def log_softmax(self: Tensor[Float], axis: int = -1) -> Tensor[Float]:
        """See `lumus.log_softmax`."""
        axis = normalize_axis("log_softmax", axis, self.spec.ndim)
        return apply("log_softmax", self, axis=axis)

    # Scans
    # --------------------------------------------------------------------------------------
    @overload
    def cumsum(self: Tensor[Float], axis: int | None = None) -> Tensor[Float]: ...
    @overload
    def cumsum(self: Tensor[Int], axis: int | None = None) -> Tensor[Int]: ...
    @overload
    def cumsum(self: Tensor[Bool], axis: int | None = None) -> Tensor[Int]: ...
    def cumsum(self, axis: int | None = None) -> Any:
        """See `lumus.cumsum`."""
        return call("cumsum", self, axis)

    @overload
    def cumprod(self: Tensor[Float], axis: int | None = None) -> Tensor[Float]: ...
    @overload
    def cumprod(self: Tensor[Int], axis: int | None = None) -> Tensor[Int]: ...
    def cumprod(self, axis: int | None = None) -> Any:
        """See `lumus.cumprod`."""
        return call("cumprod", self, axis)

    @overload
    def cummax(
        self: Tensor[Float], axis: int | None = None
    ) -> tuple[Tensor[Float], Tensor[Int]]: ...
    @overload
    def cummax(self: Tensor[Int], axis: int | None = None) -> tuple[Tensor[Int], Tensor[Int]]: ...
    def cummax(self, axis: int | None = None) -> Any:
        """See `lumus.cummax`."""
        return call("cummax", self, axis)

    @overload
    def cummin(
        self: Tensor[Float], axis: int | None = None
    ) -> tuple[Tensor[Float], Tensor[Int]]: ...
    @overload
    def cummin(self: Tensor[Int], axis: int | None = None) -> tuple[Tensor[Int], Tensor[Int]]: ...
    def cummin(self, axis: int | None = None) -> Any:
        """See `lumus.cummin`."""
        return call("cummin", self, axis)

    # Sorting
    # ------------------------------------------------------------------------------------
    def sort(self, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Tensor[K]:
        """See `lumus.sort`."""
        return call("sort", self, axis, descending=descending, stable=stable)

    def argsort(
        self, axis: int = -1, *, descending: bool = False, stable: bool = True
    ) -> Tensor[Int]:
        """See `lumus.argsort`."""
        return call("argsort", self, axis, descending=descending, stable=stable)

    @overload
    def topk(
        self: Tensor[Float], k: int, axis: int = -1, *, largest: bool = True, sorted: bool = True
    ) -> tuple[Tensor[Float], Tensor[Int]]: ...
    @overload
    def topk(
        self: Tensor[Int], k: int, axis: int = -1, *, largest: bool = True, sorted: bool = True
    ) -> tuple[Tensor[Int], Tensor[Int]]: ...
    def topk(self, k: int, axis: int = -1, *, largest: bool = True, sorted: bool = True) -> Any:
        """See `lumus.topk`."""
        return call("topk", self, k, axis, largest=largest, sorted=sorted)

    def unique(
        self,
        *,
        return_index: bool = False,
        return_inverse: bool = False,
        return_counts: bool = False,
        axis: int | None = None,
    ) -> Any:
        """See `lumus.unique`."""
        return call(
            "unique",
            self,
            return_index=return_index,
            return_inverse=return_inverse,
            return_counts=return_counts,
            axis=axis,
        )

    # Shape
    # -------------------------------------------------------------------------------------------
    def reshape(self, *shape: int | Sequence[int]) -> Tensor[K]:
        """See `lumus.reshape`; the lengths may be given one by one or as a sequence."""
        return call("reshape", self, _varargs(shape))

    def permute_dims(self, *axes: int | Sequence[int]) -> Tensor[K]:
        """See `lumus.permute_dims`; the axes may be given one by one or as a sequence."""
        return call("permute_dims", self, _varargs(axes))

    def transpose(self, axis0: int = -2, axis1: int = -1) -> Tensor[K]:
        """See `lumus.transpose`."""
        return call("transpose", self, axis0, axis1)

    @property
    def T(self) -> Tensor[K]:
        """The transpose of a matrix; raises ShapeError unless there are two axes."""
        if self.spec.ndim != 2:
            raise ShapeError(
                f"T: needs a matrix, got shape {self.spec.shape}",
                hint="use .mT for a stack of matrices, or .permute_dims(...)",
            )
        return apply("permute_dims", self, axes=(1, 0))

    @property
    def mT(self) -> Tensor[K]:
        """The last two axes swapped: the transpose of each matrix of a stack."""
        return self.transpose(-2, -1)

    def expand_dims(self, axis: Axes = 0) -> Tensor[K]:
        """See `lumus.expand_dims`."""
        return call("expand_dims", self, axis)

    def squeeze(self, axis: Axes = None) -> Tensor[K]:
        """See `lumus.squeeze`."""
        return call("squeeze", self, axis)

    def broadcast_to(self, *shape: int | Sequence[int]) -> Tensor[K]:
        """See `lumus.broadcast_to`."""
        shape_ = normalize_shape("broadcast_to", _varargs(shape))
        return apply("broadcast_to", self, shape=shape_)

    def flip(self, axis: Axes = None) -> Tensor[K]:
        """See `lumus.flip`."""
        return call("flip", self, axis)

    def narrow(self, axis: int, start: int, length: int) -> Tensor[K]:
        """See `lumus.narrow`."""
        return call("narrow", self, axis, start, length)

    def split(self, sizes: int | Sequence[int], axis: int = 0) -> list[Tensor[K]]:
        """See `lumus.split`."""
        return call("split", self, sizes, axis)

    def unstack(self, axis: int = 0) -> tuple[Tensor[K], ...]:
        """See `lumus.unstack`."""
        return call("unstack", self, axis)

    def moveaxis(self, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor[K]:
        """See `lumus.moveaxis`."""
        return call("moveaxis", self, source, destination)

    def roll(self, shift: int | Sequence[int], axis: Axes = None) -> Tensor[K]:
        """See `lumus.roll`."""
        return call("roll", self, shift, axis)

    def tile(self, repetitions: int | Sequence[int]) -> Tensor[K]:
        """See `lumus.tile`."""
        return call("tile", self, repetitions)

    def repeat(
        self, repeats: int | Sequence[int] | Tensor[Int], axis: int | None = None
    ) -> Tensor[K]:
        """See `lumus.repeat`."""
        return call("repeat", self, repeats, axis)

    def pad(
        self,
        pad_width: PadWidth,
        mode: PadMode = "constant",
        *,
        constant_values: float | int | bool = 0,
    ) -> Tensor[K]:
        """See `lumus.pad`."""
        return call("pad", self, pad_width, mode, constant_values=constant_values)

    def unfold(self, axis: int, size: int, step: int = 1) -> Tensor[K]:
        """See `lumus.unfold`."""
        return call("unfold", self, axis, size, step)

    def diagonal(self, offset: int = 0) -> Tensor[K]:
        """See `lumus.diagonal`."""
        return call("diagonal", self, offset)

    @overload
    def trace(self: Tensor[Float], offset: int = 0) -> Tensor[Float]: ...
    @overload
    def trace(self: Tensor[Int], offset: int = 0) -> Tensor[Int]: ...
    def trace(self, offset: int = 0) -> Any:
        """See `lumus.trace`."""
        return call("trace", self, offset)

    def take(self, indices: Tensor[Int] | Sequence[Any], axis: int = 0) -> Tensor[K]:
        """See `lumus.take`."""
        return call("take", self, indices, axis)

    def take_along_axis(self, indices: Tensor[Int], axis: int = -1) -> Tensor[K]:
        """See `lumus.take_along_axis`."""
        axis = normalize_axis("take_along_axis", axis, self.spec.ndim)
        return apply("take_along_axis", self, indices, axis=axis)

    def scatter_add(self, indices: Tensor[Int], values: Tensor[K], axis: int = 0) -> Tensor[K]:
        """See `lumus.scatter_add`."""
        axis = normalize_axis("scatter_add", axis, self.spec.ndim)
        return apply("scatter_add", self, indices, values, axis=axis)

    def index_add(self, indices: Tensor[Int], values: Tensor[K], axis: int = 0) -> Tensor[K]:
        """See `lumus.index_add`."""
        return call("index_add", self, indices, values, axis)

    def copy(self) -> Tensor[K]:
        """A dense copy with memory of its own; differentiable."""
        return apply("copy", self)

    def astype(self, dtype: DType[K2]) -> Tensor[K2]:
        """See `lumus.astype`."""
        if dtype is self.spec.dtype:
            return cast("Tensor[K2]", self)
        return apply("astype", self, dtype=dtype)

    # In place
    # ----------------------------------------------------------------------------------------
    @overload
    def add_(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def add_(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def add_(self, other: Any) -> Any:
        """`lumus.add` in place; raises RecordedWriteError when autograd would not see the write."""
        value = require_operand(self, other, "add_")
        apply_into("add", self, self, value, functional="lumus.add", spelled="add_")
        return self

    @overload
    def subtract_(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def subtract_(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def subtract_(self, other: Any) -> Any:
        """`lumus.subtract` in place.

        Raises RecordedWriteError when autograd would not see the write.
        """
        value = require_operand(self, other, "subtract_")
        apply_into("subtract", self, self, value, functional="lumus.subtract", spelled="subtract_")
        return self

    @overload
    def multiply_(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]: ...
    @overload
    def multiply_(self: Tensor[Int], other: Tensor[Int] | int) -> Tensor[Int]: ...
    def multiply_(self, other: Any) -> Any:
        """`lumus.multiply` in place.

        Raises RecordedWriteError when autograd would not see the write.
        """
        value = require_operand(self, other, "multiply_")
        apply_into("multiply", self, self, value, functional="lumus.multiply", spelled="multiply_")
        return self

    def divide_(self: Tensor[Float], other: Tensor[Float] | float) -> Tensor[Float]:
        """`lumus.divide` in place.

        Raises RecordedWriteError when autograd would not see the write.
        """
        value = require_operand(self, other, "divide_")
        apply_into("divide", self, self, value, functional="lumus.divide", spelled="divide_")
        return self

    def copy_(self, other: Tensor[K] | Any) -> Tensor[K]:
        """Overwrites every element with those of `other`, broadcast and converted."""
        call("copy_", self, other, spelled="copy_")
        return self

    def fill_(self, value: float) -> Tensor[K]:
        """Overwrites every element with a number."""
        call("copy_", self, value, spelled="fill_")
        return self

    def zero_(self) -> Tensor[K]:
        """Overwrites every element with zero."""
        zero = False if self.spec.dtype.kind == "bool" else 0
        call("copy_", self, zero, spelled="zero_")
        return self


register_tensor_class(Tensor)
bind_tensor_class(Tensor)


def require_operand(like: Tensor[Any], other: Any, op: str) -> Tensor[Any]:
    """`other` as a tensor beside `like`; raises ArgumentError for anything else."""
    value = operand(like, other, op)
    if value is None:
        raise ArgumentError(
            f"{op}: expected a tensor or a number, got {type(other).__name__}", op=op
        )
    return value


def operands(op: str, x: Any, y: Any) -> tuple[Tensor[Any], Tensor[Any]]:
    """Two operands, of which one may be a number, as tensors."""
    if isinstance(x, Tensor):
        return x, require_operand(x, y, op)
    if isinstance(y, Tensor):
        return require_operand(y, x, op), y
    raise ArgumentError(
        f"{op}: expected a tensor, got {type(x).__name__} and {type(y).__name__}",
        hint="make one with lumus.tensor(...)",
        op=op,
    )


def _varargs(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 else values


def _reduce(name: str, x: Tensor[Any], axis: Axes, keepdims: bool) -> Any:
    axes = normalize_axes(name, axis, x.spec.ndim)
    return apply(name, x, axes=axes, keepdims=keepdims)


class At(Generic[K]):
    """`x.at`, waiting for its index."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor[K]) -> None:
        self.tensor = tensor

    def __getitem__(self, index: Index) -> AtIndex[K]:
        return AtIndex(self.tensor, index)


class AtIndex(Generic[K]):
    """`x.at[index]`: the updates, each of which returns a new tensor and is differentiable."""

    __slots__ = ("index", "tensor")

    def __init__(self, tensor: Tensor[K], index: Index) -> None:
        self.tensor = tensor
        self.index = index

    def set(self, value: Tensor[K] | Any) -> Tensor[K]:
        """`value` at the index; of duplicates the last wins, and it alone gets a gradient."""
        return call("at_set", self.tensor, self.index, value)

    def add(self, value: Tensor[K] | Any) -> Tensor[K]:
        """`value` added at the index; duplicates accumulate."""
        return call("at_add", self.tensor, self.index, value)


def leaf(tensor: Tensor[K], requires_grad: bool) -> Tensor[K]:
    """`tensor`, made a leaf of the graph if so asked."""
    return tensor.requires_grad_() if requires_grad else tensor
