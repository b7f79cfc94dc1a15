#include "uncaught.h"

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "interruption.h"

namespace skewscope::cli {
namespace {

// What the machine or its limits did not give, and what to do; nullptr of every other error. Without threads
// std::thread throws a system_error, TBB a runtime_error that begins with the name of the call.
const char* what_lacked(const std::exception& error) {
  constexpr const char* kThreads = "no more threads can be started (limits of memory or processes); try --threads 1";
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "out of memory; try --memory-limit or --ranks";
  }
  if (const auto* system = dynamic_cast<const std::system_error*>(&error)) {
    return system->code() == std::errc::resource_unavailable_try_again ? kThreads : nullptr;
  }
  return std::string_view(error.what()).starts_with("pthread_create") ? kThreads : nullptr;
}

std::terminate_handler otherwise = nullptr;

void terminate() {
  try {
    if (std::current_exception()) throw;
  } catch (const std::exception& error) {
    if (what_lacked(error) != nullptr) {
      remove_partials();
      _exit(explain(error));
    }
  } catch (...) {
  }
  otherwise();
}

}  // namespace

ExitCode explain(const std::exception& error) {
  const char* lacked = what_lacked(error);
  if (lacked == nullptr) {
    std::fprintf(stderr, "skewscope: error: internal: %s\n", error.what());
    return kInternal;
  }
  std::fprintf(stderr, "skewscope: error: %s\n", lacked);
  return kResourceLimit;
}

void explain_at_terminate() { otherwise = std::set_terminate(terminate); }

}  // namespace skewscope::cli
