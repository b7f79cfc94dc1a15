#include "live_update.h"

#include <fmt/format.h>

#include "src/gather/http/page_policy.h"

namespace skewscope::gather {
namespace {

constexpr const char* kLiveScript = R"js("use strict";
const period = 10000;
let answered = new Date();

// Makes `old` what `next` is, and leaves alone what is equal.
function update(old, next) {
  if (old.isEqualNode(next)) return;
  if (old.nodeType !== Node.ELEMENT_NODE || old.nodeName !== next.nodeName) return old.replaceWith(next);
  for (const name of old.getAttributeNames()) if (!next.hasAttribute(name)) old.removeAttribute(name);
  for (const {name, value} of next.attributes) old.setAttribute(name, value);
  const wanted = new Set([...next.children].map((child) => child.id));
  for (const child of [...old.children]) if (child.id && !wanted.has(child.id)) child.remove();
  old.normalize();
  const named = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
  let place = old.firstChild;
  for (const node of [...next.childNodes]) {
    const known = node.id ? named.get(node.id) : place && !place.id ? place : undefined;
    if (!known) {
      old.insertBefore(node, place);
      continue;
    }
    if (known === place) place = place.nextSibling;
    else old.insertBefore(known, place);
    update(known, node);
  }
  while (place) {
    const gone = place;
    place = place.nextSibling;
    gone.remove();
  }
}

async function ask() {
  if (document.hidden) return;
  const unanswered = document.getElementById("unanswered");
  try {
    const answer = await fetch(location.href, {cache: "no-store", redirect: "manual", signal: AbortSignal.timeout(3 * period)});
    // To sign on again, or gone: for a proxy any of these.
    if (answer.type === "opaqueredirect" || [401, 403, 404].includes(answer.status)) return location.reload();
    if (!answer.ok) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const next = page.getElementById(part.id);
      if (next) update(part, next);
    }
    answered = new Date();
    unanswered.hidden = true;
  } catch (error) {
    unanswered.textContent = `The gatherer does not answer; this is what it said at ${answered.toLocaleTimeString()}.`;
    unanswered.hidden = false;
  }
}

let asking = Promise.resolve();
const ask_in_turn = () => (asking = asking.then(ask));
setInterval(ask_in_turn, period);
document.addEventListener("visibilitychange", ask_in_turn);
)js";

}  // namespace

std::string live_part(const char* id, const std::string& body) {
  return fmt::format("<div id=\"{}\" data-live>{}</div>\n", id, body);
}

std::string live_head() { return "<noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>"; }

std::string live_script() {
  return fmt::format("<p id=\"unanswered\" role=\"alert\" hidden></p><script>{}</script>", kLiveScript);
}

std::string live_policy() {
  static const std::string script = hash_source(kLiveScript);
  return fmt::format(" script-src {}; connect-src 'self';", script);
}

}  // namespace skewscope::gather
