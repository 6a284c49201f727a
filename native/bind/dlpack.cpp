// DLPack, both capsule generations, for memory of the CPU. A capsule that lumus made comes back as
// an array on its old storage, so versions survive a round trip.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "bind/conversion.h"
#include "bind/foreign.h"
#include "runtime/array.h"
#include "runtime/overlap.h"

namespace nb = nanobind;

namespace lumus {
namespace {

// ------------------------------------------------------------------------------------ the
// protocol's ABI

struct DLDevice {
  std::int32_t type, id;
};
constexpr std::int32_t kCpu = 1;

struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
enum DLTypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // elements; null for row-major in the first generation
  std::uint64_t byte_offset;
};

struct ManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(ManagedTensor* self);

  bool readonly() const { return false; }
  static constexpr const char* fresh_name = "dltensor";
  static constexpr const char* used_name = "used_dltensor";
};

struct VersionedTensor {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(VersionedTensor* self);
  std::uint64_t flags;
  DLTensor tensor;

  bool readonly() const { return flags & 1; }
  static constexpr const char* fresh_name = "dltensor_versioned";
  static constexpr const char* used_name = "used_dltensor_versioned";
};

constexpr DLDataType kDataTypes[kNumDTypes] = {
    {kFloat, 64, 1}, {kFloat, 32, 1}, {kFloat, 16, 1}, {kBfloat, 16, 1}, {kInt, 64, 1},
    {kInt, 32, 1},   {kInt, 16, 1},   {kInt, 8, 1},    {kUInt, 8, 1},    {kBool, 8, 1},
};

// ------------------------------------------------------------------------------------ export

// What an exported tensor keeps: the array, and the shape and strides that the protocol points to.
template <class Managed>
struct Exported {
  Managed managed;
  Array array;
};

template <class Managed>
void delete_exported(Managed* self) {
  auto* const exported = static_cast<Exported<Managed>*>(self->context);
  forget_export(exported->array.storage.get());
  delete exported;
}

template <class Managed>
void delete_unused(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, Managed::fresh_name)) return;  // a consumer owns the tensor now
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::fresh_name));
  if (managed->deleter) managed->deleter(managed);
}

template <class Managed>
nb::object export_array(const Array& array, Managed** made) {
  auto* const exported = new Exported<Managed>{{}, array};
  View& view = exported->array.view;
  Managed& managed = exported->managed;
  managed.context = exported;
  managed.deleter = delete_exported<Managed>;
  managed.tensor = {view.data,  {kCpu, 0},    view.rank, kDataTypes[static_cast<int>(view.dtype)],
                    view.shape, view.strides, 0};
  *made = &managed;
  PyObject* const capsule = PyCapsule_New(&managed, Managed::fresh_name, delete_unused<Managed>);
  if (!capsule) {
    delete exported;
    throw nb::python_error();
  }
  note_export(exported->array.storage.get());
  return nb::steal(capsule);
}

nb::object to_dlpack(const Array& array, bool versioned, bool copied) {
  const bool readonly = array.readonly || array.storage->readonly();
  if (versioned) {
    VersionedTensor* made;
    nb::object capsule = export_array(array, &made);
    made->major = 1;
    made->minor = 0;
    made->flags = (readonly ? 1u : 0u) | (copied ? 2u : 0u);
    return capsule;
  }
  if (readonly) {
    throw nb::buffer_error("a read-only array needs a consumer of DLPack 1.0 or newer");
  }
  ManagedTensor* made;
  return export_array(array, &made);
}

// ------------------------------------------------------------------------------------ import

template <class Managed>
void release_imported(void* owner, Storage*) {
  auto* const managed = static_cast<Managed*>(owner);
  if (managed->deleter) managed->deleter(managed);
}

DType dtype_of(DLDataType type) {
  for (int dtype = 0; dtype < kNumDTypes; ++dtype) {
    const DLDataType& known = kDataTypes[dtype];
    if (type.code == known.code && type.bits == known.bits && type.lanes == 1) {
      return static_cast<DType>(dtype);
    }
  }
  const std::string text = "no dtype of lumus is like DLPack type code " +
                           std::to_string(type.code) + " with " + std::to_string(type.bits) +
                           " bits and " + std::to_string(type.lanes) + " lanes";
  throw nb::buffer_error(text.c_str());
}

View view_of(const DLTensor& tensor) {
  if (tensor.device.type != kCpu) throw nb::buffer_error("the tensor is not in CPU memory");
  if (tensor.ndim < 0 || tensor.ndim > kMaxRank) {
    throw nb::buffer_error("an array has at most 16 axes");
  }
  View view;
  view.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  view.dtype = dtype_of(tensor.dtype);
  view.rank = tensor.ndim;
  std::int64_t stride = 1;
  bool empty = false;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] < 0) throw nb::buffer_error("the tensor has an axis of negative length");
    view.shape[axis] = tensor.shape[axis];
    view.strides[axis] = tensor.strides ? tensor.strides[axis] : stride;
    stride *= tensor.shape[axis] ? tensor.shape[axis] : 1;
    empty |= tensor.shape[axis] == 0;
  }
  if (!empty && reinterpret_cast<std::uintptr_t>(view.data) % itemsize(view.dtype)) {
    throw nb::buffer_error("the tensor's elements are not aligned to their size");
  }
  return view;
}

template <class Managed>
Array import_tensor(PyObject* capsule, Managed* managed) {
  if (managed->deleter == delete_exported<Managed>) {
    // Our own: the capsule stays unused, and its destructor drops what it holds.
    return static_cast<Exported<Managed>*>(managed->context)->array;
  }
  Array array;
  array.view = view_of(managed->tensor);
  array.readonly = managed->readonly();
  const ByteHull hull = hull_of(array.view);
  bool is_known;
  array.storage =
      storage_of_import(const_cast<std::byte*>(hull.low), const_cast<std::byte*>(hull.high),
                        managed, release_imported<Managed>, &is_known);
  // The capsule of known memory stays unused: its destructor gives back what it holds.
  if (!is_known && PyCapsule_SetName(capsule, Managed::used_name)) throw nb::python_error();
  return array;
}

Array from_dlpack(nb::capsule capsule) {
  PyObject* const object = capsule.ptr();
  if (PyCapsule_IsValid(object, VersionedTensor::fresh_name)) {
    auto* const managed =
        static_cast<VersionedTensor*>(PyCapsule_GetPointer(object, VersionedTensor::fresh_name));
    if (managed->major != 1) throw nb::buffer_error("the capsule is not of DLPack version 1");
    return import_tensor(object, managed);
  }
  if (PyCapsule_IsValid(object, ManagedTensor::fresh_name)) {
    return import_tensor(object, static_cast<ManagedTensor*>(
                                     PyCapsule_GetPointer(object, ManagedTensor::fresh_name)));
  }
  throw nb::value_error("not a DLPack capsule, or one that was consumed before");
}

}  // namespace
}  // namespace lumus

void bind_dlpack(nb::module_& m) {
  m.def("to_dlpack", lumus::to_dlpack);
  m.def("from_dlpack", lumus::from_dlpack);
}
