// Where the user's code is: the innermost Python frame that is not the library's own, as a code
// object and an instruction offset. No frame is kept alive, and nothing is resolved to file and
// line until somebody asks.
#include <nanobind/nanobind.h>

#include <cstdint>

#include "bind/conversion.h"

namespace nb = nanobind;

namespace lumus {
namespace {

struct Site {
  PyObject_HEAD PyObject* code;
  int lasti;
};

void site_dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_XDECREF(reinterpret_cast<Site*>(self)->code);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* site_code(PyObject* self, void*) {
  return Py_NewRef(reinterpret_cast<Site*>(self)->code);
}
PyObject* site_lasti(PyObject* self, void*) {
  return PyLong_FromLong(reinterpret_cast<Site*>(self)->lasti);
}

PyGetSetDef site_properties[] = {
    {"code", site_code, nullptr, "The code object of the frame.", nullptr},
    {"lasti", site_lasti, nullptr, "The byte offset of the instruction being run.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// Code objects refer to immutable values only, so a site is part of no cycle and needs no
// collector.
PyType_Slot site_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(site_dealloc)},
    {Py_tp_getset, site_properties},
    {Py_tp_doc,
     const_cast<char*>("A place in Python code: a code object and an instruction offset.")},
    {0, nullptr},
};
PyType_Spec site_spec = {"lumus._native.Site", sizeof(Site), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, site_slots};
PyTypeObject* site_type = nullptr;

// Whether a file is the library's own, by its name object. The table keeps a reference to each
// name, so an address cannot come to mean another file; code objects of one module share their name
// object, so there are few. Used under the interpreter lock.
class InternalFiles {
 public:
  void set_prefixes(PyObject* prefixes) {
    Py_XSETREF(prefixes_, Py_NewRef(prefixes));
    clear();
  }

  bool contains(PyObject* filename) {
    std::size_t at = slot(filename);
    for (std::size_t probe = 0; probe < kProbes; ++probe, at = (at + 1) % kSlots) {
      if (slots_[at].filename == filename) return slots_[at].internal;
      if (!slots_[at].filename) break;
    }
    return look_up(filename);
  }

 private:
  static constexpr std::size_t kSlots = 4096, kProbes = 8;
  struct Slot {
    PyObject* filename;
    bool internal;
  };

  static std::size_t slot(PyObject* filename) {
    return (reinterpret_cast<std::uintptr_t>(filename) >> 4) * 0x9e3779b97f4a7c15ull >> 52;
  }

  bool look_up(PyObject* filename) {
    bool internal = false;
    for (Py_ssize_t i = 0; prefixes_ && i < PyTuple_GET_SIZE(prefixes_) && !internal; ++i) {
      PyObject* prefix = PyTuple_GET_ITEM(prefixes_, i);
      internal = PyUnicode_Tailmatch(filename, prefix, 0, PY_SSIZE_T_MAX, -1) == 1;
    }
    std::size_t at = slot(filename);
    for (std::size_t probe = 0; probe < kProbes; ++probe, at = (at + 1) % kSlots) {
      if (!slots_[at].filename) {
        slots_[at] = {Py_NewRef(filename), internal};
        return internal;
      }
    }
    // A program that makes endless files (exec in a loop): start over rather than grow.
    clear();
    return internal;
  }

  void clear() {
    for (Slot& entry : slots_) {
      Py_CLEAR(entry.filename);
      entry.internal = false;
    }
  }

