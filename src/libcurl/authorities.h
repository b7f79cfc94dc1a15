// Which certificate authorities this system trusts.
#pragma once

#include <string>

namespace skewscope {

// A file of them, PEM: $SSL_CERT_FILE, else the first that is there of where distributions keep them; "": none is.
std::string system_authorities();

}  // namespace skewscope
