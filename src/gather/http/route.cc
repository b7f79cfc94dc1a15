#include "route.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>

#include "skewscope/protocol/names.h"
#include "src/gather/kept/report_files.h"

namespace skewscope::gather {
namespace {

constexpr size_t kLongestUserName = 255;

using Segments = std::vector<std::string>;

// A path of literal segments and of {job}, {id}, {rank}, {report} = report[.json|.html|.log] or
// hang[.json|.html], {generation} =
// number[.json|.html|.log], {capture}, and {file} and {table}, as is_report_file() says. `query`: the keys it takes,
// with blanks before and after each.
struct Pattern {
  Endpoint endpoint;
  Method method;
  std::string_view path;
  Body body = Body::none;
  std::string_view query = "";
};

constexpr std::array kMain = {
    Pattern{Endpoint::upload_options, Method::options, "/v1/uploads"},
    Pattern{Endpoint::upload_create, Method::post, "/v1/uploads", Body::first_bytes},
    Pattern{Endpoint::upload_head, Method::head, "/v1/uploads/{id}"},
    Pattern{Endpoint::upload_patch, Method::patch, "/v1/uploads/{id}", Body::bytes},
    Pattern{Endpoint::upload_delete, Method::delete_, "/v1/uploads/{id}"},
    Pattern{Endpoint::tokens, Method::post, "/v1/tokens", Body::document},
    Pattern{Endpoint::job_list, Method::get, "/v1/jobs", Body::none,
            " state after limit page q owner node loss since until "},
    Pattern{Endpoint::job_put, Method::put, "/v1/jobs/{job}", Body::needed_document},
    Pattern{Endpoint::job_get, Method::get, "/v1/jobs/{job}"},
    Pattern{Endpoint::job_delete, Method::delete_, "/v1/jobs/{job}"},
    Pattern{Endpoint::job_end, Method::post, "/v1/jobs/{job}/end"},
    Pattern{Endpoint::report_again, Method::post, "/v1/jobs/{job}/report"},
    Pattern{Endpoint::job_revoke, Method::post, "/v1/jobs/{job}/revoke"},
    Pattern{Endpoint::rank_put, Method::put, "/v1/jobs/{job}/ranks/{rank}", Body::bytes,
            " capture ranks world_size filename replace age "},
    Pattern{Endpoint::rank_get, Method::get, "/v1/jobs/{job}/ranks/{rank}", Body::none, " capture "},
    Pattern{Endpoint::report, Method::get, "/v1/jobs/{job}/{report}"},
    Pattern{Endpoint::report, Method::get, "/v1/jobs/{job}/report/{generation}"},
    Pattern{Endpoint::report_file, Method::get, "/v1/jobs/{job}/report/files/{file}"},
    Pattern{Endpoint::report_file, Method::get, "/v1/jobs/{job}/report/files/tables/{table}"},
    Pattern{Endpoint::report, Method::get, "/v1/jobs/{job}/captures/{capture}/{report}"},
    Pattern{Endpoint::report_file, Method::get, "/v1/jobs/{job}/captures/{capture}/report/files/{file}"},
    Pattern{Endpoint::report_file, Method::get, "/v1/jobs/{job}/captures/{capture}/report/files/tables/{table}"},
    Pattern{Endpoint::nodes, Method::get, "/v1/nodes"},
    Pattern{Endpoint::history, Method::get, "/v1/history", Body::none, " job limit "},
    Pattern{Endpoint::login, Method::get, "/login"},
    Pattern{Endpoint::login, Method::post, "/login", Body::form},
    Pattern{Endpoint::logout, Method::post, "/logout", Body::form},
    Pattern{Endpoint::page_jobs, Method::get, "/", Body::none, " q state owner node loss since until page "},
    Pattern{Endpoint::page_job, Method::get, "/jobs/{job}"},
    Pattern{Endpoint::page_nodes, Method::get, "/nodes"},
};
constexpr std::array kAdminPatterns = {
    Pattern{Endpoint::metrics, Method::get, "/metrics"},
    Pattern{Endpoint::healthy, Method::get, "/-/healthy"},
    Pattern{Endpoint::ready, Method::get, "/-/ready"},
};

// As Allow lists it: where there is a GET, there is a HEAD.
const char* name_of(Method method) {
  switch (method) {
    case Method::get:
      return "GET, HEAD";
    case Method::head:
      return "HEAD";
    case Method::put:
      return "PUT";
    case Method::post:
      return "POST";
    case Method::patch:
      return "PATCH";
    case Method::delete_:
      return "DELETE";
    case Method::options:
      return "OPTIONS";
  }
  return "";
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = OPENSSL_hexchar2int(static_cast<unsigned char>(text[i + 1]));
    const int low = OPENSSL_hexchar2int(static_cast<unsigned char>(text[i + 2]));
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high << 4 | low);
    i += 2;
  }
  return out;
}

