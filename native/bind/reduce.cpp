// Reduction: an object that holds everything that does not change between calls; and arg_reduce.
#include "kernels/reduce.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include <string_view>

#include "bind/conversion.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

// Below this many elements giving up the interpreter lock costs more than the work.
constexpr std::int64_t kElementsWorthUnlocking = 32768;

ReduceKind kind_of(std::string_view name) {
  constexpr std::string_view names[] = {"sum", "mean", "prod", "max", "min", "any", "all"};
  for (int code = 0; code < 7; ++code) {
    if (name == names[code]) return static_cast<ReduceKind>(code);
  }
  throw nb::value_error("a kind of reduction that does not exist");
}

std::uint32_t mask_of(nb::tuple axes) {
  std::int64_t values[kMaxRank];
  const int count = read_integers(axes, values);
  std::uint32_t mask = 0;
  for (int i = 0; i < count; ++i) mask |= 1u << values[i];
  return mask;
}

struct Reduction {
  ReduceKind kind;
  DType out_dtype;
  std::uint32_t axes;
  bool keepdims;

  // An array for the result of a reduction of `input`.
  Array output_for(const View& input) const {
    std::int64_t shape[kMaxRank];
    int rank = 0;
    for (int axis = 0; axis < input.rank; ++axis) {
      if (!(axes >> axis & 1u)) {
        shape[rank++] = input.shape[axis];
      } else if (keepdims) {
        shape[rank++] = 1;
      }
    }
    return make_array(out_dtype, rank, shape);
  }

  Array run1(const Array& input) const {
    Array output = output_for(input.view);
    const auto& kernels = reduce_kernels();
    if (num_elements(input.view) < kElementsWorthUnlocking) {
      kernels.reduce(kind, input.view, axes, output.view);
    } else {
      nb::gil_scoped_release unlocked;
      kernels.reduce(kind, input.view, axes, output.view);
    }
    return output;
  }
};

Array arg_reduce(std::string_view kind, const Array& input, nb::object axis, bool keepdims) {
  const int reduced = axis.is_none() ? -1 : nb::cast<int>(axis);
  std::int64_t shape[kMaxRank];
  int rank = 0;
  for (int at = 0; at < input.view.rank; ++at) {
    if (reduced >= 0 && at != reduced) {
      shape[rank++] = input.view.shape[at];
    } else if (keepdims) {
      shape[rank++] = 1;
    }
  }
  Array output = make_array(DType::int64, rank, shape);
  const bool is_max = kind == "max";
  const auto& kernels = reduce_kernels();
  if (num_elements(input.view) < kElementsWorthUnlocking) {
    kernels.arg_reduce(is_max, input.view, reduced, output.view);
  } else {
    nb::gil_scoped_release unlocked;
    kernels.arg_reduce(is_max, input.view, reduced, output.view);
  }
  return output;
}

}  // namespace
}  // namespace lumus

void bind_reduce(nb::module_& m) {
  using namespace lumus;
  nb::class_<Reduction>(m, "Reduction")
      .def(
          "__init__",
          [](Reduction* self, std::string_view kind, nb::object program, int, int out_dtype,
             nb::tuple axes, int, bool keepdims) {
            static_cast<void>(program);
            new (self)
                Reduction{kind_of(kind), static_cast<DType>(out_dtype), mask_of(axes), keepdims};
          },
          nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg())
      .def("run1", &Reduction::run1);
  m.def("arg_reduce", arg_reduce, nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
}
