// The program skewscope has no MPI and joins nobody. What launchers leave in the environment of what they start tells
// that there are others: mpirun of Open MPI, MPICH and Intel MPI the number of processes, srun that of the step. sbatch
// tells the number of tasks of the job, too, but runs its script once, in no step of srun's.
#include <array>
#include <cstdlib>
#include <string>

#include "skewscope/distribute.h"

namespace skewscope {
namespace {

struct Launcher {
  const char* name;
  const char* processes;  // variable that holds their number
  const char* own;        // variable that holds the number of this one
};

constexpr std::array<Launcher, 3> kLaunchers = {{{"mpirun", "OMPI_COMM_WORLD_SIZE", nullptr},
                                                 {"mpirun", "PMI_SIZE", nullptr},
                                                 {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}}};

int64_t number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtoll(text, nullptr, 10);
}

}  // namespace

std::unique_ptr<Exchange> join_processes() { return std::make_unique<Alone>(); }

std::string processes_apart() {
  for (const Launcher& launcher : kLaunchers) {
    const int64_t processes = number_in(launcher.processes);
    if (processes < 2 || (launcher.own != nullptr && std::getenv(launcher.own) == nullptr)) continue;
    return std::string(launcher.name) + " started " + std::to_string(processes) + " processes";
  }
  return "";
}

}  // namespace skewscope
