"""What convolution layers share: arguments, parameters, padding other than zeros."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from lumus.core.argument import check_tensors, choice
from lumus.core.broadcast import Shape
from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.nn.init import fans, uniform
from lumus.nn.module import Module, Parameter
from lumus.ops.conv.geometry import Padding, Sizes, numbers, paddings, positive
from lumus.ops.random.generator import Generator
from lumus.ops.shape.pad import pad

PaddingMode = Literal["zeros", "reflect", "replicate", "circular"]
CONTINUATIONS: dict[str, Literal["reflect", "edge", "wrap"]] = {
    "reflect": "reflect",
    "replicate": "edge",
    "circular": "wrap",
}


class Convolution(Module):
    """Base of the six convolution layers: arguments and parameters."""

    rank: ClassVar[int]
    is_transposed: ClassVar[bool] = False

    weight: Parameter
    bias: Parameter | None
    in_channels: int
    out_channels: int
    kernel_size: Shape
    stride: Shape
    dilation: Shape
    groups: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        dilation: Sizes,
        groups: int,
        *,
        bias: bool,
        dtype: DType[Float] = float32,
        generator: Generator | None = None,
    ) -> None:
        name = type(self).__name__
        self.in_channels = positive(name, "in_channels", in_channels)
        self.out_channels = positive(name, "out_channels", out_channels)
        self.groups = positive(name, "groups", groups)
        self.kernel_size = numbers(name, "kernel_size", kernel_size, self.rank, 1)
        self.stride = numbers(name, "stride", stride, self.rank, 1)
        self.dilation = numbers(name, "dilation", dilation, self.rank, 1)
        if self.in_channels % self.groups or self.out_channels % self.groups:
            raise ArgumentError(
                f"{name}: {in_channels} channels in and {out_channels} out cannot be cut into "
                f"groups={groups} of one size"
            )
        ends = (self.out_channels, self.in_channels // self.groups)
        if self.is_transposed:
            ends = (self.in_channels, self.out_channels // self.groups)
        shape = (*ends, *self.kernel_size)
        bound = 1 / math.sqrt(fans(shape)[0])
        self.weight = Parameter(uniform(shape, bound, dtype=dtype, generator=generator))
        self.bias = (
            Parameter(uniform((self.out_channels,), bound, dtype=dtype, generator=generator))
            if bias
            else None
        )

    def described(self, padding: object) -> str:
        """The arguments that are not as usual."""
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"]
        ones = (1,) * self.rank
        parts += [f"stride={self.stride}"] if self.stride != ones else []
        parts += [f"padding={padding!r}"] if padding != (0,) * self.rank else []
        parts += [f"dilation={self.dilation}"] if self.dilation != ones else []
        parts += [f"groups={self.groups}"] if self.groups != 1 else []
        parts += ["bias=False"] if self.bias is None else []
        return ", ".join(parts)


class ForwardConvolution(Convolution):
    """Base of Conv1d, Conv2d and Conv3d."""

    padding: Shape | Literal["same", "valid"]
    padding_mode: PaddingMode

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Padding = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        *,
        bias: bool = True,
        padding_mode: PaddingMode = "zeros",
        dtype: DType[Float] = float32,
        generator: Generator | None = None,
    ) -> None:
        name = type(self).__name__
        choice(name, "padding_mode", padding_mode, ("zeros", *CONTINUATIONS))
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            dilation,
            groups,
            bias=bias,
            dtype=dtype,
            generator=generator,
        )
        self.padding_mode = padding_mode
        if isinstance(padding, str):
            paddings(name, padding, self.kernel_size, self.stride, self.dilation)
            self.padding = padding
        else:
            self.padding = numbers(name, "padding", padding, self.rank, 0)

    def padded(self, x: Tensor[Float]) -> tuple[Tensor[Float], Padding]:
        """X as the convolution takes it, continued if that is asked for, and the zeros to add."""
        name = type(self).__name__
        check_tensors(name, x)
        if self.padding_mode == "zeros" or x.ndim not in (self.rank + 1, self.rank + 2):
            return x, self.padding
        before, after = paddings(name, self.padding, self.kernel_size, self.stride, self.dilation)
        ends = zip(range(-self.rank, 0), before, after, strict=True)
        widths = {axis: (front, behind) for axis, front, behind in ends}
        return pad(x, widths, mode=CONTINUATIONS[self.padding_mode]), 0

    def extra_repr(self) -> str:
        mode = "" if self.padding_mode == "zeros" else f", padding_mode={self.padding_mode!r}"
        return self.described(self.padding) + mode


class TransposedConvolution(Convolution):
    """Base of ConvTranspose1d, ConvTranspose2d and ConvTranspose3d."""

    is_transposed = True
    padding: Shape
    output_padding: Shape

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        *,
        bias: bool = True,
        dilation: Sizes = 1,
        dtype: DType[Float] = float32,
        generator: Generator | None = None,
    ) -> None:
        name = type(self).__name__
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            dilation,
            groups,
            bias=bias,
            dtype=dtype,
            generator=generator,
        )
        self.padding = numbers(name, "padding", padding, self.rank, 0)
        self.output_padding = numbers(name, "output_padding", output_padding, self.rank, 0)

    def extra_repr(self) -> str:
        more = self.output_padding
        added = f", output_padding={more}" if more != (0,) * self.rank else ""
        return self.described(self.padding) + added
