// tus 1.0 (https://tus.io/protocols/resumable-upload) and the PUT of one file.
//
// An Upload-Offset that is answered is durable: those bytes need never be sent again.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "checked_writer.h"
#include "handlers.h"
#include "run_of_upload.h"
#include "skewscope/protocol/names.h"

namespace skewscope::gather {
namespace {

constexpr const char* kUploads = "/v1/uploads/";

Response tus(int status) {
  Response response;
  response.status = status;
  return response.field("Tus-Resumable", "1.0.0");
}

Response tus_problem(int status, const char* reason) { return problem(status, reason).field("Tus-Resumable", "1.0.0"); }

// Of what is about a job: which of the runs of its name.
Response& name_run(Response& response, const std::string& job) { return response.field("Skewscope-Job", job); }

Response tus_refused(Refusal refusal) { return refused(refusal).field("Tus-Resumable", "1.0.0"); }

std::string http_date(Time time) {
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

// Offset, and what else there is to say of an upload.
Response& tell(Response& response, const UploadState& upload) {
  name_run(response, upload.metadata.job).field("Upload-Offset", std::to_string(upload.offset));
  if (upload.complete) return response.field("Repr-Digest", repr_digest(upload.digest));
  if (upload.grows && upload.digest != Digest{}) response.field("Repr-Digest", repr_digest(upload.digest));
  if (upload.grows) return response;
  return response.field("Upload-Expires", http_date(upload.expires));
}

// "sha256 BASE64" or "sha1 BASE64". What the store gets for a SHA-1 is a digest that no bytes have: it keeps none of
// them unless check_sha1 vouches.
struct Checksum {
  std::optional<Digest> digest;
  std::string sha1;
  const char* problem = nullptr;
};
Checksum checksum_of(const Request& request) {
  const std::string_view text = request.upload_checksum;
  if (text.empty()) return {};
  const size_t blank = text.find(' ');
  const std::string_view algorithm = text.substr(0, blank);
  if (algorithm != "sha256" && algorithm != "sha1") return {{}, {}, "unsupported checksum algorithm"};
  const size_t size = algorithm == "sha1" ? kSha1Bytes : Digest{}.size();
  const auto bytes = blank == std::string::npos ? std::nullopt : from_base64(text.substr(blank + 1));
  if (!bytes || bytes->size() != size) return {{}, {}, "malformed Upload-Checksum"};
  if (size == kSha1Bytes) return {Digest{}, *bytes, nullptr};
  Digest digest;
  std::copy(bytes->begin(), bytes->end(), digest.begin());
  return {digest, {}, nullptr};
}

// The whole file's digest; of another algorithm it is nobody's promise.
std::optional<Digest> promised(const Request& request) { return digest_from_repr(request.repr_digest); }

const char* problem_of_promise(const Request& request) {
  return promises_sha256(request.repr_digest) && !promised(request) ? "malformed Repr-Digest" : nullptr;
}

// Opens the writer of an upload for the body of `call`.
struct Append {
  std::string id;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  Checksum checksum;
  std::string job;
  Lobby::Slot slot;
  std::function<Response(const Outcome<UploadState>&)> answer;
  std::function<void()> broken_off;
};

void append(Store& store, const CallPointer& call, const Append& to, const Continue& next) {
  store.append(to.id, to.offset, to.length, to.checksum.digest, call->evicted,
               [to, next](const Outcome<std::shared_ptr<Writer>>& opened) {
                 if (opened.refusal != Refusal::none) return next(to.answer({opened.refusal, {}}));
                 const std::string& sha1 = to.checksum.sha1;
                 next(TakeFile{sha1.empty() ? opened.value : check_sha1(opened.value, sha1), to.job, to.slot, to.answer,
                               to.broken_off});
               });
}

// 409 tells the offset that would have been right.
void answer_wrong_offset(Store& store, const std::string& id, const Continue& next) {
  store.state(id, [next](const Outcome<UploadState>& outcome) {
    Response response = tus_refused(Refusal::wrong_offset);
    if (outcome.refusal == Refusal::none) tell(response, outcome.value);
    next(std::move(response));
  });
}

Response created(const Outcome<UploadState>& outcome, const std::string& id) {
  if (outcome.refusal != Refusal::none) return tus_refused(outcome.refusal);
  Response response = tus(201);
  response.field("Location", kUploads + id);
  return tell(response, outcome.value);
}

// Makes it an upload of a run of its name. The refusal, where it can be of none now.
std::optional<Response> choose_run(const Context& context, NewUpload& upload) {
  const Time now = wall_clock();
  if (upload.metadata.age_s) upload.written = now - std::chrono::seconds(*upload.metadata.age_s);
  const ChosenRun chosen = run_of_upload(upload, context.store.run_facts(upload.metadata), context.deadlines, now);
  if (chosen.kind == ChosenRun::Kind::too_many) {
    return problem(507, "the job has as many runs as a name may have: delete old ones");
  }
  if (chosen.kind == ChosenRun::Kind::conflict) {
    return problem(
               409,
               "the rank already has a different file, and its run is not over: a second run begins once the first is "
               "whole, has ended, or has sent nothing for its deadline")
        .field("Retry-After", std::to_string(chosen.wait.count()));
  }
  upload.metadata.job = chosen.job;
  return std::nullopt;
}

void write_first_bytes(const Context& context, const CallPointer& call, const Checksum& checksum,
                       const Lobby::Slot& slot, const UploadState& upload, const Continue& next) {
  Append first;
  first.id = upload.id;
  first.checksum = checksum;
  first.job = upload.metadata.job;
  first.slot = slot;
  first.answer = [id = upload.id](const Outcome<UploadState>& outcome) { return created(outcome, id); };
  append(context.store, call, first, next);
}

}  // namespace

Response upload_options(const GatherLimits& limits) {
  return tus(204)
      .field("Tus-Version", "1.0.0")
      .field("Tus-Extension", "creation,creation-with-upload,creation-defer-length,expiration,checksum,termination")
      .field("Tus-Max-Size", std::to_string(limits.largest_file))
      .field("Tus-Checksum-Algorithm", "sha1,sha256");
}

void create_upload(const Context& context, const CallPointer& call, const Continue& next) {
  const Request& request = call->request;
  const ParsedMetadata parsed = parse_upload_metadata(request.upload_metadata);
  if (parsed.problem != nullptr) return next(tus_problem(400, parsed.problem));
  if (const char* wrong = problem_of_promise(request)) return next(tus_problem(400, wrong));
  const bool has_body = request.content_length.value_or(0) > 0;
  const Checksum checksum = checksum_of(request);
  if (checksum.problem != nullptr) return next(tus_problem(400, checksum.problem));
  NewUpload upload;
  upload.metadata = parsed.metadata;
  upload.said = request.upload_metadata;
  upload.uid = uid_of(call->caller);
  upload.client = call->peer;
  if (const auto digest = promised(request)) {
    if (upload.metadata.sha256 && *upload.metadata.sha256 != *digest) return next(tus_problem(400, "two digests"));
    upload.metadata.sha256 = digest;
  }
  if (!request.upload_length.empty()) upload.length = std::stoull(request.upload_length);
  const UploadMetadata& asked = upload.metadata;
  if (asked.grows && (upload.length || asked.sha256 || asked.replace || asked.ranks > 1)) {
    return next(
        tus_problem(400, "an upload that grows has neither length nor digest, replaces no file and holds one rank"));
  }
  if (has_body && upload.length && *request.content_length > *upload.length) {
    return next(tus_problem(400, "more bytes than Upload-Length"));
  }
  if (auto refusal = choose_run(context, upload)) return next(refusal->field("Tus-Resumable", "1.0.0"));
  if (upload.said == encode(upload.metadata)) upload.said.clear();
  const auto create = [=](const Lobby::Slot& slot) {
    context.store.create(upload, [=](const Outcome<UploadState>& outcome) {
      if (outcome.refusal != Refusal::none || !has_body || outcome.value.complete) {
        return next(created(outcome, outcome.value.id));
      }
      write_first_bytes(context, call, checksum, slot, outcome.value, next);
    });
  };
  if (!has_body) return create(nullptr);
  context.lobby.body(sharer_of(*call, upload.metadata.job), [=](const Lobby::Slot& slot) {
    slot ? create(slot) : next(tus_problem(503, "too many bodies at once"));
  });
}

void head_upload(const Context& context, const CallPointer& call, const Continue& next) {
  context.store.state(call->request.upload_id, [next](const Outcome<UploadState>& outcome) {
    if (outcome.refusal != Refusal::none) return next(tus_refused(outcome.refusal));
    Response response = tus(200);
    const UploadState& upload = outcome.value;
    if (upload.length) {
      response.field("Upload-Length", std::to_string(*upload.length));
    } else {
      response.field("Upload-Defer-Length", "1");
    }
    response.field("Upload-Metadata", upload.said.empty() ? encode(upload.metadata) : upload.said);
    next(tell(response, upload));
  });
}

namespace {

void promise_and_append(Store& store, const CallPointer& call, const Append& to, const Continue& next) {
  const auto open = [=, &store] {
    append(store, call, to, [=, &store](Next then) {
      const auto* response = std::get_if<Response>(&then);
      if (response == nullptr || response->status != 409) return next(std::move(then));
      answer_wrong_offset(store, to.id, next);
    });
  };
  const auto digest = promised(call->request);
  if (!digest) return open();
  store.promise_digest(to.id, *digest, [=](const Outcome<Done>& outcome) {
    if (outcome.refusal != Refusal::none) return next(tus_refused(outcome.refusal));
    open();
  });
}

}  // namespace

void patch_upload(const Context& context, const CallPointer& call, const Continue& next) {
  const Request& request = call->request;
  const Checksum checksum = checksum_of(request);
  if (checksum.problem != nullptr) return next(tus_problem(400, checksum.problem));
  if (const char* wrong = problem_of_promise(request)) return next(tus_problem(400, wrong));
  Append to;
  to.id = request.upload_id;
  to.offset = std::stoull(request.upload_offset);
  if (!request.upload_length.empty()) to.length = std::stoull(request.upload_length);
  to.checksum = checksum;
  to.job = context.store.metadata_of(to.id).value_or(UploadMetadata{}).job;
  to.answer = [](const Outcome<UploadState>& outcome) {
    if (outcome.refusal != Refusal::none) return tus_refused(outcome.refusal);
    Response response = tus(204);
    return tell(response, outcome.value);
  };
  context.lobby.body(sharer_of(*call, to.job), [=](const Lobby::Slot& slot) {
    if (!slot) return next(tus_problem(503, "too many bodies at once"));
    Append with_slot = to;
    with_slot.slot = slot;
    promise_and_append(context.store, call, with_slot, next);
  });
}

void delete_upload(const Context& context, const CallPointer& call, const Continue& next) {
  context.store.remove(call->request.upload_id, [next](const Outcome<Done>& outcome) {
    next(outcome.refusal == Refusal::none ? tus(204) : tus_refused(outcome.refusal));
  });
}

namespace {

void put_file(Store& store, const CallPointer& call, const NewUpload& upload, const Lobby::Slot& slot,
              const Continue& next) {
  store.create(upload, [=, &store](const Outcome<UploadState>& outcome) {
    if (outcome.refusal != Refusal::none) return next(refused(outcome.refusal));
    const auto stored = [](int status, const UploadState& file) {
      Response response;
      response.status = status;
      return name_run(response, file.metadata.job).field("Repr-Digest", repr_digest(file.digest));
    };
    if (outcome.value.complete) return next(stored(204, outcome.value));
    Append whole;
    whole.id = outcome.value.id;
    whole.job = outcome.value.metadata.job;
    whole.slot = slot;
    const auto forget = [&store, id = whole.id] { store.remove(id, [](const Outcome<Done>&) {}); };
    whole.broken_off = forget;
    whole.answer = [stored, forget](const Outcome<UploadState>& end) {
      if (end.refusal == Refusal::none) return stored(201, end.value);
      forget();
      return refused(end.refusal);
    };
    append(store, call, whole, next);
  });
}

}  // namespace

// One request, one file: what did not come whole is forgotten, there is no way to go on with it.
void put_rank(const Context& context, const CallPointer& call, const Continue& next) {
  const Request& request = call->request;
  if (const char* wrong = problem_of_promise(request)) return next(problem(400, wrong));
  NewUpload upload;
  upload.metadata.job = request.job;
  upload.metadata.rank = request.rank;
  upload.metadata.capture = request.capture;
  upload.metadata.sha256 = promised(request);
  for (const auto& [key, value] : request.query) {
    if (key == "world_size") upload.metadata.world_size = std::stoi(value);
    if (key == "ranks") upload.metadata.ranks = std::stoi(value);
    if (key == "filename") upload.metadata.filename = value;
    if (key == "age") upload.metadata.age_s = std::stoll(value);
    if (key == "replace") upload.metadata.replace = value == "1" || value == "true";
  }
  if (upload.metadata.ranks > kMostRanks - upload.metadata.rank) return next(problem(400, "too many ranks"));
  upload.length = request.content_length;
  upload.uid = uid_of(call->caller);
  upload.client = call->peer;
  upload.one_request = true;
  if (auto refusal = choose_run(context, upload)) return next(*std::move(refusal));
  context.lobby.body(sharer_of(*call, request.job), [=](const Lobby::Slot& slot) {
    slot ? put_file(context.store, call, upload, slot, next) : next(problem(503, "too many bodies at once"));
  });
}

}  // namespace skewscope::gather
