// What a compiled function writes at each call: said to the storages when it has run, and kept
// apart from its arguments before.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bind/conversion.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

const Array& array_at(nb::handle list, std::size_t at) {
  return *nb::inst_ptr<Array>(PyList_GET_ITEM(list.ptr(), static_cast<Py_ssize_t>(at)));
}

class Writes {
 public:
  // (array, op, call site) of arrays that are the same at each call, (place, op, call site) of
  // arguments.
  Writes(nb::list arrays, nb::list arguments) {
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

  // Whether an argument lies in memory that is written as another one, or as one from outside.
  bool meet(nb::list arguments) const {
    check(arguments);
    std::vector<const Storage*> given;
    for (std::size_t at = 0; at < arguments.size(); ++at) {
      const Storage* const storage = array_at(arguments, at).storage.get();
      if (std::binary_search(storages_.begin(), storages_.end(), storage)) return true;
      if (!arguments_.empty()) given.push_back(storage);
    }
    std::sort(given.begin(), given.end());
    return std::any_of(arguments_.begin(), arguments_.end(), [&](const Write& write) {
      const auto [first, last] = std::equal_range(given.begin(), given.end(),
                                                  array_at(arguments, write.place).storage.get());
      return last - first > 1;
    });
  }

  void note(nb::list arguments) const {
    check(arguments);
    for (const Write& write : arrays_) note_one(*write.array, write);
    for (const Write& write : arguments_) note_one(array_at(arguments, write.place), write);
  }

 private:
  struct Write {
    const Array* array;
    std::size_t place;
    nb::object op, site;
  };

  void check(nb::list arguments) const {
    for (nb::handle argument : arguments) {
      if (!nb::isinstance<Array>(argument)) throw nb::type_error("arguments are native arrays");
    }
    for (const Write& write : arguments_) {
      if (write.place >= arguments.size()) throw nb::index_error();
    }
  }

  static void note_one(const Array& array, const Write& write) {
    if (array.storage->repeat_write(array.view, write.op.ptr(), write.site.ptr())) return;
    array.storage->note_write(array.view, write.op.inc_ref().ptr(), write.site.inc_ref().ptr(),
                              release_object);
  }

  std::vector<nb::object> kept_;
  std::vector<Write> arrays_, arguments_;
  std::vector<const Storage*> storages_;  // of the arrays, in order
};

}  // namespace
}  // namespace lumus

void bind_writes(nb::module_& m) {
  using lumus::Writes;
  nb::class_<Writes>(m, "Writes", nb::is_final())
      .def(nb::init<nb::list, nb::list>())
      .def("meet", &Writes::meet)
      .def("note", &Writes::note);
}
