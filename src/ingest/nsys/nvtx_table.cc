#include "nvtx_table.h"

#include <algorithm>

#include "range_names.h"
#include "reading_of.h"
#include "src/ingest/content/row_names.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

// NvtxPushPopRange, NvtxStartEndRange, and those of NVTXT.
bool is_range(int64_t event_type) {
  return event_type == 59 || event_type == 60 || event_type == 70 || event_type == 71;
}

NcclRange::What what_of(RangeName::Of of) {
  switch (of) {
    case RangeName::Of::annotation:
      return NcclRange::What::annotation;
    case RangeName::Of::nccl_call:
    case RangeName::Of::xla_operation:
      return NcclRange::What::call;
    case RangeName::Of::nccl_group_start:
      return NcclRange::What::group_start;
    case RangeName::Of::nccl_group_end:
      return NcclRange::What::group_end;
    default:
      return NcclRange::What::other;
  }
}

bool is_of_nccl(const RangeName& range) {
  switch (range.of) {
    case RangeName::Of::annotation:
    case RangeName::Of::nccl_call:
    case RangeName::Of::nccl_group_start:
    case RangeName::Of::nccl_group_end:
    case RangeName::Of::nccl_other:
      return true;
    case RangeName::Of::xla_operation:
      return range.kind != CollectiveKind::unknown;
    default:
      return false;
  }
}

// A range of the host with its times; columns as read_ranges() asks for them.
struct OneRange {
  RangeName said;
  LocalNs start;
  int64_t duration_ns = 0, thread = 0;
};

void add_operation(const OneRange& range, ProcessRows& process) {
  FileContent& content = process.rows.content();
  content.has_cpu_ops = content.has_cpu_ops || range.said.of == RangeName::Of::operation;
  const std::string_view name = range.said.name;
  if (is_backward_op(name)) {
    content.backward_ops.push_back({range.start, range.duration_ns, range.thread});
  } else if (is_optimizer_step(name)) {
    content.optimizer_steps.push_back({range.start, range.duration_ns, range.thread});
  } else if (is_collective_op(name) || has_operation_word(name)) {
    content.comm_ops.push_back(host_range(range.start, range.duration_ns, range.thread, process.rows.intern(name)));
  }
}

void add_program_range(const OneRange& range, ProcessRows& process) {
  FileContent& content = process.rows.content();
  const std::string_view name = range.said.name;
  if (range.said.of == RangeName::Of::program) {
    if (is_optimizer_step(name)) return add_operation(range, process);
    const std::string_view module = module_of_annotation(name);
    if (!module.empty())
      content.modules.push_back({range.start, range.duration_ns, range.thread, process.rows.intern(module)});
  }
  process.steps.add(name, range.start, range.duration_ns, range.thread);
}

void add_detail(const OneRange& range, ProcessRows& process) {
  DetailRows& details = *process.rows.content().details;
  const bool of_program = range.said.of == RangeName::Of::program || range.said.of == RangeName::Of::annotation;
  HostRow row{range.start, range.duration_ns, process.rows.intern(range.said.name),
              of_program ? HostKind::annotation : HostKind::op, range.thread};
  if (!range.said.sizes.empty()) {
    ArgumentSet set;
    set.dims = process.rows.intern(range.said.sizes);
    row.arguments = details.arguments.number_of(set);
  }
  const int64_t sequence = range.said.sequence;
  if (sequence >= 0 && sequence <= INT32_MAX) row.sequence = static_cast<int32_t>(sequence);
  add_host_row(row, process);
}

// Columns 6 to 8 of read_ranges().
NcclPayload payload_of(const Statement& row, const PayloadSchemas& schemas, const ExportStrings& texts) {
  NcclPayload payload;
  if (!row.is_null(6) && !schemas.empty()) payload = schemas.of_binary(row.bytes(6));
  if (payload.any()) return payload;
  if (!row.is_null(7)) return PayloadSchemas::of_json(row.text(7));
  return row.is_null(8) ? payload : PayloadSchemas::of_json(texts.text_of(row.integer(8)));
}

constexpr std::initializer_list<const char*> kRangeColumns = {
    "start", "end", "eventType", "text", "textId", "globalTid", "binaryData", "jsonText", "jsonTextId"};

}  // namespace

void read_ranges(const PayloadSchemas& schemas, ReadingOf& file) {
  visit_rows(file.database, "NVTX_EVENTS", kRangeColumns, file.defects, [&](const Statement& row) {
    if (!is_range(row.integer(2)) || row.is_null(5)) return true;
    OneRange range;
    range.said = read_range_name(row.is_null(3) ? file.texts.text_of(row.integer(4)) : row.text(3));
    const int64_t global = row.integer(5);
    ProcessRows* process =
        range.said.of == RangeName::Of::nccl_call ? file.processes.find_or_add(global) : file.processes.find(global);
    if (process == nullptr) return true;
    if (row.is_null(1)) {
      ++file.defects.open;
      return true;
    }
    if (!file.read_times(row, range.start, range.duration_ns)) return true;
    range.thread = thread_number(global);
    ++process->events;
    if (is_of_nccl(range.said)) {
      NcclRange nccl;
      nccl.start = range.start;
      nccl.duration_ns = range.duration_ns;
      nccl.thread = range.thread;
      nccl.what = what_of(range.said.of);
      nccl.kind = range.said.kind;
      const bool named = range.said.of == RangeName::Of::annotation || range.said.of == RangeName::Of::xla_operation;
      if (named) nccl.name = process->rows.intern(range.said.name);
      nccl.payload = payload_of(row, schemas, file.texts);
      process->nccl.add(nccl);
    } else if (range.said.of == RangeName::Of::operation) {
      add_operation(range, *process);
    } else if (range.said.of == RangeName::Of::program || range.said.of == RangeName::Of::xla_module) {
      add_program_range(range, *process);
    }
    if (file.settings.details && range.said.of != RangeName::Of::record) add_detail(range, *process);
    return !process->rows.over_budget();
  });
}

// SQLite passes over all other ranges, of which there are many.
void read_communicators(const PayloadSchemas& schemas, ReadingOf& file) {
  if (!file.database.has_table("NVTX_EVENTS")) return;
  const bool by_number = file.database.has_column("NVTX_EVENTS", "textId");
  std::string sql = select_of(file.database, "NVTX_EVENTS", kRangeColumns) + " WHERE \"text\" LIKE 'ncclComm%'";
  if (by_number) sql += " OR \"textId\" IN (SELECT id FROM StringIds WHERE value LIKE 'ncclComm%')";
  Statement rows = file.database.select(sql);
  while (rows.next()) {
    ProcessRows* const process = file.processes.find(rows.integer(5));
    NcclRange range;
    if (process == nullptr || !file.read_times(rows, range.start, range.duration_ns)) continue;
    range.payload = payload_of(rows, schemas, file.texts);
    process->nccl.add(range);
  }
}

}  // namespace skewscope::ingest
