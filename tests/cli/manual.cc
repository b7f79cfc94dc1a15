// What the program says of itself: help, man pages, completion.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "workplace.h"

using namespace skewscope::test;

namespace {

const std::vector<std::string> kCommands = {"report", "rank", "scale",    "compare", "inspect", "merge",
                                            "digest", "hang", "simulate", "help",    "version", "completion"};

bool is_installed(const std::string& tool) {
  if (std::system(("command -v " + tool + " > /dev/null").c_str()) == 0) return true;
  WARN("skipped: " << tool << " is not installed");
  return false;
}

// What the shell `command` prints, errors, too, and its exit code.
std::string shell_says(const std::string& command) {
  const std::string out = place() / "shell.out";
  const int code = std::system(("cd " + (place() / "") + " && { " + command + "; } > " + out + " 2>&1").c_str());
  return place().read("shell.out") + (code == 0 ? "" : "exit code " + std::to_string(code) + "\n");
}

// What bash offers for the last of `words`.
std::string offered(const std::string& words) {
  std::istringstream all(words);
  int count = 0;
  for (std::string word; all >> word;) ++count;
  if (words.back() == ' ') ++count;
  std::ofstream(place() / "try.bash") << "source completion.bash\nCOMP_WORDS=(" << words
                                      << (words.back() == ' ' ? "''" : "") << ")\nCOMP_CWORD=" << count - 1
                                      << "\n_skewscope\necho \"${COMPREPLY[*]}\"\n";
  return shell_says("bash try.bash");
}

}  // namespace

TEST_CASE(
    "help lists the commands, help of a command is what its --help says, and a wrong topic names those there are") {
  const Outcome all = place().run("help");
  CHECK(all.code == 0);
  CHECK(all.out == place().run("--help").out);
  for (const std::string& command : kCommands) {
    INFO(command);
    CHECK(says(all.out, "\n  " + command + " "));
    const Outcome one = place().run("help " + command);
    CHECK(one.code == 0);
    CHECK(one.out == place().run(command + " --help").out);
    CHECK(says(one.out, "Usage: skewscope " + command));
  }
  const Outcome wrong = place().run("help reprot");
  CHECK(wrong.code == 2);
  CHECK(says(wrong.err, "skewscope: error: no help on 'reprot': there is report, "));
}

TEST_CASE("usage shows an argument as often as it must be given, and help fits its columns") {
  CHECK(says(place().run("help scale").out, "Usage: skewscope scale [OPTIONS] RUN RUN...\n"));
  CHECK(says(place().run("help compare").out, "Usage: skewscope compare [OPTIONS] BASE NEW\n"));
  CHECK(says(place().run("help report").out, "Usage: skewscope report [OPTIONS] PATH...\n"));
  CHECK_FALSE(says(place().run("help report").out, "POSITIVE"));
  for (const char* columns : {"60", "80", "160"}) {
    const Outcome r = place().run("help merge", std::string("env COLUMNS=") + columns);
    std::istringstream lines(r.out);
    for (std::string line; std::getline(lines, line);) {
      const bool is_one_word = line.find(' ', line.find_first_not_of(' ')) == std::string::npos;
      const bool is_example = line.starts_with("  skewscope "), is_flag = line.starts_with("  -");
      INFO(line);
      CHECK((line.size() <= std::stoul(columns) || is_one_word || is_example || is_flag));
    }
  }
}

TEST_CASE("the version can be asked for in three ways") {
  const Outcome version = place().run("version");
  CHECK(version.code == 0);
  CHECK(version.out.rfind("skewscope ", 0) == 0);
  CHECK(place().run("--version").out == version.out);
  CHECK(place().run("-V").out == version.out);
}

TEST_CASE("help terms explains each word of the page's glossary in the same sentence") {
  std::string terms;
  std::istringstream words(place().run("help terms", "env COLUMNS=200").out);
  for (std::string word; words >> word;) terms += word + " ";
  std::ifstream source(SKEWSCOPE_SOURCE_DIR "/src/report/page/glossary.json");
  std::ostringstream page;
  page << std::ifstream(SKEWSCOPE_SOURCE_DIR "/src/report/page/page_shell.html").rdbuf();
  const auto glossary = nlohmann::json::parse(source);
  CHECK(glossary.size() >= 10);
  for (const auto& term : glossary) {
    const std::string meaning = term["meaning"];
    INFO(meaning);
    CHECK(says(terms, term["word"].get<std::string>() + " " + meaning));
    CHECK(says(page.str(), meaning));
  }
}

