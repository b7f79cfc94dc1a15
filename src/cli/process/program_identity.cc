#include "program_identity.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace skewscope::cli {
namespace {

size_t aligned(size_t bytes) { return (bytes + 3) & ~size_t{3}; }

// Looks in one segment of notes; see elf(5).
std::string find_build_id(std::string_view notes) {
  ElfW(Nhdr) note{};
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    const size_t name_at = sizeof note, id_at = name_at + aligned(note.n_namesz), end = id_at + aligned(note.n_descsz);
    if (end > notes.size()) return "";
    if (note.n_type == NT_GNU_BUILD_ID &&
        notes.substr(name_at, note.n_namesz) == std::string_view(ELF_NOTE_GNU, sizeof ELF_NOTE_GNU)) {
      std::string id;
      for (const char byte : notes.substr(id_at, note.n_descsz)) {
        id += fmt::format("{:02x}", static_cast<unsigned char>(byte));
      }
      return id;
    }
    notes.remove_prefix(end);
  }
  return "";
}

// The program itself comes first.
int look_into_program(dl_phdr_info* info, size_t, void* found) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    auto& id = *static_cast<std::string*>(found);
    if (segment.p_type != PT_NOTE || !id.empty()) continue;
    const auto address = static_cast<uintptr_t>(info->dlpi_addr + segment.p_vaddr);
    id = find_build_id({reinterpret_cast<const char*>(address), segment.p_memsz});  // NOLINT: mapped by the loader
  }
  return 1;
}

}  // namespace

std::string build_id() {
  std::string id;
  dl_iterate_phdr(look_into_program, &id);
  return id;
}

std::string own_program() {
  const char* launcher = std::getenv("SKEWSCOPE_LAUNCHER");
  return launcher == nullptr ? "/proc/self/exe" : launcher;
}

void name_process() { prctl(PR_SET_NAME, program_invocation_short_name); }

}  // namespace skewscope::cli
