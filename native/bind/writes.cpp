#include "bind/writes.h"

#include <algorithm>

#include "bind/conversion.h"

namespace nb = nanobind;

namespace lumus {

Writes::Writes(nb::list arrays, nb::list arguments) {
  for (nb::handle write : arrays) {
    kept_.push_back(nb::borrow(write[0]));
    const Array& array = nb::cast<const Array&>(write[0]);
    arrays_.push_back({&array, 0, nb::borrow(write[1]), nb::borrow(write[2])});
    storages_.push_back(array.storage.get());
  }
  std::sort(storages_.begin(), storages_.end());
  for (nb::handle write : arguments) {
    const auto place = nb::cast<std::size_t>(write[0]);
    arguments_.push_back({nullptr, place, nb::borrow(write[1]), nb::borrow(write[2])});
  }
}

bool Writes::meet(const Arguments& arguments) const {
  check(arguments);
  std::vector<const Storage*> given;
  for (const Array* const argument : arguments) {
    const Storage* const storage = argument->storage.get();
    if (std::binary_search(storages_.begin(), storages_.end(), storage)) return true;
    if (!arguments_.empty()) given.push_back(storage);
  }
  std::sort(given.begin(), given.end());
  return std::any_of(arguments_.begin(), arguments_.end(), [&](const Write& write) {
    const auto [first, last] =
        std::equal_range(given.begin(), given.end(), arguments[write.place]->storage.get());
    return last - first > 1;
  });
}

void Writes::note(const Arguments& arguments) const {
  check(arguments);
  for (const Write& write : arrays_) note_one(*write.array, write);
  for (const Write& write : arguments_) note_one(*arguments[write.place], write);
}

void Writes::check(const Arguments& arguments) const {
  for (const Write& write : arguments_) {
    if (write.place >= arguments.size()) throw nb::index_error();
  }
}

void Writes::note_one(const Array& array, const Write& write) {
  if (array.storage->repeat_write(array.view, write.op.ptr(), write.site.ptr())) return;
  array.storage->note_write(array.view, write.op.inc_ref().ptr(), write.site.inc_ref().ptr(),
                            release_object);
}

namespace {

Writes::Arguments arrays_in(nb::list list) {
  Writes::Arguments arrays;
  for (nb::handle array : list) {
    if (!nb::isinstance<Array>(array)) throw nb::type_error("arguments are native arrays");
    arrays.push_back(nb::inst_ptr<Array>(array));
  }
  return arrays;
}

}  // namespace
}  // namespace lumus

void bind_writes(nb::module_& m) {
  using lumus::arrays_in;
  using lumus::Writes;
  nb::class_<Writes>(m, "Writes", nb::is_final())
      .def(nb::init<nb::list, nb::list>())
      .def("meet", [](const Writes& writes,
                      nb::list arguments) { return writes.meet(arrays_in(arguments)); })
      .def("note",
           [](const Writes& writes, nb::list arguments) { writes.note(arrays_in(arguments)); });
}
