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
                   "Give every rank a file name of its own (scripts/torch_handler.py does)."},
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
                   "Time stamps had more than three digits behind the microsecond; the rest was cut off.", ""},
    FindingMeaning{
        "unpadded-fractions", Severity::info,
        "Fractions of microseconds were written without leading zeros (PyTorch nightlies of spring 2024); \".5\" "
        "was read as 5 ns.",
        ""},
    FindingMeaning{"duplicate-key", Severity::info, "Arguments were given twice; the last one was taken.", ""},
    FindingMeaning{
        "absent-value", Severity::info,
        "Values were absent or without quotes, or commas followed the last one; all else of the events was read.", ""},
    FindingMeaning{"partly-read-event", Severity::warning,
                   "Events could not be repaired. Only what is whole in them was read, their time at least.",
                   "If there are many, record again with a newer PyTorch."},
    FindingMeaning{"dropped-event", Severity::warning,
                   "Events could not be read, even after repair. Their time is missing from the report.",
                   "If there are many, record again with a newer PyTorch."},
    FindingMeaning{"skipped-bytes", Severity::warning, "Text between events was no event; it was skipped.", ""},
    FindingMeaning{"oversized-event", Severity::warning,
                   "No event ended within the largest chunk; the text up to the next event was skipped.", ""},
    FindingMeaning{"damaged-head", Severity::warning,
                   "Keys next to the events could not be read. What they say (rank, world size, device) is missing.",
                   "State the ranks with --rank-map where they are wrong."},
    // Files that are no rank's trace.
    FindingMeaning{"other-format", Severity::warning, "A file is of another tool or kind; it was left out.",
                   "The message names the tool and the next step."},
    FindingMeaning{"not-a-trace", Severity::warning, "A file is no profiler trace; it was left out.", ""},
    FindingMeaning{"execution-trace", Severity::warning,
                   "A file is an execution trace, without times on the GPU; it was left out.",
                   "Give the profiler's traces of the same run."},
    FindingMeaning{"merged-trace", Severity::warning, "Several ranks were merged into one file; it was left out.",
                   "Give the ranks' own files."},
    FindingMeaning{"front-end", Severity::warning,
                   "A file is of a process without GPU work and collectives; it was left out.", ""},
    FindingMeaning{
        "operator-gpu-time", Severity::warning,
        "\"CUDA functions\" are GPU time by operator, not by kernel (the profiler before Kineto); they were left out.",
        "Record with torch.profiler."},
    // Rows and their time stamps.
    FindingMeaning{"negative-duration", Severity::warning, "Durations were negative; they count as 0.", ""},
    FindingMeaning{"no-duration", Severity::warning, "Complete events (ph X) had no duration; they count as 0.", ""},
    FindingMeaning{
        "open-event", Severity::warning,
        "Events (ph B, E) began without an end, which count as 0, or ended without a beginning, which were left out.",
        ""},
    FindingMeaning{"zero-stamp", Severity::warning, "GPU events had time stamp 0 and duration 0; they were dropped.",
                   ""},
    FindingMeaning{"repeated-events", Severity::warning, "GPU rows were recorded twice; they count once.", ""},
    FindingMeaning{"overlapping-duration", Severity::warning,
                   "GPU rows of one stream overlapped, which no stream can do; their ends were cut.", ""},
    FindingMeaning{"time-out-of-range", Severity::warning,
                   "GPU rows were stamped far from all others; they were left out, as no clock can have stamped them.",
                   ""},
    FindingMeaning{"launch-out-of-range", Severity::warning,
                   "Launches were stamped far from all others; they were left out.", ""},
    FindingMeaning{"step-out-of-range", Severity::warning,
                   "Steps were stamped far from all others; they were left out.", ""},
    FindingMeaning{"call-out-of-range", Severity::warning,
                   "Collectives of the host were stamped far from all others; they were left out.", ""},
    FindingMeaning{"end-out-of-range", Severity::warning,
                   "GPU rows ended behind all that bounds them; they were cut there.", ""},
    FindingMeaning{"launch-end-out-of-range", Severity::warning,
                   "Calls of the host ended behind all else that was recorded; they were cut there.", ""},
    FindingMeaning{"step-end-out-of-range", Severity::warning, "Steps ended behind recording; they were cut there.",
                   ""},
    FindingMeaning{"call-end-out-of-range", Severity::warning,
                   "Ranges of collectives on the host ended behind recording; they were cut there.", ""},
    FindingMeaning{"call-end-not-known", Severity::warning,
                   "Collectives on the host ended behind recording or the last step; their ends are not known.", ""},
    FindingMeaning{
        "gpu-clock-apart", Severity::warning,
        "The clock of the GPU rows counts from another moment than the host's; the rows were moved to where none "
        "begins before its launch.",
        "Durations can be relied on; delays between launch and kernel cannot."},
    FindingMeaning{"base-time-lost", Severity::warning,
                   "A file was cut before the base of its time stamps; that of the other files was taken.", ""},
    FindingMeaning{
        "waiting-kernels", Severity::info,
        "Kernels were resident while the one before them on their stream still ran (dependent launch); their work "
        "counts from where it can have begun.",
        ""},
    // Launches and kernels.
    FindingMeaning{"orphan-kernels", Severity::info,
                   "GPU rows have no launch in the trace: they were launched before recording began.",
                   "Warm the profiler up for a step (schedule(warmup=1))."},
    FindingMeaning{"reused-correlation", Severity::warning,
                   "Several launches share the correlation id of GPU rows; each row counts as the latest one's.", ""},
    FindingMeaning{
        "joined-by-order", Severity::info,
        "Kernels of collectives carry no correlation; on the stream of a group the k-th kernel counts as that of the "
        "group's k-th launch.",
        ""},
    FindingMeaning{
        "joined-by-neighbours", Severity::info,
        "GPU rows carry no correlation; they count as those of the calls between the launches of their neighbours.",
        ""},
    FindingMeaning{"order-unknown", Severity::warning,
                   "Kernels of collectives carry no correlation, and neither order nor times tell their launch: group, "
                   "operation and size are not known.",
                   "Record with a profiler that writes correlations."},
    FindingMeaning{
        "kernels-lost", Severity::warning,
        "Kernels were launched and are in no row: the profiler lost them. Waits of others for this rank are lower "
        "bounds.",
        "Record fewer steps, or larger profiler buffers."},
    FindingMeaning{"gpu-rows-lost", Severity::warning,
                   "Kernels were launched and none was recorded: the GPU rows of this rank are missing.",
                   "Record this rank again; look for errors of CUPTI or roctracer in its log."},
    FindingMeaning{"no-gpu-activity", Severity::warning, "Collectives were called and no GPU rows recorded.",
                   "Add the activity of the GPU, ProfilerActivity.CUDA (or XPU), to the profiler."},
    FindingMeaning{
        "copied-collectives", Severity::warning,
        "Collectives ran as copies, without a kernel: their copying is communication, their waiting is not in the "
        "trace.",
        ""},
    FindingMeaning{"unknown-kernels", Severity::warning,
                   "Collectives ran as kernels that are not known to communicate; they count as computing.",
                   "Name the kernels with --kernels (configs/kernels.json has the form)."},
    FindingMeaning{"calls-without-kernel", Severity::warning,
                   "Collectives have a record and a range, but no kernel: their time is in no row.", ""},
    FindingMeaning{
        "computing-by-launch", Severity::info,
        "Kernels with a collective's word in their name that no communication operator launched count as computing.",
        "If they communicate, say so with --kernels."},
    FindingMeaning{"named-by-word", Severity::info, "Kernels count as collectives for a word in their name alone.",
                   "Say what they do with --kernels."},
    FindingMeaning{"host-collectives", Severity::info,
                   "Collectives of gloo on the CPU ran next to GPU work; they are not among the calls.", ""},
    FindingMeaning{
        "own-devices", Severity::info,
        "Calls are collectives among the GPUs of one process: each waits for the last of these, no rank is missing.",
        ""},
    FindingMeaning{"several-groups", Severity::info,
                   "Batches of sends and receives span several groups; nothing tells who waited for whom in them.", ""},
    FindingMeaning{
        "several-kernels", Severity::info,
        "Several kernels in a row are of one operation; they count as one call from the first start to the last "
        "end.",
        ""},
    // Ranks, worlds, jobs.
    FindingMeaning{"rank-conflict", Severity::warning, "Two sources name different ranks; the stronger one was taken.",
                   "Check with skewscope inspect; --rank-map states it."},
    FindingMeaning{"rank-doubtful", Severity::warning, "Several files claim one rank; the claim is not believed.",
                   "State the ranks with --rank-map."},
    FindingMeaning{"rank-unknown", Severity::warning,
                   "Nothing tells a file's rank; its number is made up and only its single-rank tables mean something.",
                   "State the rank with --rank-map or --rank-regex, or put it into the file name (rank3-of-8)."},
    FindingMeaning{"rank-out-of-range", Severity::warning, "A source names a rank outside the world; it was not used.",
                   ""},
    FindingMeaning{"rank-from-name-number", Severity::info,
                   "Only a number in the path counts the processes; it was taken as the rank.",
                   "Confirm it with --rank-regex or --rank-map."},
    FindingMeaning{"rank-from-local-rank", Severity::info,
                   "Only local ranks or coordinates tell the files apart; they were taken as ranks of the whole job.",
                   "Confirm it with --rank-map."},
    FindingMeaning{"rank-regex-no-match", Severity::info, "--rank-regex does not match a path; other sources decide.",
                   ""},
    FindingMeaning{"rank-map-no-match", Severity::warning,
                   "No path in --rank-map is a trace that was read; other sources decide.",
                   "Correct the paths of the map."},
    FindingMeaning{"rank-coordinates", Severity::warning,
                   "Coordinates in file names (tensor, pipeline, data) contradict each other; none are used.", ""},
    FindingMeaning{"rank-not-in-group", Severity::warning,
                   "A rank made calls of a group whose members do not include it; the file's rank may be wrong.",
                   "Check with skewscope inspect; --rank-map states it."},
    FindingMeaning{"missing-ranks", Severity::warning,
                   "Ranks of the job have no trace: their instances are incomplete, the waits in them lower bounds.",
                   "Record all ranks, or say with --world-size how many there are."},
    FindingMeaning{"duplicate-rank", Severity::warning, "A rank has two traces of the same time; one was left out.",
                   "Two jobs need a report each; files of other ranks --rank-map."},
    FindingMeaning{"captures-of-one-process", Severity::info,
                   "Files differ in a number and follow each other in time; they count as captures of one process.",
                   "If they are ranks, state them with --rank-map."},
    FindingMeaning{"capture-apart", Severity::warning,
                   "A capture was recorded long before or after those it is compared with; it may be of another run.",
                   ""},
    FindingMeaning{"hosts-unknown", Severity::info,
                   "Nothing names the hosts of ranks; which share a node is not known.",
                   "Say so with --rank-map (path,rank,host), or put @HOST into file names (rank3@node17.json)."},
    FindingMeaning{"world-size-unknown", Severity::info,
                   "Nothing tells how many ranks the job has; the files were counted.", "State it with --world-size."},
    FindingMeaning{"world-size-disagreement", Severity::warning,
                   "Sources name different world sizes; the strongest was taken.", "State it with --world-size."},
    FindingMeaning{"world-size-not-believed", Severity::warning,
                   "A source names far more ranks than any other; not believed.", ""},
    FindingMeaning{"another-job", Severity::warning, "Files next to those reported are of another run.",
                   "The message has the command that reports it."},
    FindingMeaning{"copied-trace", Severity::info, "A file is a copy of another one's trace; it was left out.", ""},
    // Groups and matching.
    FindingMeaning{
        "ambiguous-group", Severity::warning,
        "More ranks mention a group than it has members; its calls are matched where their times prove the group.", ""},
    FindingMeaning{"members-unknown", Severity::info,
                   "Not all members of a group are known; its instances are lower bounds.", ""},
    FindingMeaning{
        "inferred-communicators", Severity::info,
        "The traces do not name these groups: their members are inferred from ends that agree, so a rank that never "
        "agreed is not missed.",
        "Record with PyTorch 2.4 or newer, which names groups."},
    FindingMeaning{"incomplete-instances", Severity::warning,
                   "Instances lack members; the waiting shown for them is a lower bound.", ""},
    FindingMeaning{"mismatched-instances", Severity::warning,
                   "Members of instances disagree on the size; their bandwidth is doubtful.", ""},
    FindingMeaning{
        "suspected-mismatch", Severity::warning,
        "Ends of instances are far apart on the common clock: perhaps not one collective; they tie no clocks.", ""},
    FindingMeaning{
        "unmatched-alone", Severity::warning,
        "Calls are in no instance: no other member's trace holds them (a missing rank, the window's edge, a lost "
        "kernel).",
        "Record all ranks over the same steps."},
    FindingMeaning{
        "unmatched-ambiguous", Severity::warning,
        "Calls are in no instance: several ways to pair them explain the traces equally well. Nothing was guessed.",
        "Record with PyTorch 2.4 or newer, or name files rank<R>-of-<N>."},
    FindingMeaning{"unmatched-no-metadata", Severity::warning,
                   "Calls are in no instance: nothing tells their group or operation, and no ends agree.",
                   "Record with PyTorch 2.4 or newer."},
    FindingMeaning{"unmatched-causality", Severity::warning,
                   "Calls are in no instance: their partners would have finished before they started.", ""},
    FindingMeaning{"unmatched-mismatch", Severity::warning,
                   "Calls are in no instance: their partners by sequence number differ in operation, type or size.",
                   "Look for ranks that run different code."},
    FindingMeaning{"unmatched-chained", Severity::warning,
                   "Calls are in no instance: messages join them to several calls of one rank.", ""},
    FindingMeaning{"unmatched-group-of-one", Severity::info,
                   "The communicator of these calls has one member, so nobody can be waited for.", ""},
    FindingMeaning{"unmatched-one-sided", Severity::info,
                   "Kernels only send, and end whether or not others came: all of it counts as transfer.", ""},
    FindingMeaning{"unmatched-copied", Severity::info,
                   "Calls ran as copies, which do not show what ranks waited for each other.", ""},
    FindingMeaning{"unmatched-own-devices", Severity::info,
                   "The members of these calls are GPUs of one process: nobody is missing.", ""},
    FindingMeaning{
        "components", Severity::warning,
        "No matched call connects some ranks with the others: each component has its own clocks and is never "
        "compared with another.",
        "Report the components as jobs of their own if that is what they are."},
    FindingMeaning{"windows-differ", Severity::info,
                   "Some steps were not recorded by all ranks; efficiencies are those of the others.", ""},
    FindingMeaning{
        "open-ends", Severity::warning,
        "Collective calls have no recorded end: their own wait and transfer are not determined, sums are lower "
        "bounds.",
        ""},
    // Clocks and the split of waiting and transfer.
    FindingMeaning{"inconclusive-clocks", Severity::warning,
                   "Clocks err by more than most waits are long: the split of waiting and transfer is inconclusive.",
                   "Record more steps, or synchronize the hosts' clocks (chrony, PTP)."},
    FindingMeaning{"clocks-outside-proof", Severity::warning,
                   "Clocks are outside what cause and effect allow; their splits are doubtful.", ""},
    FindingMeaning{
        "clocks-contradict", Severity::warning,
        "No clocks explain all time stamps: somewhere calls were matched wrongly or do not wait for one another.",
        "Look at the instances that the page links, and tell us."},
    FindingMeaning{"causality-after-fit", Severity::warning,
                   "In some instances a member left before the last arrived, on the common clock; they are not split.",
                   ""},
    FindingMeaning{
        "split-contradiction", Severity::warning,
        "Transfer times by clocks and by shortest duration differ by more than three deviations: late exits, or a "
        "wrong match.",
        ""},
    FindingMeaning{"unaligned-instances", Severity::warning,
                   "Instances were not split: nothing connects their members' clocks.", ""},
    FindingMeaning{"unsplit-semantics", Severity::info, "Instances were not split: who waits for whom is not recorded.",
                   ""},
    FindingMeaning{"unsplit-causality", Severity::warning,
                   "Instances were not split: a member left before the last arrived, by more than clocks err.", ""},
    FindingMeaning{"extrapolated-instances", Severity::info,
                   "Instances are outside the time in which shared ends tie their clocks.", ""},
    FindingMeaning{"ties", Severity::info, "Instances have no clear last rank; they count as late for nobody.", ""},
    // What the report says of the job.
    FindingMeaning{"slow-group", Severity::warning,
                   "A group moves bytes more slowly than groups like it; its transfer time beyond theirs is named.",
                   "Look at its link: cables, congestion, placement."},
    FindingMeaning{"uneven-all-to-all", Severity::info,
                   "In all-to-alls of a group one rank receives far more than the mean, and others wait for it.",
                   "Balance the experts or the splits."},
    // Several runs: scale and compare.
    FindingMeaning{"no-steps", Severity::warning,
                   "A run has no ProfilerStep: its window counts as one step and nothing has a spread.",
                   "Call profiler.step() once a step."},
    FindingMeaning{"one-step", Severity::warning, "A run has one step, so no difference is significant.",
                   "Record several steps."},
    FindingMeaning{"no-step-tables", Severity::warning,
                   "A report has no tables/rank_steps.csv: what steps consist of is not compared.",
                   "Make the report with CSV tables (-f)."},
    FindingMeaning{"no-efficiency", Severity::warning, "A run has no efficiency, since no GPU row is recorded.", ""},
    FindingMeaning{"no-replay", Severity::warning,
                   "Serialization and transfer are not told apart, since the job was not replayed.", ""},
    FindingMeaning{"host-steps", Severity::warning,
                   "Both reports are of an older skewscope, whose steps are windows of the hosts.", "Make them again."},
    FindingMeaning{"steps-not-comparable", Severity::warning,
                   "Steps of two runs do not compare: ranks launch other collectives, or other numbers of them.",
                   "Compare runs of one program."},
    FindingMeaning{"other-kernels", Severity::info,
                   "A rank launches other numbers of GPU rows: kernels were fused, split or added.", ""},
    FindingMeaning{"components-differ", Severity::warning,
                   "Runs have components of other sizes; the longest ones are compared.", ""},
    // One GPU: skewscope rank.
    FindingMeaning{
        "no-details", Severity::warning,
        "A digest keeps GPU rows and launches only: operators, work, copies and calls of the host are missing.",
        "Give the trace itself."},
    FindingMeaning{"no-gpu-rows", Severity::info, "The trace has no GPU rows.",
                   "If the process used a GPU, record its activity."},
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
