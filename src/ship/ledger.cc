#include "ledger.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "skewscope/base/whole_file.h"

namespace skewscope::ship {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "skewscope.ship-item/1";
constexpr const char* kAside = ".aside";
constexpr size_t kLargestFile = 64 << 10;

Json json_of(const Item& item) {
  return {{"schema", kSchema},
          {"path", item.path},
          {"device", item.stamp.device},
          {"inode", item.stamp.inode},
          {"size", item.stamp.size},
          {"mtime_ns", item.stamp.mtime_ns},
          {"accepted", item.accepted},
          {"accepted_at", item.accepted_at},
          {"sha256", item.sha256 ? hex(*item.sha256) : ""},
          {"job", item.job},
          {"upload", item.upload},
          {"offset", item.offset},
          {"tries", item.tries}};
}

std::optional<Item> item_of(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  try {
    if (json.at("schema") != kSchema) return std::nullopt;
    Item item;
    item.path = json.at("path").get<std::string>();
    item.stamp = {json.at("device").get<uint64_t>(), json.at("inode").get<uint64_t>(), json.at("size").get<uint64_t>(),
                  json.at("mtime_ns").get<int64_t>()};
    item.accepted = json.at("accepted").get<bool>();
    item.accepted_at = json.at("accepted_at").get<int64_t>();
    item.sha256 = digest_from_hex(json.at("sha256").get<std::string>());
    item.job = json.value("job", "");
    item.upload = json.at("upload").get<std::string>();
    item.offset = json.at("offset").get<uint64_t>();
    item.tries = json.at("tries").get<int>();
    return item;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

bool lies_there(const Item& item) {
  struct stat status {};
  return lstat(item.path.c_str(), &status) == 0 && stamp_of(status) == item.stamp;
}

}  // namespace

std::optional<std::string> read_small(const std::string& path, size_t most) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  std::string text(most, '\0');
  const ssize_t got = read(descriptor, text.data(), text.size());
  close(descriptor);
  if (got < 0) return std::nullopt;
  text.resize(static_cast<size_t>(got));
  return text;
}

Ledger::Ledger(std::string directory, const std::string& target)
    : directory_(std::move(directory)), target_(hex(sha256(target)).substr(0, 12)) {}

std::string Ledger::key(const FileStamp& stamp) const { return target_ + "-" + stamp.key(); }

std::string Ledger::held_path(const FileStamp& stamp) const {
  return directory_.empty() ? "" : directory_ + "/held/" + key(stamp);
}

std::string Ledger::aside_path(const FileStamp& stamp) const {
  return directory_.empty() ? "" : held_path(stamp) + kAside;
}

std::string Ledger::digest_folder(const FileStamp& stamp) const { return directory_ + "/digests/" + key(stamp); }

std::optional<Item> Ledger::load(const FileStamp& stamp) const {
  if (directory_.empty()) return std::nullopt;
  const auto text = read_small(directory_ + "/items/" + key(stamp) + ".json", kLargestFile);
  if (!text) return std::nullopt;
  std::optional<Item> item = item_of(*text);
  return item && item->stamp == stamp ? item : std::nullopt;
}

bool Ledger::save(const Item& item) const {
  if (directory_.empty()) return false;
  const std::string text = json_of(item).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  return write_whole_file(text, directory_ + "/items/" + key(item.stamp) + ".json", true, 0600).ok();
}

std::map<std::string, Item> Ledger::items(const std::string& prefix) const {
  std::map<std::string, Item> found;
  std::error_code failed;
  for (fs::directory_iterator entry(directory_ + "/items", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const fs::path& path = entry->path();
    if (path.extension() != ".json" || path.stem().string().rfind(prefix, 0) != 0) continue;
    const auto text = read_small(path.string(), kLargestFile);
    if (auto item = text ? item_of(*text) : std::nullopt) found.emplace(path.stem().string(), std::move(*item));
  }
  return found;
}

std::vector<Item> Ledger::unfinished() const {
  std::vector<Item> found;
  if (directory_.empty()) return found;
  for (auto& [key, item] : items(target_ + "-")) {
    if (!item.accepted) found.push_back(std::move(item));
  }
  return found;
}

std::vector<std::string> Ledger::clear_asides() const {
  std::vector<std::string> stuck;
  if (directory_.empty()) return stuck;
  const std::map<std::string, Item> known = items("");
  std::error_code failed;
  for (fs::directory_iterator entry(directory_ + "/held", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string aside = entry->path().string();
    if (entry->path().extension() != kAside) continue;
    const auto item = known.find(entry->path().stem().string());
    struct stat status {};
    const bool accepted = item != known.end() && item->second.accepted && lstat(aside.c_str(), &status) == 0 &&
                          stamp_of(status) == item->second.stamp;
    if (accepted ? unlink(aside.c_str()) == 0
                 : item != known.end() &&
                       renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, item->second.path.c_str(), RENAME_NOREPLACE) == 0) {
      continue;
    }
    stuck.push_back(aside);
  }
  return stuck;
}

void Ledger::sweep(int64_t now_unix_s) const {
  if (directory_.empty()) return;
  for (const auto& [key, item] : items("")) {
    if (!item.accepted || now_unix_s - item.accepted_at < kHeldAfterwards_s) continue;
    unlink((directory_ + "/held/" + key).c_str());
    if (!lies_there(item)) unlink((directory_ + "/items/" + key + ".json").c_str());
  }
}

}  // namespace skewscope::ship
