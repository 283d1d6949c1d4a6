// The offsets that the browser driver uses are those of the compiler; this file holds assertions only.
#include "record/record.h"
#include "wasm/interface.h"
// The structs first.
#include "layout_check.h"
