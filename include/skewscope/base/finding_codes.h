// Every finding of a report, once: its code, how severe it can be, what it means and what to do. A code that is not in
// this table does not compile. `configs/findings.md` is this table as a page (tests/base/finding_codes.cc).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace skewscope {

enum class Severity : uint8_t { info, warning, error };

// "info", "warning", "error".
const char* to_string(Severity severity);

struct FindingMeaning {
  const char* code;     // stable, kebab-case; users filter on it
  Severity severity;    // the worst that it is reported with
  const char* meaning;  // what was seen and what follows from it
  const char* action;   // what to do; "" where there is nothing to do
};

// In the order of the page: files, rows, collectives on the host, ranks and jobs, matching, clocks, comparisons.
inline constexpr std::array kFindingMeanings = {
    // The text of a file.
    FindingMeaning{"unreadable-file", Severity::error, "A file could not be read to its end.",
                   "Check its permissions and the disk; copy it again."},
    FindingMeaning{"empty-file", Severity::error, "A file holds no events; it adds nothing to the report.",
                   "Record this rank again; a profiler that is killed while it writes leaves such files."},
    FindingMeaning{"interleaved-files", Severity::error,
                   "Several traces were written into one file. What could be read is kept; its rank is doubtful.",
                   "Give every rank its own file name (scripts/torch_handler.py does)."},
    FindingMeaning{"damaged-compression", Severity::error,
                   "Compressed data are damaged. Only what comes before the damage was read.", "Copy the file again."},
    FindingMeaning{"truncated-file", Severity::warning,
                   "A file ends before its JSON does. All complete events were kept.",
                   "Wait until the profiler has finished writing; copy the file again."},
    FindingMeaning{"gzip-without-trailer", Severity::info, "The gzip checksum is missing. All data were read.",
                   "Check that the file was copied whole."},
    FindingMeaning{"trailing-bytes", Severity::info, "Bytes after the compressed data were ignored.", ""},
    FindingMeaning{"repaired-quotes", Severity::warning, "Strings held unescaped quotes; they were read as text.", ""},
    FindingMeaning{"replaced-bytes", Severity::warning,
                   "Strings held control bytes or bytes that are not UTF-8; they were replaced.", ""},
    FindingMeaning{"bad-escape", Severity::info,
                   "Strings held backslashes that escape nothing; they were kept as text.", ""},
    FindingMeaning{"mismatched-braces", Severity::warning,
                   "Brackets of events did not match; they were closed where the next event begins.", ""},
    FindingMeaning{"bare-nan", Severity::info, "Values were NaN, inf, N/A or beyond 64 bits; they count as absent.",
                   ""},
    FindingMeaning{"number-as-string", Severity::info, "Numbers were written as strings; they were read as numbers.",
                   ""},
    FindingMeaning{"long-fraction", Severity::info,
                   "Time stamps had more than three digits after the microsecond; the rest was cut off.", ""},
    FindingMeaning{
        "unpadded-fractions", Severity::info,
        "Fractions of microseconds were written without leading zeros (PyTorch nightlies of spring 2024); \".5\" "
        "was read as 5 ns.",
        ""},
    FindingMeaning{"duplicate-key", Severity::info, "Arguments were given twice; the last one was taken.", ""},
    FindingMeaning{
        "absent-value", Severity::info,
        "Values were absent or without quotes, or commas followed the last one; the rest of the events was read.", ""},
    FindingMeaning{"partly-read-event", Severity::warning,
                   "Damaged events could not be repaired. Only their intact fields were read, at least their times.",
                   "If there are many, record again with a newer PyTorch."},
    FindingMeaning{"dropped-event", Severity::warning,
                   "Events could not be read, even after repair. Their time is missing from the report.",
                   "If there are many, record again with a newer PyTorch."},
    FindingMeaning{"skipped-bytes", Severity::warning, "Text between events is no event; it was skipped.", ""},
    FindingMeaning{"oversized-event", Severity::warning,
                   "No event ended within the largest chunk; the text up to the next event was skipped.", ""},
    FindingMeaning{"damaged-head", Severity::warning,
                   "Keys outside the events could not be read. Their content (rank, world size, device) is missing.",
                   "If ranks are wrong, set them with --rank-map."},
    // Files that are no rank's trace.
    FindingMeaning{"other-format", Severity::warning,
                   "A file comes from another tool, or is no trace of a rank; it was left out.",
                   "The message names the tool and the next step."},
    FindingMeaning{"not-a-trace", Severity::warning, "A file is no profiler trace; it was left out.", ""},
    FindingMeaning{"execution-trace", Severity::warning,
                   "A file is an execution trace, without times on the GPU; it was left out.",
                   "Use the profiler's traces of the same run."},
    FindingMeaning{"merged-trace", Severity::warning, "Several ranks were merged into one file; it was left out.",
                   "Use the ranks' own files."},
    FindingMeaning{"front-end", Severity::warning,
                   "A file comes from a process without GPU work and collectives; it was left out.", ""},
    FindingMeaning{
        "operator-gpu-time", Severity::warning,
        "\"CUDA functions\" are GPU time by operator, not by kernel (the profiler before Kineto); they were left out.",
        "Record with torch.profiler."},
    // Rows and their time stamps.
    FindingMeaning{"negative-duration", Severity::warning, "Durations were negative; they count as 0.", ""},
    FindingMeaning{"no-duration", Severity::warning, "Complete events (ph X) had no duration; they count as 0.", ""},
    FindingMeaning{"open-event", Severity::warning,
                   "Events (ph B, E) lack their end and count as 0, or lack their beginning and were left out.", ""},
    FindingMeaning{"zero-stamp", Severity::warning, "GPU events had time stamp 0 and duration 0; they were dropped.",
                   ""},
    FindingMeaning{"repeated-events", Severity::warning, "GPU rows were recorded twice; they count once.", ""},
    FindingMeaning{"overlapping-duration", Severity::warning,
                   "GPU rows of one stream overlapped, which is impossible; their ends were cut.", ""},
    FindingMeaning{"time-out-of-range", Severity::warning,
                   "GPU rows have time stamps far from all others, which no clock can give; they were left out.", ""},
    FindingMeaning{"launch-out-of-range", Severity::warning,
                   "Launches have time stamps far from all others; they were left out.", ""},
    FindingMeaning{"step-out-of-range", Severity::warning,
                   "Steps have time stamps far from all others; they were left out.", ""},
    FindingMeaning{"call-out-of-range", Severity::warning,
                   "Host collectives have time stamps far from all others; they were left out.", ""},
    FindingMeaning{"end-out-of-range", Severity::warning, "GPU rows end later than they can have; they were cut.", ""},
    FindingMeaning{"launch-end-out-of-range", Severity::warning,
                   "Host calls end after everything else that was recorded; they were cut there.", ""},
    FindingMeaning{"step-end-out-of-range", Severity::warning, "Steps end after recording; they were cut there.", ""},
    FindingMeaning{"call-end-out-of-range", Severity::warning,
                   "Host ranges of collectives end after recording; they were cut there.", ""},
    FindingMeaning{"call-end-not-known", Severity::warning,
                   "Host collectives end after recording or after the last step; their ends are unknown.", ""},
    FindingMeaning{"gpu-clock-apart", Severity::warning,
                   "The clocks of GPU and host start at different moments; the GPU rows were moved so that none starts "
                   "before its launch.",
                   "Durations can be relied on; delays between launch and kernel cannot."},
    FindingMeaning{"base-time-lost", Severity::warning,
                   "A file was cut before the base of its time stamps; the base of the other files was used.", ""},
    FindingMeaning{"waiting-kernels", Severity::info,
                   "Kernels were resident while the previous one on their stream still ran (dependent launch); their "
                   "work counts from when it can have started.",
                   ""},
    // Launches and kernels.
    FindingMeaning{"orphan-kernels", Severity::info,
                   "GPU rows were launched before recording started; they are counted, but not in any step.",
                   "Warm the profiler up for a step (schedule(warmup=1))."},
    FindingMeaning{"reused-correlation", Severity::warning,
                   "Several launches share the correlation id of GPU rows; each row is assigned to the latest launch.",
                   ""},
    FindingMeaning{"joined-by-order", Severity::info,
                   "Collective kernels have no correlation id; the k-th kernel on a group's stream is assigned to the "
                   "group's k-th launch.",
                   ""},
    FindingMeaning{
        "joined-by-neighbours", Severity::info,
        "GPU rows have no correlation id; they are assigned to the calls between the launches of their neighbours.",
        ""},
    FindingMeaning{"order-unknown", Severity::warning,
                   "Collective kernels have no correlation id, and neither order nor time shows their launch: group, "
                   "operation and size are unknown.",
                   "Record with a profiler that writes correlations."},
    FindingMeaning{"kernels-lost", Severity::warning,
                   "Launched kernels have no row: the profiler lost them. Waiting for this rank is a lower bound.",
                   "Record fewer steps, or larger profiler buffers."},
    FindingMeaning{"gpu-rows-lost", Severity::warning,
                   "Kernels were launched and none was recorded: the GPU rows of this rank are missing.",
                   "Record this rank again; look for errors of CUPTI or roctracer in its log."},
    FindingMeaning{"no-gpu-activity", Severity::warning, "Collectives were called and no GPU rows recorded.",
                   "Add ProfilerActivity.CUDA (or XPU) to the profiler's activities."},
    FindingMeaning{"copied-collectives", Severity::warning,
                   "Collectives ran as copies, without a kernel: their copying counts as communication, their waiting "
                   "is not in the trace.",
                   ""},
    FindingMeaning{"unknown-kernels", Severity::warning,
                   "Collectives ran as kernels that are not known to communicate; they count as computing.",
                   "Name the kernels with --kernels (configs/kernels.json has the form)."},
    FindingMeaning{"calls-without-kernel", Severity::warning,
                   "Collectives have a record and a range, but no kernel: their time is missing.", ""},
    FindingMeaning{
        "computing-by-launch", Severity::info,
        "Kernels are named like a collective, but no communication operator launched them; they count as computing.",
        "If they communicate, list them with --kernels."},
    FindingMeaning{"named-by-word", Severity::info, "Kernels count as collectives by their name alone.",
                   "If they do something else, list them with --kernels."},
    FindingMeaning{"host-collectives", Severity::info,
                   "gloo collectives ran on the CPU during GPU work; they are not among the calls.", ""},
    FindingMeaning{"own-devices", Severity::info,
                   "Calls are collectives among the GPUs of one process: each waits for the last of these GPUs, no "
                   "rank is missing.",
                   ""},
    FindingMeaning{"several-groups", Severity::info,
                   "Kernels send and receive in several groups at once; the trace does not show who waited for whom.",
                   ""},
    FindingMeaning{"several-kernels", Severity::info,
                   "Several kernels in a row belong to one operation; they count as one call from the first start to "
                   "the last end.",
                   ""},
    // Ranks, worlds, jobs.
    FindingMeaning{"rank-conflict", Severity::warning,
                   "Two sources name different ranks; the more reliable one was used.",
                   "Check with skewscope inspect; set it with --rank-map."},
    FindingMeaning{"rank-doubtful", Severity::warning, "Several files claim one rank; the claim was ignored.",
                   "Set the ranks with --rank-map."},
    FindingMeaning{"rank-unknown", Severity::warning,
                   "A rank was found neither in a file nor in its name; it got a free number, so only tables of this "
                   "one rank are right.",
                   "Set the rank with --rank-map or --rank-regex, or put it into the file name (rank3-of-8)."},
    FindingMeaning{"rank-out-of-range", Severity::warning, "A source names a rank outside the world; it was not used.",
                   ""},
    FindingMeaning{"rank-from-name-number", Severity::info, "The rank was taken from a number in the path.",
                   "Confirm it with --rank-regex or --rank-map."},
    FindingMeaning{"rank-from-local-rank", Severity::info,
                   "Files differ only in local ranks or coordinates; these were taken as ranks of the whole job.",
                   "Confirm it with --rank-map."},
    FindingMeaning{"rank-regex-no-match", Severity::info,
                   "--rank-regex does not match a path; the rank comes from another source.", ""},
    FindingMeaning{"rank-map-no-match", Severity::warning,
                   "--rank-map names none of the traces that were read; ranks come from other sources.",
                   "Correct the paths of the map."},
    FindingMeaning{"rank-coordinates", Severity::warning,
                   "Coordinates in file names (tensor, pipeline, data) contradict each other; none are used.", ""},
    FindingMeaning{"rank-not-in-group", Severity::warning,
                   "A rank made calls of a group whose members do not include it; the file's rank may be wrong.",
                   "Check with skewscope inspect; set it with --rank-map."},
    FindingMeaning{
        "missing-ranks", Severity::warning,
        "Ranks of the job have no trace: their collectives are incomplete, and waiting in them is a lower bound.",
        "Record all ranks, or set their number with --world-size."},
    FindingMeaning{"duplicate-rank", Severity::warning, "A rank has two traces of the same time; one was left out.",
                   "Make one report per job; if the rank is wrong, use --rank-map."},
    FindingMeaning{"captures-of-one-process", Severity::info,
                   "Files differ in a number and follow each other in time; they count as recordings of one process.",
                   "If they are ranks, set them with --rank-map."},
    FindingMeaning{"capture-apart", Severity::warning,
                   "A trace was recorded long before or after those it is compared with; it may belong to another run.",
                   ""},
    FindingMeaning{"hosts-unknown", Severity::info,
                   "Nothing names the hosts of ranks; which share a node is not known.",
                   "Name them with --rank-map (path,rank,host), or put @HOST into file names (rank3@node17.json)."},
    FindingMeaning{"world-size-unknown", Severity::info, "The number of ranks was not found; the files were counted.",
                   "Set it with --world-size."},
    FindingMeaning{"world-size-disagreement", Severity::warning,
                   "Sources name different numbers of ranks; the most reliable was used.", "Set it with --world-size."},
    FindingMeaning{"world-size-not-believed", Severity::warning,
                   "A source names far more ranks than any other; it was ignored.", ""},
    FindingMeaning{"another-job", Severity::warning, "Files next to those reported belong to another run.",
                   "The message has the command that reports it."},
    FindingMeaning{"copied-trace", Severity::info, "A file is a copy of another trace; it was left out.", ""},
    // Groups and matching.
    FindingMeaning{
        "ambiguous-group", Severity::warning,
        "More ranks mention a group than it has members; its calls are matched where their times show the group.", ""},
    FindingMeaning{"members-unknown", Severity::info,
                   "Not all members of a group are known; waiting in its collectives is a lower bound.", ""},
    FindingMeaning{"inferred-communicators", Severity::info,
                   "The traces do not name these groups; their members were recognized from calls that end together, "
                   "so a rank that never did is not counted as missing.",
                   "Record with PyTorch 2.4 or newer, which names groups."},
    FindingMeaning{"incomplete-instances", Severity::warning,
                   "Collectives lack a rank: their waiting is at least what is shown.", ""},
    FindingMeaning{"mismatched-instances", Severity::warning,
                   "Ranks disagree on the size of collectives; their bandwidth is doubtful.", ""},
    FindingMeaning{
        "suspected-mismatch", Severity::warning,
        "Collectives end far apart on the common clock and are perhaps not one; they were not used to align clocks.",
        ""},
    FindingMeaning{"unmatched-alone", Severity::warning,
                   "Calls could not be matched: no other trace has a matching call (a missing rank, the edge of the "
                   "recording, a lost kernel).",
                   "Record all ranks over the same steps."},
    FindingMeaning{
        "unmatched-ambiguous", Severity::warning,
        "Calls could not be matched: several ways to pair them fit the traces equally well. Nothing was guessed.",
        "Record with PyTorch 2.4 or newer, or name files rank<R>-of-<N>."},
    FindingMeaning{
        "unmatched-no-metadata", Severity::warning,
        "Calls could not be matched: the traces name neither group nor operation, and no calls end together.",
        "Record with PyTorch 2.4 or newer."},
    FindingMeaning{"unmatched-causality", Severity::warning,
                   "Calls could not be matched: their partners would have finished before they started.", ""},
    FindingMeaning{"unmatched-mismatch", Severity::warning,
                   "Calls could not be matched: calls with the same sequence number differ in operation, type or size.",
                   "Look for ranks that run different code."},
    FindingMeaning{"unmatched-chained", Severity::warning,
                   "Calls could not be matched: messages join them to several calls of one rank.", ""},
    FindingMeaning{"unmatched-group-of-one", Severity::info,
                   "The communicator of these calls has one member, so nobody can be waited for.", ""},
    FindingMeaning{"unmatched-one-sided", Severity::info,
                   "Kernels only send and do not wait for a receiver: all their time counts as transfer.", ""},
    FindingMeaning{"unmatched-copied", Severity::info, "Calls ran as copies, which do not show how long ranks waited.",
                   ""},
    FindingMeaning{"unmatched-own-devices", Severity::info,
                   "All members of these calls are GPUs of one process: no rank is missing.", ""},
    FindingMeaning{
        "components", Severity::warning,
        "No matched call connects some ranks with the others: each component has its own clocks and is never "
        "compared with another.",
        "If these are separate jobs, report each on its own."},
    FindingMeaning{"windows-differ", Severity::info,
                   "Some steps were not recorded by all ranks; efficiencies cover the other steps.", ""},
    FindingMeaning{
        "open-ends", Severity::warning,
        "Collective calls have no recorded end: their waiting and transfer are unknown, sums are lower bounds.", ""},
    // Clocks and the split of waiting and transfer.
    FindingMeaning{
        "inconclusive-clocks", Severity::warning,
        "Clocks are more uncertain than most waits are long, so waiting and transfer cannot be separated reliably.",
        "Record more steps, or synchronize the hosts' clocks (chrony, PTP)."},
    FindingMeaning{
        "clocks-outside-proof", Severity::warning,
        "Clocks are outside the offsets that cause and effect allow; waiting and transfer there are doubtful.", ""},
    FindingMeaning{
        "clocks-contradict", Severity::warning,
        "No clock offsets fit all time stamps: some calls were matched wrongly or do not wait for one another.",
        "Look at the collectives that the page links, and report it to us."},
    FindingMeaning{"causality-after-fit", Severity::warning,
                   "In some collectives a rank left before the last one arrived, on the common clock; they could not "
                   "be split into waiting and transfer.",
                   ""},
    FindingMeaning{"split-contradiction", Severity::warning,
                   "Transfer times from clocks and from the shortest call differ by more than three deviations: some "
                   "ranks leave late, or calls were matched wrongly.",
                   ""},
    FindingMeaning{"unaligned-instances", Severity::warning,
                   "Collectives could not be split into waiting and transfer: nothing aligns their ranks' clocks.", ""},
    FindingMeaning{
        "unsplit-semantics", Severity::info,
        "Collectives could not be split into waiting and transfer: the traces do not record who waits for whom.", ""},
    FindingMeaning{"unsplit-causality", Severity::warning,
                   "Collectives could not be split into waiting and transfer: a rank left before the last one arrived, "
                   "by more than the clocks' uncertainty.",
                   ""},
    FindingMeaning{"extrapolated-instances", Severity::info,
                   "Collectives are outside the time for which collectives align the clocks.", ""},
    FindingMeaning{"ties", Severity::info, "In some collectives ranks arrived too close together to say who was last.",
                   ""},
    // What the report says of the job.
    FindingMeaning{"slow-group", Severity::warning,
                   "A group moves bytes more slowly than similar groups; the message says what that costs.",
                   "Look at its link: cables, congestion, placement."},
    FindingMeaning{"uneven-all-to-all", Severity::info,
                   "In all-to-alls of a group one rank receives far more than the mean, and the others wait for it.",
                   "Balance the experts or the splits."},
    // Several runs: scale and compare.
    FindingMeaning{"no-steps", Severity::warning,
                   "A run has no ProfilerStep: the whole window counts as one step, and no difference is significant.",
                   "Call profiler.step() once a step."},
    FindingMeaning{"one-step", Severity::warning, "A run has one step, so no difference is significant.",
                   "Record several steps."},
    FindingMeaning{"no-step-tables", Severity::warning,
                   "A report has no tables/rank_steps.csv: the parts of a step are not compared.",
                   "Make the report with CSV tables (-f)."},
    FindingMeaning{"no-efficiency", Severity::warning, "A run has no efficiency, because no GPU row was recorded.", ""},
    FindingMeaning{"no-replay", Severity::warning,
                   "Serialization and transfer could not be separated, because the job was not simulated.", ""},
    FindingMeaning{"host-steps", Severity::warning,
                   "Both reports come from an older skewscope, whose steps are host windows.", "Make them again."},
    FindingMeaning{
        "steps-not-comparable", Severity::warning,
        "Steps of two runs cannot be compared: ranks launch different collectives, or a different number of them.",
        "Compare runs of the same program."},
    FindingMeaning{"other-kernels", Severity::info,
                   "A rank launches a different number of GPU rows: kernels were fused, split or added.", ""},
    FindingMeaning{"components-differ", Severity::warning,
                   "Runs have components of different sizes; the longest ones are compared.", ""},
    // One GPU: skewscope rank.
    FindingMeaning{"no-details", Severity::warning,
                   "A digest keeps GPU rows and launches only: operators, work, copies and host calls are missing.",
                   "Use the trace itself."},
    FindingMeaning{"no-gpu-rows", Severity::info, "The trace has no GPU rows.",
                   "If the process used a GPU, record GPU activities."},
};