TEST_CASE("each error of the command line has the program's name, the word error and a way on") {
  for (const auto& [arguments, words, way] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"", "no command is given", ""},
           {"reprot", "no command is called reprot", ""},
           {"report", "PATH is required", " report"},
           {"report traces --steps 9", "--steps: expected A:B such as 10:20, got '9'", " report"},
           {"report traces -j 0", "--threads: ", " report"},
           {"merge traces", "--output is required", " merge"},
           {"report traces --no-such-flag", "--no-such-flag", " report"}}) {
    const Outcome r = place().run(arguments);
    INFO(arguments << "\n" << r.err);
    CHECK(r.code == 2);
    CHECK(r.err.rfind("skewscope: error: ", 0) == 0);
    CHECK(says(r.err, words));
    CHECK(says(r.err, "\nTry: skewscope help" + way + "\n"));
  }
}

TEST_CASE("bash completes commands, flags of the command, words of a flag, lists and files") {
  std::ofstream(place() / "completion.bash") << place().run("completion bash").out;
  CHECK(says(offered("skewscope re"), "report\n"));
  CHECK(offered("skewscope report traces --al") == "--align\n");
  CHECK(offered("skewscope report --align co") == "collectives\n");
  CHECK(offered("skewscope report --align = n") == "none\n");
  CHECK(offered("skewscope report -f json,sq") == "json,sqlite\n");
  CHECK(offered("skewscope merge trac") == "traces\n");
  CHECK(says(offered("skewscope report -o trac"), "traces"));
  CHECK(offered("skewscope --config some.toml scale --wea") == "--weak\n");
  CHECK(offered("skewscope report --threads ") == "\n");
  CHECK(says(offered("skewscope help te"), "terms"));
  CHECK(offered("skewscope completion f") == "fish\n");
}

TEST_CASE("the scripts of bash, zsh and fish are what these shells read without complaint") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome script = place().run(std::string("completion ") + shell);
    CHECK(script.code == 0);
    CHECK(says(script.out, "network-peak"));
    const std::string file = place() / (std::string("completion.") + shell);
    std::ofstream(file) << script.out;
    if (is_installed(shell)) CHECK(shell_says(std::string(shell) + " -n " + file) == "");
  }
  CHECK(place().run("completion tcsh").code == 2);
}

TEST_CASE("fish offers what bash does") {
  if (!is_installed("fish")) return;
  std::ofstream(place() / "completion.fish") << place().run("completion fish").out;
  const auto offers = [](const std::string& line) {
    return shell_says("HOME=$PWD fish --no-config -c 'source completion.fish; complete -C \"" + line + "\"'");
  };
  CHECK(says(offers("skewscope comp"), "compare\t"));
  CHECK(says(offers("skewscope report --al"), "--align\t"));
  CHECK(says(offers("skewscope report --align co"), "collectives\t"));
}

TEST_CASE("each command has a man page without a warning, with its flags, and the program's names them all") {
  const std::string all = place().run("help --man").out;
  for (const std::string& command : kCommands) {
    INFO(command);
    const Outcome page = place().run("help --man " + command);
    CHECK(page.code == 0);
    CHECK(says(page.out, "\n.SH SYNOPSIS\n\\fBskewscope " + command));
    CHECK(says(all, "skewscope\\-" + command + " (1)"));
  }
  CHECK(says(place().run("help --man report").out, "\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIDIR\\fR"));
  if (!is_installed("man")) return;
  for (const std::string& command : kCommands) {
    std::ofstream(place() / "page.1") << place().run("help --man " + command).out;
    INFO(command);
    CHECK(shell_says("man --warnings -E UTF-8 -l page.1 > /dev/null") == "");
  }
  std::ofstream(place() / "page.1") << all;
  CHECK(shell_says("man --warnings -E UTF-8 -l page.1 > /dev/null") == "");
}
