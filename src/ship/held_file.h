// A finished file that the agent holds on to: open, alone with it among agents, and linked under a name of its own
// where the file system lets it, so that the job may rename or remove it meanwhile.
#pragma once

#include <string>

#include "file_stamp.h"

namespace skewscope::ship {

class HeldFile {
 public:
  enum class State {
    held,
    absent,      // neither the file nor its link is there with this content
    written,     // somebody has it open for writing
    busy,        // another agent holds it
    unreadable,  // not now: reason()
    refused,     // the system does not let us: reason()
  };

  // `link`: where to link it; "": nowhere. Whatever had this stamp before and was linked there is found again.
  HeldFile(const std::string& path, const std::string& link, const FileStamp& stamp);
  ~HeldFile();
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;

  State state() const { return state_; }
  const std::string& reason() const { return reason_; }
  int descriptor() const { return descriptor_; }
  // A path that leads to the content, whatever became of its names.
  std::string open_path() const;
  // Nobody had it open for writing, for certain, when it was taken hold of.
  bool closed() const { return closed_; }
  // Still the content it was opened with.
  bool unchanged() const;
  // Removes the link, for what will not be sent: it would keep the disk full after the job has removed the file.
  void let_go() const;

 private:
  State open_first_of(const std::string& path);
  bool moved_with_its_device();
  void make_link() const;

  FileStamp stamp_;
  std::string link_;
  int descriptor_ = -1;
  std::string reason_;
  bool closed_ = false;
  State state_;  // the last: what finds it sets the others
};

}  // namespace skewscope::ship
