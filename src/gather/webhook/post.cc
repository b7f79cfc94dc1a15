#include "post.h"

#include <array>
#include <charconv>
#include <memory>
#include <string_view>

#include "skewscope/base/printable.h"
#include "skewscope/libcurl/request.h"

namespace skewscope::gather {
namespace {

constexpr long kLongestPost_s = 10;
constexpr size_t kLargestAnswerHead = 32 << 10;

// What is read of an answer.
struct AnswerHead {
  const std::function<bool()>& go_on;
  size_t bytes = 0;
  int begun = 0, whole = 0;  // the status of a head that has begun, and of one that has ended

  static size_t take_line(char* text, size_t, size_t size, void* self) {
    auto& head = *static_cast<AnswerHead*>(self);
    const std::string_view line(text, size);
    head.bytes += size;
    if (line.starts_with("HTTP/")) {
      const size_t blank = line.find(' ');
      head.begun = 0;
      if (blank != std::string_view::npos) std::from_chars(line.data() + blank + 1, line.data() + size, head.begun);
    } else if (line == "\r\n" || line == "\n") {
      head.whole = head.begun >= 200 ? head.begun : 0;  // below that another head comes
    }
    return head.bytes <= kLargestAnswerHead ? size : 0;
  }
  static size_t refuse_body(char*, size_t, size_t, void*) { return 0; }
  static int still_wanted(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<AnswerHead*>(self)->go_on() ? 0 : 1;
  }
};

}  // namespace

Posted post(const std::string& url, const std::string& ca_file, const std::vector<std::string>& fields,
            const std::string& body, const std::function<bool()>& go_on) {
  start_libcurl();
  const std::unique_ptr<CURL, void (*)(CURL*)> handle(curl_easy_init(), curl_easy_cleanup);
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> list(nullptr, curl_slist_free_all);
  for (const std::string& field : fields) list.reset(curl_slist_append(list.release(), field.c_str()));
  AnswerHead head{go_on};
  std::array<char, CURL_ERROR_SIZE> error{};
  const auto set = [&handle](CURLoption option, auto value) { set_option()(handle.get(), option, value); };
  secure(handle.get(), ca_file);
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_USERAGENT, "skewscope-gather");
  set(CURLOPT_HTTPHEADER, list.get());
  set(CURLOPT_POSTFIELDS, body.data());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(CURLOPT_TIMEOUT, kLongestPost_s);
  set(CURLOPT_QUICK_EXIT, 1L);  // a name server that hangs holds no end
  set(CURLOPT_HEADERFUNCTION, &AnswerHead::take_line);
  set(CURLOPT_HEADERDATA, &head);
  set(CURLOPT_WRITEFUNCTION, &AnswerHead::refuse_body);
  set(CURLOPT_XFERINFOFUNCTION, &AnswerHead::still_wanted);
  set(CURLOPT_XFERINFODATA, &head);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_ERRORBUFFER, error.data());
  const CURLcode code = curl_easy_perform(handle.get());
  if (head.whole != 0) return {head.whole, ""};
  if (code == CURLE_OK) return {0, "the answer is no HTTP"};
  return {0, printable(error[0] != '\0' ? error.data() : curl_easy_strerror(code))};
}

}  // namespace skewscope::gather
