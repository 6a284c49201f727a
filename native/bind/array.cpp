// The Array class: properties, views, the buffer protocol, versions; and arrays over foreign
// memory.
#include "runtime/array.h"

#include <nanobind/nanobind.h>

#include <cstring>

#include "bind/conversion.h"
#include "bind/foreign.h"
#include "bind/release.h"
#include "kernels/copy.h"
#include "runtime/overlap.h"

namespace nb = nanobind;

namespace lumus {
namespace {

// ------------------------------------------------------------------------------------ elements

float half_to_float(std::uint16_t bits) {
  _Float16 value;
  std::memcpy(&value, &bits, sizeof value);
  return static_cast<float>(value);
}

float bfloat16_to_float(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

template <class T>
T read_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

nb::object element(DType dtype, const std::byte* from) {
  switch (dtype) {
    case DType::float64:
      return nb::float_(read_as<double>(from));
    case DType::float32:
      return nb::float_(static_cast<double>(read_as<float>(from)));
    case DType::float16:
      return nb::float_(static_cast<double>(half_to_float(read_as<std::uint16_t>(from))));
    case DType::bfloat16:
      return nb::float_(static_cast<double>(bfloat16_to_float(read_as<std::uint16_t>(from))));
    case DType::int64:
      return nb::int_(read_as<std::int64_t>(from));
    case DType::int32:
      return nb::int_(read_as<std::int32_t>(from));
    case DType::int16:
      return nb::int_(static_cast<int>(read_as<std::int16_t>(from)));
    case DType::int8:
      return nb::int_(static_cast<int>(read_as<std::int8_t>(from)));
    case DType::uint8:
      return nb::int_(static_cast<int>(read_as<std::uint8_t>(from)));
    case DType::boolean:
      return nb::bool_(read_as<std::uint8_t>(from) != 0);
  }
  return nb::none();
}

Array contiguous_copy(const Array& array) {
  Array copy = make_array(array.view.dtype, array.view.rank, array.view.shape);
  run_released(num_elements(array.view), [&] { copy_kernels().copy(copy.view, array.view); });
  return copy;
}

// ------------------------------------------------------------------------------------ buffer
// protocol

const char* buffer_format(DType dtype) {
  // As NumPy spells its canonical types on this platform; bfloat16, which the protocol lacks, as
  // its bits.
  constexpr const char* int64_format = sizeof(long) == 8 ? "l" : "q";
  constexpr const char* formats[kNumDTypes] = {"d", "f", "e", "H", int64_format,
                                               "i", "h", "b", "B", "?"};
  return formats[static_cast<int>(dtype)];
}

bool is_readonly(const Array& array) {
  if (array.readonly || array.storage->readonly()) return true;
  // Elements of a broadcast view share memory: writing one would change others.
  for (int axis = 0; axis < array.view.rank; ++axis) {
    if (array.view.strides[axis] == 0 && array.view.shape[axis] > 1) return true;
  }
  return false;
}

bool is_column_major(const View& view) {
  View reversed = view;
  for (int axis = 0; axis < view.rank; ++axis) {
    reversed.shape[axis] = view.shape[view.rank - 1 - axis];
    reversed.strides[axis] = view.strides[view.rank - 1 - axis];
  }
  return is_contiguous(reversed);
}

struct BufferLayout {
  Py_ssize_t shape[kMaxRank];
  Py_ssize_t strides[kMaxRank];
};

int get_buffer(PyObject* self, Py_buffer* buffer, int flags) {
  const Array& array = *nb::inst_ptr<Array>(self);
  const View& view = array.view;
  const bool contiguous = is_contiguous(view);
  const bool readonly = is_readonly(array);
  buffer->obj = nullptr;
  const auto refuse = [](const char* why) {
    PyErr_SetString(PyExc_BufferError, why);
    return -1;
  };
  if ((flags & PyBUF_WRITABLE) && readonly) return refuse("the array is read-only");
  if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !contiguous) {
    return refuse("the array is not row-major contiguous");
  }
  if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !is_column_major(view)) {
    return refuse("the array is not column-major contiguous");
  }
  if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !contiguous &&
      !is_column_major(view)) {
    return refuse("the array is not contiguous");
  }
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !contiguous) {
    return refuse("the array is strided, and the consumer asked for no strides");
  }

  auto* const layout = static_cast<BufferLayout*>(PyMem_Malloc(sizeof(BufferLayout)));
  if (!layout) {
    PyErr_NoMemory();
    return -1;
  }
  const std::int64_t size = itemsize(view.dtype);
  for (int axis = 0; axis < view.rank; ++axis) {
    layout->shape[axis] = view.shape[axis];
    layout->strides[axis] = view.strides[axis] * size;
  }
  buffer->buf = view.data;
  buffer->len = num_elements(view) * size;
  buffer->itemsize = size;
  buffer->readonly = readonly;
  buffer->ndim = view.rank;
  buffer->format = flags & PyBUF_FORMAT ? const_cast<char*>(buffer_format(view.dtype)) : nullptr;
  buffer->shape = flags & PyBUF_ND ? layout->shape : nullptr;
  buffer->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? layout->strides : nullptr;
  buffer->suboffsets = nullptr;
  buffer->internal = layout;
  buffer->obj = Py_NewRef(self);
  return 0;
}