  PyObject* prefixes_ = nullptr;  // a tuple of str
  Slot slots_[kSlots] = {};
};
InternalFiles internal_files;

// ------------------------------------------------------------------------------------ frames

// The public way makes a frame object for every frame it passes (30 ns each), which a small
// operation feels. On the versions whose frame layout is known below we read the interpreter's own
// records; the layout is checked against the public way when the module loads, and not used if they
// disagree.
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030e0000 && !defined(Py_GIL_DISABLED)
#define LUMUS_KNOWN_FRAMES 1

#if PY_VERSION_HEX < 0x030c0000
struct RawFrame {
  PyObject *function, *globals, *builtins, *locals;
  PyObject* code;
  PyObject* frame_object;
  RawFrame* previous;
  _Py_CODEUNIT* instruction;
  int stack_top;
  bool is_entry;
  char owner;
};
#else
struct RawFrame {
  PyObject* code;
  RawFrame* previous;
  PyObject *function, *globals, *builtins, *locals;
  PyObject* frame_object;
  _Py_CODEUNIT* instruction;
  int stack_top;
  std::uint16_t return_offset;
  char owner;
};
#endif
constexpr char kOwnedByGenerator = 1, kOwnedByCStack = 3;

bool raw_frames_agree = false;

RawFrame* current_raw_frame() {
  PyThreadState* const thread = PyThreadState_Get();
#if PY_VERSION_HEX < 0x030d0000
  return reinterpret_cast<RawFrame*>(thread->cframe->current_frame);
#else
  return reinterpret_cast<RawFrame*>(thread->current_frame);
#endif
}

const PyCodeObject* code_of(const RawFrame* frame) {
  return reinterpret_cast<const PyCodeObject*>(frame->code);
}

int lasti_of(const RawFrame* frame) {
  const auto* const start = reinterpret_cast<const char*>(code_of(frame)->co_code_adaptive);
  const auto offset = reinterpret_cast<const char*>(frame->instruction) - start;
  return offset < 0 ? -1 : static_cast<int>(offset);
}

// The interpreter's entry records, and frames that have not reached their first instruction, are
// not frames to anybody outside.
RawFrame* skip_unfinished(RawFrame* frame) {
  for (; frame; frame = frame->previous) {
    if (frame->owner == kOwnedByGenerator) break;
    if (frame->owner == kOwnedByCStack) continue;
    if (lasti_of(frame) >=
        static_cast<int>(code_of(frame)->_co_firsttraceable * sizeof(_Py_CODEUNIT))) {
      break;
    }
  }
  return frame;
}

// Compares pointers only, up to the first that disagrees.
bool check_raw_frames() {
  PyFrameObject* frame =
      reinterpret_cast<PyFrameObject*>(Py_XNewRef(reinterpret_cast<PyObject*>(PyEval_GetFrame())));
  const RawFrame* raw = current_raw_frame();
  bool agree = frame != nullptr;
  for (int depth = 0; depth < 2 && agree && frame; ++depth) {
    while (raw && raw->owner == kOwnedByCStack) raw = raw->previous;
    PyCodeObject* const code = PyFrame_GetCode(frame);
    agree = raw && raw->code == reinterpret_cast<PyObject*>(code) &&
            lasti_of(raw) == PyFrame_GetLasti(frame);
    Py_DECREF(code);
    PyFrameObject* const outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
    if (agree) raw = raw->previous;
  }
  Py_XDECREF(frame);
  return agree;
}
#endif

PyObject* make_site(PyObject* code_reference, int lasti) {
  Site* const site = PyObject_New(Site, site_type);
  if (!site) {
    Py_DECREF(code_reference);
    throw nb::python_error();
  }
  site->code = code_reference;
  site->lasti = lasti;
  return reinterpret_cast<PyObject*>(site);
}

nb::object call_site() {
#ifdef LUMUS_KNOWN_FRAMES
  if (raw_frames_agree) {
    RawFrame* found = skip_unfinished(current_raw_frame());
    if (!found) return nb::none();
    while (internal_files.contains(code_of(found)->co_filename)) {
      RawFrame* const outer = skip_unfinished(found->previous);
      if (!outer) break;
      found = outer;
    }
    return nb::steal(make_site(Py_NewRef(found->code), lasti_of(found)));
  }
#endif
  PyFrameObject* frame =
      reinterpret_cast<PyFrameObject*>(Py_XNewRef(reinterpret_cast<PyObject*>(PyEval_GetFrame())));
  if (!frame) return nb::none();
  PyCodeObject* code = PyFrame_GetCode(frame);
  while (internal_files.contains(code->co_filename)) {
    PyFrameObject* const outer = PyFrame_GetBack(frame);
    if (!outer) break;
    Py_DECREF(frame);
    Py_DECREF(code);
    frame = outer;
    code = PyFrame_GetCode(frame);
  }
  const int lasti = PyFrame_GetLasti(frame);
  Py_DECREF(frame);
  return nb::steal(make_site(reinterpret_cast<PyObject*>(code), lasti));
}

}  // namespace
}  // namespace lumus

void bind_call_site(nb::module_& m) {
  using namespace lumus;
  site_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&site_spec));
  if (!site_type) throw nb::python_error();
  m.attr("Site") = nb::borrow(reinterpret_cast<PyObject*>(site_type));
#ifdef LUMUS_KNOWN_FRAMES
  raw_frames_agree = check_raw_frames();
#endif
  m.def("set_internal_prefixes", [](nb::typed<nb::tuple, nb::str, nb::ellipsis> prefixes) {
    internal_files.set_prefixes(prefixes.ptr());
  });
  m.def("call_site", call_site);
}
