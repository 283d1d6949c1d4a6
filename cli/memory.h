// The memory that this process has used.
#pragma once

#include <cstdint>

namespace sconce::cli {

// The most memory the process ever had resident, in bytes: VmHWM of Linux; 0 where the system does not tell. Mapped
// files count as far as they were read, and so do the buffers of a software adapter.
uint64_t peak_resident_bytes();

}  // namespace sconce::cli