void release_buffer(PyObject*, Py_buffer* buffer) { PyMem_Free(buffer->internal); }

PyType_Slot array_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {0, nullptr},
};

// ------------------------------------------------------------------------------------ foreign
// memory

Array from_buffer(std::uintptr_t address, std::int64_t nbytes_before, std::int64_t nbytes_after,
                  int dtype, nb::tuple shape, nb::tuple strides, bool readonly, nb::object owner) {
  Array array;
  array.view.data = reinterpret_cast<std::byte*>(address);
  array.view.dtype = static_cast<DType>(dtype);
  array.view.rank = read_integers(shape, array.view.shape);
  read_integers(strides, array.view.strides);
  array.readonly = readonly;
  // Memory that came from lumus: NumPy holds it by a memoryview of an Array, or by a capsule.
  PyObject* base = owner.ptr();
  if (PyMemoryView_Check(base)) base = PyMemoryView_GET_BUFFER(base)->obj;
  const Array* original = nullptr;
  if (base && nb::try_cast(nb::handle(base), original) && original) {
    array.storage = original->storage;
    return array;
  }
  array.storage = storage_of_owner(owner.ptr(), array.view.data - nbytes_before,
                                   array.view.data + nbytes_after);
  return array;
}

// ------------------------------------------------------------------------------------ methods

Array empty(int dtype, nb::tuple shape) {
  std::int64_t sizes[kMaxRank];
  const int rank = read_integers(shape, sizes);
  return make_array(static_cast<DType>(dtype), rank, sizes);
}

Array permute(const Array& array, nb::tuple axes) {
  std::int64_t order[kMaxRank];
  const int rank = read_integers(axes, order);
  int axes_of[kMaxRank];
  for (int axis = 0; axis < rank; ++axis) axes_of[axis] = static_cast<int>(order[axis]);
  return permuted(array, axes_of);
}

Array slice(const Array& array, nb::tuple starts, nb::tuple sizes, nb::tuple steps) {
  std::int64_t from[kMaxRank], count[kMaxRank], step[kMaxRank];
  read_integers(starts, from);
  read_integers(sizes, count);
  read_integers(steps, step);
  return sliced(array, from, count, step);
}

Array broadcast(const Array& array, nb::tuple shape) {
  std::int64_t sizes[kMaxRank];
  const int rank = read_integers(shape, sizes);
  return broadcasted(array, rank, sizes);
}