bool is_plain(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-' || c == '~';
}

// Cut at "/" first: an escaped one never becomes a separator. Every name of the API needs these characters alone.
std::optional<Segments> segments_of(std::string_view path) {
  Segments out;
  while (!path.empty()) {
    path.remove_prefix(1);
    const size_t end = std::min(path.find('/'), path.size());
    std::optional<std::string> segment = percent_decoded(path.substr(0, end));
    if (!segment || !std::all_of(segment->begin(), segment->end(), is_plain)) return std::nullopt;
    if (*segment == "." || *segment == "..") return std::nullopt;
    out.push_back(std::move(*segment));
    path.remove_prefix(end);
  }
  return out;
}

// Takes ".json", ".html" or ".log" off its end and gives it.
std::string take_suffix(std::string_view& text) {
  for (const std::string_view suffix : {".json", ".html", ".log"}) {
    if (text.ends_with(suffix)) {
      text.remove_suffix(suffix.size());
      return std::string(suffix);
    }
  }
  return "";
}

// Does a path have the shape of a pattern; {job} and {rank} fit whatever is there, so that a bad one is reported.
bool fits(std::string_view pattern, const Segments& path) {
  for (std::string_view segment : path) {
    if (pattern.empty()) return false;
    pattern.remove_prefix(1);
    const std::string_view wanted = pattern.substr(0, pattern.find('/'));
    pattern.remove_prefix(wanted.size());
    if (wanted == "{report}") {
      const std::string suffix = take_suffix(segment);
      if (segment != "report" && (segment != "hang" || suffix == ".log")) return false;
    } else if (!wanted.starts_with('{') && segment != wanted) {
      return false;
    }
  }
  return pattern.empty();
}

// Takes the variable segments; what is wrong with one is reported by status and reason.
std::optional<Refused> take_path(Request& request, std::string_view pattern, const Segments& path) {
  for (std::string_view segment : path) {
    pattern.remove_prefix(1);
    const std::string_view wanted = pattern.substr(0, pattern.find('/'));
    pattern.remove_prefix(wanted.size());
    if (wanted == "{job}") {
      const bool fine = request.endpoint == Endpoint::rank_put ? is_name(segment) : is_job(segment);
      if (!fine) return Refused{400, "the job is no valid name", {}};
      request.job = segment;
    } else if (wanted == "{id}") {
      if (!is_upload_id(segment)) return Refused{404, "no such upload", {}};
      request.upload_id = segment;
    } else if (wanted == "{rank}") {
      const std::optional<uint64_t> rank = whole_number(segment, kMostRanks - 1);
      if (!rank) return Refused{400, "the rank is no valid number", {}};
      request.rank = static_cast<int>(*rank);
    } else if (wanted == "{report}") {
      request.suffix = take_suffix(segment);
      request.hang = segment == "hang";
      const bool of_capture = !request.within.empty();
      if (of_capture && (request.hang || request.suffix == ".log")) return Refused{404, "no such report", {}};
    } else if (wanted == "{capture}") {
      const std::optional<uint64_t> capture = whole_number(segment, kMostCaptures);
      if (!capture) return Refused{404, "no such report", {}};
      request.capture = static_cast<int>(*capture);
      request.within = report_of_capture(request.capture) + "/";
    } else if (wanted == "{file}" || wanted == "{table}") {
      request.file = wanted == "{table}" ? std::string(kReportTables).append(segment) : std::string(segment);
      if (!is_report_file(request.file)) return Refused{404, "no such file of a report", {}};
    } else if (wanted == "{generation}") {
      request.suffix = take_suffix(segment);
      const std::optional<uint64_t> generation = whole_number(segment, 1000000000);
      if (!generation || *generation == 0) return Refused{404, "no such report", {}};
      request.generation = static_cast<int>(*generation);
    }
  }
  return std::nullopt;
}

bool is_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// Of a search: what is typed may be in any script.
bool is_typed(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; });
}

