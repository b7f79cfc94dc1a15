// Where messages go, what they are signed with, and which are sent: as the options say.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skewscope/gather.h"

namespace skewscope::gather {

struct WebhookTarget {
  GatherWebhook options;
  std::vector<std::string> keys;  // each signs
};

// Null: nobody is told. Errors: usage; also where libcurl is not there.
Result<std::shared_ptr<const WebhookTarget>> webhook_target_of(const GatherOptions& options);

// The URL without what may be a secret in it, its path, but so that another URL is another text.
std::string without_path(const std::string& url);

// The value of webhook-signature, as the specification of Standard Webhooks has it: "v1,BASE64" by each key, with
// blanks between.
std::string signature_of(const std::vector<std::string>& keys, const std::string& id, int64_t timestamp,
                         const std::string& body);

}  // namespace skewscope::gather