// The code of a finding: one of the table above, checked where it is compiled.
class FindingCode {
 public:
  constexpr FindingCode() = default;  // "": of no finding yet
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is a code
  consteval FindingCode(const char* code) : index_(index_of(code)) {
    if (index_ < 0) throw "not in kFindingMeanings";
  }
  // The code that a document holds; none where no finding has it.
  static std::optional<FindingCode> from_text(std::string_view text) {
    FindingCode code;
    code.index_ = index_of(text);
    return code.index_ < 0 && !text.empty() ? std::nullopt : std::optional(code);
  }

  constexpr std::string_view text() const {
    return index_ < 0 ? std::string_view() : kFindingMeanings[static_cast<size_t>(index_)].code;
  }
  const FindingMeaning& meaning() const { return kFindingMeanings[static_cast<size_t>(index_)]; }

  friend constexpr bool operator==(FindingCode, FindingCode) = default;
  // By their text, as documents list them.
  friend constexpr std::strong_ordering operator<=>(FindingCode a, FindingCode b) { return a.text() <=> b.text(); }

 private:
  static constexpr int16_t index_of(std::string_view code) {
    for (size_t i = 0; i < kFindingMeanings.size(); ++i) {
      if (code == kFindingMeanings[i].code) return static_cast<int16_t>(i);
    }
    return -1;
  }

  int16_t index_ = -1;
};

}  // namespace skewscope
