#include "bind/writes.h"

#include <algorithm>

#include "bind/conversion.h"
#include "runtime/overlap.h"

namespace nb = nanobind;

namespace lumus {

namespace {

bool share(const Array& a, const Array& b) {
  return a.storage.get() == b.storage.get() && views_overlap(a.view, b.view);
}

}  // namespace

Writes::Writes(nb::list arrays, nb::list arguments, nb::list read) {
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
  if (arguments_.empty()) return;
  for (nb::handle array : read) {
    kept_.push_back(nb::borrow(array));
    read_.push_back(&nb::cast<const Array&>(array));
  }
}

bool Writes::meet(const Arguments& arguments) const {
  check(arguments);
  for (const Array* const argument : arguments) {
    if (!std::binary_search(storages_.begin(), storages_.end(), argument->storage.get())) continue;
    const auto is_met = [&](const Write& write) { return share(*argument, *write.array); };
    if (std::any_of(arrays_.begin(), arrays_.end(), is_met)) return true;
  }
  return std::any_of(arguments_.begin(), arguments_.end(),
                     [&](const Write& write) { return meets_written(arguments, write.place); });
}

bool Writes::meets_written(const Arguments& arguments, std::size_t place) const {
  const Array& written = *arguments[place];
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    if (at != place && share(*arguments[at], written)) return true;
  }
  return std::any_of(read_.begin(), read_.end(),
                     [&](const Array* array) { return share(*array, written); });
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
      .def(nb::init<nb::list, nb::list, nb::list>(), nb::arg(), nb::arg(), nb::arg() = nb::list())
      .def("meet", [](const Writes& writes,
                      nb::list arguments) { return writes.meet(arrays_in(arguments)); })
      .def("note",
           [](const Writes& writes, nb::list arguments) { writes.note(arrays_in(arguments)); });
}
