#include "job_search.h"

#include <algorithm>
#include <optional>

#include "job_text.h"
#include "src/gather/http/route.h"

namespace skewscope::gather {
namespace {

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; });
  return text;
}

class JobFilter {
 public:
  JobFilter(const History& history, const UserNames& users, const JobSearch& search) {
    const auto value = [&](const char* key) {
      const auto found = search.find(key);
      return found == search.end() ? std::string() : found->second;
    };
    text_ = lower_case(value("q"));
    state_ = value("state");
    node_ = value("node");
    owner_text_ = value("owner");
    owner_ = uid_of(users, owner_text_);
    owner_in_text_ = uid_of(users, value("q"));
    if (!text_.empty()) with_text_ = history.jobs_with_text(text_);
    if (!node_.empty()) on_node_ = history.jobs_on_node(node_);
    if (search.contains("loss")) with_loss_ = history.jobs_with_loss(value("loss"));
    if (const auto day = day_of(value("since"))) since_ = *day;
    if (const auto day = day_of(value("until"))) until_ = *day + std::chrono::days(1);
  }

  bool lets_through(const JobState& job) const {
    const std::pair key(job.name, job.created);
    const std::vector<std::string>& nodes = job.settings.nodes;
    const bool on_node =
        node_.empty() || std::find(nodes.begin(), nodes.end(), node_) != nodes.end() || on_node_.contains(key);
    return job.created >= since_ && job.created < until_ && (state_.empty() || state_ == state_of(job)) &&
           (owner_text_.empty() || owner_ == job.owner_uid) && on_node && (!with_loss_ || with_loss_->contains(key)) &&
           (text_.empty() || says_text(job) || with_text_.contains(key));
  }

 private:
  static std::optional<uint32_t> uid_of(const UserNames& users, const std::string& text) {
    if (const auto uid = whole_number(text, UINT32_MAX)) return static_cast<uint32_t>(*uid);
    const UserNames::Answer found = users.of_name(text);
    return found.known == UserNames::Known::user ? std::optional(found.user.uid) : std::nullopt;
  }
  bool says_text(const JobState& job) const {
    const auto has_it = [this](const std::string& text) { return lower_case(text).find(text_) != std::string::npos; };
    return has_it(job.name) || owner_in_text_ == job.owner_uid ||
           std::any_of(job.settings.nodes.begin(), job.settings.nodes.end(), has_it);
  }

  std::string text_, state_, node_, owner_text_;
  std::optional<uint32_t> owner_, owner_in_text_;
  JobKeys with_text_, on_node_;
  std::optional<JobKeys> with_loss_;
  Time since_{}, until_ = Time::max();
};

}  // namespace

FoundJobs find_jobs(const Store& store, const History& history, const UserNames& users, const Call& call,
                    const JobSearch& search, size_t page) {
  struct Match {
    Time created{};
    std::string name;
  };
  FoundJobs out;
  const JobFilter filter(history, users, search);
  std::vector<Match> matches;
  each_readable_job(store, call, "", [&](const JobState& job) {
    ++out.all;
    if (filter.lets_through(job)) matches.push_back({job.created, job.name});
    return true;
  });
  out.found = matches.size();
  out.pages = std::max<size_t>(1, (matches.size() + kJobsOnPage - 1) / kJobsOnPage);
  out.page = std::min(page, out.pages);
  const size_t begin = (out.page - 1) * kJobsOnPage, end = std::min(begin + kJobsOnPage, matches.size());
  const auto newer = [](const Match& a, const Match& b) {
    return a.created != b.created ? a.created > b.created : a.name > b.name;
  };
  std::partial_sort(matches.begin(), matches.begin() + static_cast<std::ptrdiff_t>(end), matches.end(), newer);
  for (size_t i = begin; i < end; ++i) {
    if (auto job = store.job(matches[i].name)) out.jobs.push_back(std::move(*job));
  }
  return out;
}

}  // namespace skewscope::gather