bool is_good_value(std::string_view key, std::string_view value) {
  const auto between = [&](uint64_t least, uint64_t most) {
    const std::optional<uint64_t> number = whole_number(value, most);
    return number && *number >= least;
  };
  if (key == "state") return value == "receiving" || value == "complete" || value == "ended";
  if (key == "limit") return between(1, 1000);
  if (key == "capture") return between(0, kMostDumpMinute);
  if (key == "world_size" || key == "ranks") return between(1, kMostRanks);
  if (key == "age") return between(0, kLongestAge_s);
  if (key == "after" || key == "job") return is_job(value);
  if (key == "replace") return value == "0" || value == "1";
  if (key == "owner") return between(0, UINT32_MAX) || may_be_user(value);
  if (key == "page") return between(1, 1000000);
  if (key == "since" || key == "until") return day_of(value).has_value();
  if (key == "q") return is_typed(value) && value.size() <= 255;
  if (key == "filename") return is_text(value) && value.size() <= 255;
  return is_name(value);
}

// `known`: as in Pattern. The search of jobs comes from a form: a blank is "+" in it, and an empty field asks for
// nothing.
std::optional<Refused> take_query(Request& request, std::string_view text, std::string_view known) {
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::string key(pair.substr(0, equals));
    std::string written(pair.substr(std::min(equals + 1, pair.size())));
    const bool form = request.endpoint == Endpoint::page_jobs;
    if (form) std::replace(written.begin(), written.end(), '+', ' ');
    std::optional<std::string> value = percent_decoded(written);
    const auto is_key = [&](const auto& other) { return other.first == key; };
    if (key.empty() || known.find(" " + key + " ") == std::string_view::npos) {
      return Refused{400, "the query has a key that this address does not take", {}};
    }
    if (std::any_of(request.query.begin(), request.query.end(), is_key)) {
      return Refused{400, "the query has a key twice", {}};
    }
    if (form && value && value->empty()) continue;
    if (!value || !is_good_value(key, *value)) return Refused{400, "the query has a value that is not valid", {}};
    if (key == "capture") request.capture = static_cast<int>(*whole_number(*value, kMostDumpMinute));
    request.query.emplace_back(key, std::move(*value));
  }
  return std::nullopt;
}

template <size_t n>
std::variant<Body, Refused> route_among(const std::array<Pattern, n>& patterns, Request& request, const Segments& path,
                                        std::string_view query) {
  std::string allowed;
  for (const Pattern& pattern : patterns) {
    if (!fits(pattern.path, path)) continue;
    const bool asks_for_head = request.method == Method::head && pattern.method == Method::get;
    if (pattern.method != request.method && !asks_for_head) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(name_of(pattern.method));
      continue;
    }
    request.endpoint = pattern.endpoint;
    if (std::optional<Refused> refused = take_path(request, pattern.path, path)) return *refused;
    if (std::optional<Refused> refused = take_query(request, query, pattern.query)) return *refused;
    return pattern.body;
  }
  if (allowed.empty()) return Refused{404, "nothing is here", {}};
  return Refused{405, "this address does not take this method", {{"Allow", std::move(allowed)}}};
}

}  // namespace

std::optional<std::chrono::sys_days> day_of(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00";
  if (text.size() != kForm.size() || text[4] != '-' || text[7] != '-') return std::nullopt;
  int parts[3] = {0, 0, 0};
  for (size_t i = 0; i < text.size(); ++i) {
    if (kForm[i] == '-') continue;
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    int& part = parts[(i > 4 ? 1 : 0) + (i > 7 ? 1 : 0)];
    part = 10 * part + (text[i] - '0');
  }
  const std::chrono::year_month_day day{std::chrono::year(parts[0]),
                                        std::chrono::month(static_cast<unsigned>(parts[1])),
                                        std::chrono::day(static_cast<unsigned>(parts[2]))};
  return day.ok() ? std::optional(std::chrono::sys_days(day)) : std::nullopt;
}

bool may_be_user(std::string_view text) {
  const auto allowed = [](char c) { return is_plain(c) || c == '@' || c == '$' || c == '\\'; };
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  return text.size() <= kLongestUserName && std::all_of(text.begin(), text.end(), allowed) &&
         std::any_of(text.begin(), text.end(), is_letter);
}

std::variant<Body, Refused> route(Request& request, Method method, std::string_view target, Listener listener) {
  request.method = method;
  const auto is_visible = [](char c) { return c > ' ' && c <= '~'; };
  if (!target.starts_with('/') || !std::all_of(target.begin(), target.end(), is_visible)) {
    return Refused{400, "the target is no path", {}};
  }
  const size_t end = std::min(target.find('?'), target.size());
  const std::optional<Segments> path = segments_of(target.substr(0, end));
  if (!path) return Refused{400, "the path has a character or segment that no address has", {}};
  const std::string_view query = target.substr(std::min(end + 1, target.size()));
  return listener == Listener::main ? route_among(kMain, request, *path, query)
                                    : route_among(kAdminPatterns, request, *path, query);
}

}  // namespace skewscope::gather
