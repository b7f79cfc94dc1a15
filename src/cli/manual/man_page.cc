#include "man_page.h"

#include <fmt/format.h>

#include <string_view>

#include "glossary.h"

namespace skewscope::cli {
namespace {

// `dashes`: a dash is what one types, so that it can be copied and found.
std::string roff(std::string_view text, bool dashes) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-' && dashes) {
      out += "\\-";
    } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += "\\&" + std::string(1, c);  // no macro of its own
    } else {
      out += c;
    }
  }
  return out;
}

std::string prose(std::string_view text) { return roff(text, false); }
std::string dashed(std::string_view text) { return roff(text, true); }

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string head(const std::string& name, const std::string& purpose, const std::string& version) {
  return fmt::format(".TH {} 1 \"\" \"skewscope {}\" \"User Commands\"\n.ad l\n.SH NAME\n{} \\- {}\n",
                     upper(dashed(name)), version, dashed(name), prose(purpose));
}

std::string flag_words(const FlagForm& flag) {
  std::string words;
  for (const std::string& name : flag.names)
    words += fmt::format("{}\\fB{}\\fR", words.empty() ? "" : ", ", dashed(name));
  return flag.value.name.empty() ? words : fmt::format("{} \\fI{}\\fR", words, dashed(flag.value.name));
}

std::string flags_section(const std::vector<FlagForm>& flags) {
  std::string text = ".SH OPTIONS\n";
  for (const FlagForm& flag : flags) text += fmt::format(".TP\n{}\n{}\n", flag_words(flag), prose(flag.meaning));
  return text;
}

// The footer of --help: what is indented are examples, "Exit codes: ..." is a section, the rest are notes.
std::string footer_sections(const std::string& footer) {
  std::string examples, notes, codes;
  for (size_t begin = 0; begin < footer.size();) {
    const size_t end = std::min(footer.find('\n', begin), footer.size());
    const std::string line = footer.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("  ")) {
      examples += dashed(line.substr(2)) + "\n";
    } else if (constexpr std::string_view kCodes = "Exit codes: "; line.starts_with(kCodes)) {
      codes = prose(line.substr(kCodes.size())) + "\n";
    } else if (line != "Examples:" && line != "Example:") {
      notes += prose(line) + "\n";
    }
  }
  std::string text;
  if (!examples.empty()) text += ".SH EXAMPLES\n.nf\n" + examples + ".fi\n";
  if (!notes.empty()) text += ".SH NOTES\n" + notes;
  if (!codes.empty()) text += ".SH EXIT STATUS\n" + codes;
  return text;
}

}  // namespace

std::string man_page(const CommandForm& command, const std::string& version) {
  std::string text = head("skewscope-" + command.name, command.purpose, version);
  text += fmt::format(".SH SYNOPSIS\n\\fBskewscope {}\\fR [\\fIOPTIONS\\fR]", dashed(command.name));
  for (const ArgumentForm& argument : command.arguments) text += fmt::format(" \\fI{}\\fR", dashed(argument.usage));
  text += "\n";
  if (!command.arguments.empty()) text += ".SH ARGUMENTS\n";
  for (const ArgumentForm& argument : command.arguments) {
    text += fmt::format(".TP\n\\fI{}\\fR\n{}\n", dashed(argument.name), prose(argument.meaning));
  }
  return text + flags_section(command.flags) + footer_sections(command.footer) + ".SH SEE ALSO\n.BR skewscope (1)\n";
}

std::string man_page_of_all(const CommandForm& program, const std::vector<CommandForm>& commands,
                            const std::string& version) {
  std::string text = head("skewscope", program.purpose, version);
  text += ".SH SYNOPSIS\n\\fBskewscope\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH COMMANDS\n";
  for (const CommandForm& command : commands) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", dashed(command.name), prose(command.purpose));
  }
  text += flags_section(program.flags) + ".SH WORDS\n";
  for (const Term& term : glossary()) text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", term.word, prose(term.meaning));
  text += ".SH SEE ALSO\n";
  for (size_t i = 0; i < commands.size(); ++i) {
    text += fmt::format(".BR skewscope\\-{} (1){}\n", dashed(commands[i].name), i + 1 < commands.size() ? "," : "");
  }
  return text;
}

}  // namespace skewscope::cli
