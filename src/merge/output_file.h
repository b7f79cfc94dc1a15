// A file that is written from its beginning to its end in pieces, plain or as gzip.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "skewscope/base/result.h"

namespace skewscope::merge {

struct GzipStream;

class OutputFile {
 public:
  OutputFile(std::string path, bool gzip);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // After a failure nothing more is written.
  void write(std::string_view bytes);
  // Errors: output, of the first failure.
  Result<Done> close();

 private:
  void fail();
  void store(std::string_view bytes);
  void compress(std::string_view bytes, bool last);

  std::string path_, reason_;
  std::FILE* file_;
  std::unique_ptr<GzipStream> gzip_;
};

}  // namespace skewscope::merge
