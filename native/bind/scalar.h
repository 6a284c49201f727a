// A Python number as one element of some dtype. For binding sources only.
#pragma once

#include <nanobind/nanobind.h>

#include <cstring>

#include "kernels/copy.h"
#include "runtime/view.h"

namespace lumus {

// A view of rank 0 on its own eight bytes.
class Scalar {
 public:
  explicit Scalar(nanobind::handle number) {
    view_.data = bytes_;
    view_.rank = 0;
    PyObject* const object = number.ptr();
    if (PyLong_Check(object)) {  // bool is one, too
      int overflow = 0;
      const std::int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
      if (overflow == 0) {
        set(DType::int64, value);
        return;
      }
    }
    const double value = PyFloat_AsDouble(object);
    if (value == -1 && PyErr_Occurred()) throw nanobind::python_error();
    set(DType::float64, value);
  }
  Scalar(const Scalar&) = delete;
  Scalar& operator=(const Scalar&) = delete;

  bool is_integer() const { return view_.dtype == DType::int64; }
  std::int64_t integer() const { return read<std::int64_t>(); }
  double real() const { return is_integer() ? static_cast<double>(integer()) : read<double>(); }
  const View& view() const { return view_; }

  // Rounds to another dtype, by the rules of a cast.
  void convert(DType dtype) {
    alignas(8) std::byte converted[8] = {};
    View target = view_;
    target.data = converted;
    target.dtype = dtype;
    copy_kernels().cast(target, view_);
    std::memcpy(bytes_, converted, sizeof bytes_);
    view_.dtype = dtype;
  }

 private:
  template <class T>
  void set(DType dtype, T value) {
    view_.dtype = dtype;
    std::memcpy(bytes_, &value, sizeof value);
  }
  template <class T>
  T read() const {
    T value;
    std::memcpy(&value, bytes_, sizeof value);
    return value;
  }

  alignas(8) std::byte bytes_[8] = {};
  View view_;
};

}  // namespace lumus
