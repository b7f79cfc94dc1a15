#include "host_tables.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "reading_of.h"
#include "src/ingest/content/row_names.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

// What a call of CUDA is, asked once per name.
enum class CallClass : uint8_t { not_asked, nothing, synchronizes, synchronizes_device, launch, kernel, begins, ends };

CallClass class_of_call(std::string_view name) {
  if (synchronizes(name)) return waits_for_device(name) ? CallClass::synchronizes_device : CallClass::synchronizes;
  if (never_launches(name)) return CallClass::nothing;
  switch (role_of_launch(name)) {
    case LaunchRole::kernel:
      return CallClass::kernel;
    case LaunchRole::begins_capture:
      return CallClass::begins;
    case LaunchRole::ends_capture:
      return CallClass::ends;
    case LaunchRole::other:
      break;
  }
  return CallClass::launch;
}

LaunchRole role_of_class(CallClass call) {
  return call == CallClass::kernel   ? LaunchRole::kernel
         : call == CallClass::begins ? LaunchRole::begins_capture
         : call == CallClass::ends   ? LaunchRole::ends_capture
                                     : LaunchRole::other;
}

// N of ",global=N," in XLA's name of the thread that launches on a device; -1: none.
int64_t number_behind(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return -1;
  int64_t number = -1;
  const auto [rest, error] = std::from_chars(text.data() + at + key.size(), text.data() + text.size(), number);
  return error == std::errc() ? number : -1;
}

void add_backward_thread(int64_t thread, FileContent& content) {
  const auto at = std::lower_bound(content.backward_threads.begin(), content.backward_threads.end(), thread);
  if (at == content.backward_threads.end() || *at != thread) content.backward_threads.insert(at, thread);
}

}  // namespace

void read_calls(ReadingOf& file) {
  std::vector<CallClass> classes(file.texts.size(), CallClass::not_asked);
  visit_rows(file.database, "CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "end", "globalTid", "correlationId", "nameId"},
             file.defects, [&](const Statement& row) {
               const int32_t text = file.texts.row_of(row.integer(4));
               CallClass call = CallClass::launch;  // of unknown name
               if (text >= 0) {
                 CallClass& known = classes[static_cast<size_t>(text)];
                 if (known == CallClass::not_asked) known = class_of_call(file.texts.text(text));
                 call = known;
               }
               const int64_t global = row.integer(2);
               ProcessRows* process =
                   call == CallClass::kernel ? file.processes.find_or_add(global) : file.processes.find(global);
               if (process == nullptr) return true;
               LaunchRow launch;
               if (!file.read_times(row, launch.start, launch.duration_ns)) return true;
               ++process->events;
               launch.thread = thread_number(global);
               launch.correlation = row.is_null(3) ? -1 : row.integer(3);
               launch.role = role_of_class(call);
               LaunchDetailRow detail;
               if (file.settings.details) {
                 HostEvents& host = process->rows.content().details->host;
                 detail.host = static_cast<int32_t>(host.size());
                 add_host_row({launch.start, launch.duration_ns, process->name(text), HostKind::call, launch.thread},
                              *process);
               }
               if (call == CallClass::nothing) return true;
               if (call == CallClass::synchronizes || call == CallClass::synchronizes_device) {
                 process->rows.content().syncs.push_back(
                     {launch.start, launch.duration_ns, false, call == CallClass::synchronizes_device, launch.thread});
                 return true;
               }
               if (launch.correlation < 0) return true;
               const auto type = process->type_of_kernel.find(launch.correlation);
               if (type != process->type_of_kernel.end())
                 process->nccl.add_launch(launch.thread, launch.start, type->second);
               process->rows.add(launch, detail);
               return !process->rows.over_budget();
             });
}

void read_thread_names(ReadingOf& file) {
  visit_rows(file.database, "ThreadNames", {"nameId", "globalTid"}, file.defects, [&](const Statement& row) {
    ProcessRows* process = file.processes.find(row.integer(1));
    const int32_t text = file.texts.row_of(row.integer(0));
    if (process == nullptr || text < 0) return true;
    const std::string_view name = file.texts.text(text);
    FileContent& content = process->rows.content();
    const int64_t thread = thread_number(row.integer(1));
    if (name.starts_with("pt_autograd_"sv)) add_backward_thread(thread, content);
    if (name.starts_with("XlaLauncher:"sv)) {
      process->xla_process = number_behind(name, "process="sv);
      const int64_t global = number_behind(name, "global="sv);
      if (global >= 0 && global != process->xla_global) ++process->xla_globals;
      process->xla_global = global;
    }
    if (content.details) {
      content.details->names.push_back(
          {TrackName::Of::thread, {process_number(process->key), thread}, process->name(text)});
    }
    return true;
  });
}

}  // namespace skewscope::ingest
