// The program skewscope-mpi joins the processes of MPI_COMM_WORLD.
//
// A message may be larger than the 2 GiB that MPI counts in an int: it goes in rounds, all processes in the same
// number. Waiting is polite: while process 0 writes the report the others would otherwise spin, on the cores that it
// needs.
#define OMPI_SKIP_MPICXX  // NOLINT: the C interface alone

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>

#include "skewscope/distribute.h"

namespace skewscope {
namespace {

constexpr int64_t kRoundBytes = 64 << 20;  // sent by a process at most, and received
constexpr std::chrono::microseconds kLongestPause{500};
// What Open MPI's mpirun, and srun with --mpi=pmix (or pmi2, which Open MPI then refuses aloud), leave in the
// environment of what they start.
constexpr std::array<const char*, 3> kLaunchers = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};

void wait(MPI_Request& request) {
  std::chrono::microseconds pause{0};
  for (int done = 0; true; pause = std::min(2 * pause + std::chrono::microseconds(1), kLongestPause)) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    std::this_thread::sleep_for(pause);
  }
}

// What of a round goes to, or comes from, each process; one behind the other.
struct Layout {
  std::vector<int> counts, places;
  std::vector<char> bytes;

  explicit Layout(const std::vector<int64_t>& sizes, int64_t begin, int64_t most) {
    int place = 0;
    for (const int64_t size : sizes) {
      counts.push_back(static_cast<int>(std::clamp<int64_t>(size - begin, 0, most)));
      places.push_back(place);
      place += counts.back();
    }
    bytes.resize(static_cast<size_t>(std::max(place, 1)));  // without memory, the next call hangs in Open MPI 4.1.0
  }
  char* part(size_t process) { return bytes.data() + places[process]; }
  size_t size(size_t process) const { return static_cast<size_t>(counts[process]); }
};

class MpiExchange : public Exchange {
 public:
  MpiExchange() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &process_);
    MPI_Comm_size(MPI_COMM_WORLD, &processes_);
  }
  MpiExchange(const MpiExchange&) = delete;
  MpiExchange& operator=(const MpiExchange&) = delete;
  // After an exception the others wait for a message that never comes: leaving without MPI_Finalize ends them.
  ~MpiExchange() override {
    if (std::uncaught_exceptions() == 0) MPI_Finalize();
  }

  int32_t process() const override { return process_; }
  int32_t processes() const override { return processes_; }

  std::vector<Bytes> all_to_all(std::vector<Bytes> to) override {
    std::vector<const Bytes*> each;
    for (const Bytes& bytes : to) each.push_back(&bytes);
    return swap(each);
  }
  std::vector<Bytes> all_gather(Bytes own) override {
    return swap(std::vector<const Bytes*>(static_cast<size_t>(processes_), &own));
  }

 private:
  std::vector<Bytes> swap(const std::vector<const Bytes*>& to) const {
    std::vector<int64_t> out, in(to.size());
    for (const Bytes* bytes : to) out.push_back(std::ssize(*bytes));
    MPI_Request request{};
    MPI_Ialltoall(out.data(), 1, MPI_INT64_T, in.data(), 1, MPI_INT64_T, MPI_COMM_WORLD, &request);
    wait(request);
    const int64_t longest = longest_of_all(*std::max_element(out.begin(), out.end()));
    std::vector<Bytes> from(to.size());
    const int64_t most = std::max<int64_t>(1, kRoundBytes / processes_);
    for (int64_t begin = 0; begin < longest; begin += most) {
      Layout send(out, begin, most), receive(in, begin, most);
      for (size_t p = 0; p < to.size(); ++p)
        std::copy_n(to[p]->data() + std::min(begin, out[p]), send.size(p), send.part(p));
      MPI_Ialltoallv(send.bytes.data(), send.counts.data(), send.places.data(), MPI_BYTE, receive.bytes.data(),
                     receive.counts.data(), receive.places.data(), MPI_BYTE, MPI_COMM_WORLD, &request);
      wait(request);
      for (size_t p = 0; p < from.size(); ++p) from[p].append(receive.part(p), receive.size(p));
    }
    return from;
  }

  static int64_t longest_of_all(int64_t own) {
    int64_t longest = 0;
    MPI_Request request{};
    MPI_Iallreduce(&own, &longest, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD, &request);
    wait(request);
    return longest;
  }

  int process_ = 0, processes_ = 1;
};

// Started alone, MPI would work as well, but start slowly and want its own daemon.
bool has_launcher() {
  return std::any_of(kLaunchers.begin(), kLaunchers.end(),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

}  // namespace

std::string processes_apart() { return ""; }

std::unique_ptr<Exchange> join_processes() {
  if (!has_launcher()) return std::make_unique<Alone>();
  return std::make_unique<MpiExchange>();
}

}  // namespace skewscope