Array reshape(const Array& array, nb::tuple shape) {
  std::int64_t sizes[kMaxRank];
  const int rank = read_integers(shape, sizes);
  Array result;
  if (reshaped_view(array, rank, sizes, &result)) return result;
  reshaped_view(contiguous_copy(array), rank, sizes, &result);
  return result;
}

nb::object reshape_view(const Array& array, nb::tuple shape) {
  std::int64_t sizes[kMaxRank];
  const int rank = read_integers(shape, sizes);
  Array result;
  if (!reshaped_view(array, rank, sizes, &result)) return nb::none();
  return nb::cast(std::move(result));
}

void note_write(const Array& array, nb::str op, nb::object site) {
  array.storage->note_write(array.view, op.release().ptr(), site.release().ptr(), release_object);
}

nb::object overwritten_since(const Array& array, std::uint64_t version) {
  void *op, *site;
  if (!array.storage->overwritten_since(version, array.view, &op, &site)) return nb::none();
  nb::object op_name = op ? nb::borrow(static_cast<PyObject*>(op)) : nb::object(nb::str("unknown"));
  nb::object place = site ? nb::borrow(static_cast<PyObject*>(site)) : nb::none();
  return nb::make_tuple(op_name, place);
}

nb::object item(const Array& array) {
  if (num_elements(array.view) != 1) throw nb::value_error("item() needs exactly one element");
  return element(array.view.dtype, array.view.data);
}

bool is_whole(const Array& array) {
  return array.view.data == array.storage->data() && is_contiguous(array.view) &&
         num_elements(array.view) * itemsize(array.view.dtype) == array.storage->nbytes();
}

}  // namespace
}  // namespace lumus

void bind_array(nb::module_& m) {
  using namespace lumus;
  nb::class_<Array>(m, "Array", nb::type_slots(array_slots), nb::is_final(), nb::pooled(256))
      .def_prop_ro("shape", [](const Array& a) { return make_tuple(a.view.rank, a.view.shape); })
      .def_prop_ro("strides",
                   [](const Array& a) { return make_tuple(a.view.rank, a.view.strides); })
      .def_prop_ro("dtype", [](const Array& a) { return static_cast<int>(a.view.dtype); })
      .def_prop_ro("size", [](const Array& a) { return num_elements(a.view); })
      .def_prop_ro("nbytes",
                   [](const Array& a) { return num_elements(a.view) * itemsize(a.view.dtype); })
      .def_prop_ro("itemsize", [](const Array& a) { return itemsize(a.view.dtype); })
      .def_prop_ro("is_contiguous", [](const Array& a) { return is_contiguous(a.view); })
      .def_prop_ro("is_whole", is_whole)
      .def_prop_ro("readonly", [](const Array& a) { return a.readonly || a.storage->readonly(); })
      .def_prop_ro("version", [](const Array& a) { return a.storage->version(); })
      .def_prop_ro("storage_id", [](const Array& a) { return a.storage->serial(); })
      .def_prop_ro("address",
                   [](const Array& a) { return reinterpret_cast<std::uintptr_t>(a.view.data); })
      .def_prop_ro("use_count", [](const Array& a) { return a.storage->use_count(); })
      .def("permute", permute)
      .def("slice", slice)
      .def("windows", windowed)
      .def("broadcast", broadcast)
      .def("reshape", reshape)
      .def("reshape_view", reshape_view)
      .def("freeze", [](const Array& a) { a.storage->freeze(); })
      .def("note_write", note_write, nb::arg(), nb::arg().none())
      .def("overwritten_since", overwritten_since)
      .def("rewind", [](const Array& a, std::uint64_t version) { a.storage->rewind(version); })
      .def("item", item)
      .def("alias", [](const Array& a) { return Array(a); });
  m.def("empty", empty);
  m.def("arrays_overlap",
        [](const Array& a, const Array& b) { return views_overlap(a.view, b.view); });
  m.def("from_buffer", from_buffer);
}
