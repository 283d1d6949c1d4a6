// The sconce command as its user meets it: a process with arguments, stdin, stdout, stderr and an exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "io/files.h"
#include "io/tensor_files.h"
#include "support/compare.h"
#include "text_fixtures.h"

namespace sconce {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

const std::string kOps = SCONCE_FIXTURES "/ops/";
const std::string kModel = SCONCE_DEFAULT_MODEL_DIR;

struct Finished {
  int exit_code = -1;
  std::string out, error;
};

std::string quoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string text_of(const std::filesystem::path& path) {
  auto bytes = io::read_file(path);
  return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : std::string();
}

std::string temporary(const std::string& name) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return testing::TempDir() + "cli_test_" + test->name() + "_" + name;
}

// Runs the command through the shell, which takes the redirections.
Finished sconce(const std::vector<std::string>& arguments, const std::string& input = "") {
  const std::string out = temporary("out"), error = temporary("error"), in = temporary("in");
  EXPECT_TRUE(io::write_file(in, std::as_bytes(std::span(input))));
  std::string command = quoted(SCONCE_COMMAND);
  for (const std::string& argument : arguments) command += " " + quoted(argument);
  command += " <" + quoted(in) + " >" + quoted(out) + " 2>" + quoted(error);
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(out), text_of(error)};
}

json json_of(const Finished& finished) {
  EXPECT_EQ(finished.exit_code, 0) << finished.error;
  const json parsed = json::parse(finished.out, nullptr, false);
  EXPECT_FALSE(parsed.is_discarded()) << finished.out;
  return parsed;
}

TEST(Cli, HelpGoesToStdoutAndTeaches) {
  for (const char* command :
       {"devices", "operators", "inspect", "run", "generate", "bench", "perplexity", "profile", "strip"}) {
    const Finished help = sconce({command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_THAT(help.out, AllOf(HasSubstr("Usage: sconce"), HasSubstr("Example"))) << command;
    EXPECT_EQ(help.error, "") << command;
  }
}

TEST(Cli, AWrongCommandLineExitsWith2) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"dance"},
      {"run"},
      {"operators", "--no-such-option"},
      {"generate", "model", "prompt", "--greedy", "--temperature", "1"},
      {"generate", "model", "prompt", "--top-p", "1.5"},
      {"bench", "model", "--repeat", "0"},
      {"perplexity", "model"},
      {"perplexity", "model", "page.txt", "--tokens", "0"},
      {"perplexity", "model", "page.txt", "--margin", "-1"},
  };
  for (const auto& arguments : wrong) {
    const Finished finished = sconce(arguments);
    EXPECT_EQ(finished.exit_code, 2) << fmt::format("{}", fmt::join(arguments, " "));
    EXPECT_EQ(finished.out, "");
    EXPECT_NE(finished.error, "");
  }
}

TEST(Cli, AnErrorIsASentenceOnStderrAndExitsWith1) {
  const std::string abs = kOps + "elementwise/abs.pte";
  struct Case {
    std::vector<std::string> arguments;
    const char* says;
  };
  const Case cases[] = {
      {{"inspect", "/no/such/file.pte"}, "/no/such/file.pte"},
      {{"inspect", SCONCE_FIXTURES "/ops/elementwise/abs.safetensors"}, "error: "},
      {{"generate", testing::TempDir(), "Hi"}, "tokenizer.json"},
      {{"devices", "--device", "an adapter that no machine has"}, "an adapter that no machine has"},
      {{"run", abs}, "Input 0 (f32 [128, 5]) has no value; give a file, --value 0=NUMBER or --random."},
      {{"run", abs, "--random", "--method", "backward"}, "no method backward"},
      {{"run", abs, "--random", "--shape", "0=129,5"}, "128"},
      {{"run", abs, "--random", "--shape", "0=7"}, "error: "},
      {{"run", abs, "--random", "--shape", "1=7,5"}, "names input 1, but the method has 1 inputs"},
      {{"run", abs, "--random", "--shape", "seven"}, "does not have the form INPUT=..."},
      {{"run", abs, "--value", "0=many"}, "does not end in a number"},
      {{"run", abs, "x.txt"}, ".safetensors or .npy"},
      {{"bench", abs}, "not a language model"},
  };
  for (const Case& c : cases) {
    const Finished finished = sconce(c.arguments);
    EXPECT_EQ(finished.exit_code, 1) << c.says;
    EXPECT_THAT(finished.error, AllOf(HasSubstr("error: "), HasSubstr(c.says)));
    EXPECT_EQ(finished.out, "") << c.says;
  }
}

TEST(Cli, ListsTheCatalogueByName) {
  const Finished finished = sconce({"operators"});
  EXPECT_EQ(finished.exit_code, 0);
  std::vector<std::string> names;
  for (size_t at = 0, end; (end = finished.out.find('\n', at)) != finished.out.npos; at = end + 1)
    names.push_back(finished.out.substr(at, end - at));
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_THAT(names, testing::IsSupersetOf({"aten.add.Tensor", "et_vk.rms_norm.default"}));
}

TEST(Cli, OneDeviceIsChosen) {
  const json devices = json_of(sconce({"devices", "--json"}));
  ASSERT_FALSE(devices.empty());
  size_t chosen = 0;
  for (const json& device : devices) {
    chosen += device["chosen"].get<bool>();
    EXPECT_GT(device["limits"]["max_storage_binding_bytes"].get<uint64_t>(), 0u);
  }
  EXPECT_EQ(chosen, 1u);
}

TEST(Cli, InspectsWithoutAGpu) {
  const json report = json_of(sconce({"inspect", kOps + "elementwise/abs.pte", "--json"}));
  EXPECT_TRUE(report["runnable"]);
  const json& method = report["methods"][0];
  EXPECT_EQ(method["name"], "forward");
  EXPECT_EQ(method["inputs"][0]["bound"], json({128, 5}));
  EXPECT_EQ(method["operators"]["aten.abs.default"]["runs_on"], "GPU");
}

TEST(Cli, ShowsAProgramThatCannotRun) {
  const json report = json_of(sconce({"inspect", kOps + "rejected/unknown_operators.pte", "--json"}));
  EXPECT_FALSE(report["runnable"]);
  size_t unsupported = 0;
  for (const json& use : report["methods"][0]["operators"]) unsupported += use["runs_on"] == "unsupported";
  EXPECT_GT(unsupported, 1u);
  EXPECT_THAT(report["problem"], HasSubstr("operator"));
}

TEST(Cli, RunsAFileAtALiveShape) {
  auto goldens = io::read_tensors(kOps + "elementwise/abs.safetensors");
  ASSERT_TRUE(goldens);
  const std::string npy = temporary("x.npy"), result = temporary("y.npy");
  ASSERT_TRUE(io::write_tensors(npy, {{"", goldens->at("2.in0")}}));
  const Finished finished = sconce({"run", kOps + "elementwise/abs.pte", npy, "--output", result, "--quiet"});
  EXPECT_EQ(finished.exit_code, 0) << finished.error;
  EXPECT_THAT(finished.out, HasSubstr("output 0: f32 [7, 5]"));
  EXPECT_EQ(finished.error, "");
  auto output = io::read_tensors(result);
  ASSERT_TRUE(output);
  EXPECT_EQ(output->at("").shape, (Shape{7, 5}));
  EXPECT_EQ(output->at("").bytes, goldens->at("2.out0").bytes) << "abs is exact";
}

TEST(Cli, RunsNamedTensorsAndTheSameRandomOnes) {
  auto goldens = io::read_tensors(kOps + "elementwise/abs.safetensors");
  ASSERT_TRUE(goldens);
  const std::string in = temporary("in.safetensors"), out = temporary("out.safetensors");
  ASSERT_TRUE(io::write_tensors(in, {{"in0", goldens->at("2.in0")}}));
  const std::string abs = kOps + "elementwise/abs.pte";
  EXPECT_EQ(sconce({"run", abs, in, "--output", out}).exit_code, 0);
  auto output = io::read_tensors(out);
  ASSERT_TRUE(output);
  EXPECT_EQ(output->at("out0").bytes, goldens->at("2.out0").bytes);

  auto random = [&](const char* seed) {
    return json_of(sconce({"run", abs, "--random", "--shape", "0=3,5", "--seed", seed, "--json"}))["outputs"][0];
  };
  const json first = random("1");
  EXPECT_EQ(first["shape"], json({3, 5}));
  EXPECT_EQ(random("1"), first);
  EXPECT_NE(random("2"), first);
}

TEST(Cli, EveryWayOfRunningGivesTheSame) {
  constexpr test::Tolerance kSumsInAnotherOrder = {.atol = 1e-5, .rtol = 1e-4};
  const std::string out = temporary("out.npy");
  auto outputs = [&](const std::vector<std::string>& way) {
    std::vector<std::string> arguments = {"run",      kOps + "models/llama.pte",
                                          "--random", "--high",
                                          "128",      "--shape",
                                          "0=1,19",   "--value",
                                          "1=0",      "--output",
                                          out};
    arguments.insert(arguments.end(), way.begin(), way.end());
    const Finished finished = sconce(arguments);
    EXPECT_EQ(finished.exit_code, 0) << finished.error;
    auto tensors = io::read_tensors(out);
    return tensors ? tensors->at("") : Tensor{};
  };
  const Tensor usual = outputs({});
  const std::vector<std::vector<std::string>> ways = {
      {"--no-fuse"}, {"--no-subgroups"}, {"--no-f16"}, {"--no-fuse", "--no-subgroups", "--no-f16"}, {"--fast"}};
  for (const auto& way : ways) EXPECT_EQ(test::difference(outputs(way), usual, kSumsInAnotherOrder), "") << way.front();
}

TEST(Cli, MeasuresALanguageModel) {
  const json report = json_of(sconce({"bench", kOps + "models/llama.pte", "--prefill", "1,3", "--decode", "2",
                                      "--context", "2,4", "--repeat", "2", "--json"}));
  EXPECT_EQ(report["prefill"].size(), 2u);
  EXPECT_EQ(report["prefill"][1]["tokens"], 3);
  ASSERT_EQ(report["decode"].size(), 4u) << "two contexts, without and with logits";
  EXPECT_EQ(report["decode"][0]["steps"], 2);
  EXPECT_EQ(report["decode"][3]["mode"], "logits");
  EXPECT_EQ(report["decode"][3]["context"], 4);
  for (const char* key :
       {"load_s", "replan_us", "peak_resident_bytes", "device_bytes", "state_bytes", "activation_bytes"})
    EXPECT_GT(report[key].get<double>(), 0) << key;
}

TEST(Cli, WritesATraceOfAModelsKernels) {
  const std::string trace = testing::TempDir() + "trace.json";
  const Finished done =
      sconce({"profile", kOps + "models/llama.pte", "--prefill", "3", "--decode", "2", "--trace", trace});
  ASSERT_EQ(done.exit_code, 0) << done.error;
  EXPECT_THAT(done.out, AllOf(HasSubstr("decode"), HasSubstr("sconce.sample"), HasSubstr("GB/s")));
  std::ifstream file(trace);
  const json events = json::parse(file)["traceEvents"];
  auto count = [&](const char* name) {
    return std::ranges::count_if(events, [&](const json& event) { return event["name"] == name; });
  };
  EXPECT_EQ(count("plan"), 3) << "a prefill and two steps";
  EXPECT_EQ(count("submit"), 3);
  EXPECT_EQ(count("sample_greedy"), 3);
}

TEST(Cli, MeasuresAProgramThatIsStrippedOfItsConstants) {
  const std::string stripped = testing::TempDir() + "llama.stripped";
  EXPECT_EQ(sconce({"strip", kOps + "models/llama.pte", stripped}).exit_code, 0);
  const Finished refused = sconce({"bench", stripped});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.error, HasSubstr("--fill-weights"));
  const json report = json_of(sconce({"bench", stripped, "--fill-weights", "--prefill", "3", "--decode", "2",
                                      "--context", "2", "--repeat", "1", "--json"}));
  EXPECT_EQ(report["filled_weights"], true);
  EXPECT_GT(report["prefill"][0]["seconds"].get<double>(), 0);
}

TEST(Cli, PredictsAPageAsTorchDoes) {
  const std::string golden = SCONCE_DEFAULT_GOLDENS_DIR "/page_64.safetensors";
  const json report =
      json_of(sconce({"perplexity", kModel, SCONCE_PAGE, "--tokens", "64", "--reference", golden, "--json"}));
  EXPECT_EQ(report["tokens"], 64);
  EXPECT_EQ(report["window"], 512);
  EXPECT_GT(report["tokens_per_s"].get<double>(), 0);
  const json& reference = report["reference"];
  EXPECT_NEAR(reference["perplexity_difference"].get<double>(), 0, 1e-5);
  EXPECT_LE(reference["worst_log_likelihood_difference"].get<double>(), 5e-4);
  EXPECT_EQ(reference["top1_agreed"].get<int>() + reference["top1_within_margin"].get<int>(), 64);
  EXPECT_TRUE(reference["disagreements"].empty());
}

// A small llama with a context of few tokens, beside a tokenizer whose tokens are bytes.
std::string tiny_model_directory() {
  const std::string directory = testing::TempDir() + "tiny_llama";
  std::filesystem::create_directories(directory);
  std::filesystem::copy_file(kOps + "models/llama.pte", directory + "/model.pte",
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(directory + "/tokenizer.json") << byte_level_tokenizer().dump();
  return directory;
}

TEST(Cli, PredictsInWindowsOfTheContext) {
  const std::string directory = tiny_model_directory(), page = temporary("page.txt");
  auto predict = [&](const std::string& text) {
    std::ofstream(page) << text;
    return json_of(sconce({"perplexity", directory, page, "--json"}));
  };
  const json first = predict("#$%");
  const size_t window = first["window"];
  ASSERT_GE(window, 3u);
  ASSERT_LE(window, 1024u);
  EXPECT_EQ(first["tokens"], 2);
  // A text that goes on where a window ends is predicted as two texts are, the token at the seam twice.
  std::string text;
  for (size_t i = 0; i < window + 3; ++i) text += static_cast<char>('!' + i % 7);
  const double all = std::log(predict(text)["perplexity"].get<double>()) * static_cast<double>(window + 2);
  const double before = std::log(predict(text.substr(0, window + 1))["perplexity"].get<double>());
  const double behind = std::log(predict(text.substr(window))["perplexity"].get<double>());
  EXPECT_NEAR(all, before * static_cast<double>(window) + behind * 2, 1e-6 * all);
}

TEST(Cli, SaysWhyATextCannotBePredicted) {
  const std::string directory = tiny_model_directory();
  auto file = [](const char* name, const char* content) {
    const std::string path = temporary(name);
    std::ofstream(path) << content;
    return path;
  };
  const std::string empty = file("empty.txt", ""), one = file("one.txt", "a"), three = file("three.txt", "!\"#");
  const std::string latin1 = file("latin1.txt", "caf\xe9"), letters = file("letters.txt", "\xc3\xbf\xc3\xbf");
  auto reference = [](const char* name, std::initializer_list<int64_t> tokens, Tensor log_likelihood) {
    const std::string path = temporary(name);
    const int64_t count = static_cast<int64_t>(tokens.size());
    EXPECT_TRUE(io::write_tensors(path, {{"tokens", Tensor::of<int64_t>({count}, tokens)},
                                         {"log_likelihood", std::move(log_likelihood)},
                                         {"top1", Tensor::zeros(Dtype::i64, {count - 1})},
                                         {"margin", Tensor::zeros(Dtype::f32, {count - 1})}}));
    return path;
  };
  const Tensor two = Tensor::zeros(Dtype::f64, {2});
  const std::string longer = reference("longer.safetensors", {36, 37, 38, 39}, Tensor::zeros(Dtype::f64, {3}));
  const std::string other = reference("other.safetensors", {36, 37, 39}, two);
  const std::string coarse = reference("coarse.safetensors", {36, 37, 38}, Tensor::zeros(Dtype::f32, {2}));
  const std::string logits = temporary("logits.safetensors");
  EXPECT_TRUE(io::write_tensors(logits, {{"tokens", Tensor::of<int64_t>({3}, {36, 37, 38})}}));
  struct Case {
    std::vector<std::string> arguments;
    std::string says;
  };
  const Case cases[] = {
      {{"/no/such/page.txt"}, "/no/such/page.txt cannot be read"},
      {{empty}, "is empty; give a text of two tokens or more"},
      {{one}, "has 1 token, but predicting 1 takes 2"},
      {{three, "--tokens", "3"}, "has 3 tokens, but predicting 3 takes 4"},
      {{latin1}, "UTF-8"},
      {{letters}, "they are not of the same model"},
      {{three, "--reference", "/no/such.safetensors"}, "/no/such.safetensors cannot be read"},
      {{three, "--reference", longer}, "has 'tokens' of i64 [4], but the text needs i64 [3]"},
      {{three, "--reference", other}, "has token 39 at position 2"},
      {{three, "--reference", coarse}, "has 'log_likelihood' of f32 [2], but the text needs f64 [2]"},
      {{three, "--reference", logits}, "has no tensor 'log_likelihood'"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> arguments = {"perplexity", directory};
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const Finished finished = sconce(arguments);
    EXPECT_EQ(finished.exit_code, 1) << c.says;
    EXPECT_THAT(finished.error, AllOf(HasSubstr("error: "), HasSubstr(c.says)));
    EXPECT_EQ(finished.out, "") << c.says;
  }
}

TEST(Cli, AnswersGreedilyAndStopsWhereItIsTold) {
  const std::vector<std::string> ask = {"generate", kModel, "What is the capital of France?", "--greedy", "--json"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), ask.begin(), ask.end());
    return json_of(sconce(more));
  };
  const json four = with({"--max-new-tokens", "4"});
  EXPECT_EQ(four["text"], "The capital of France");
  EXPECT_EQ(four["stop_reason"], "max_new_tokens");
  EXPECT_EQ(four["prompt_tokens"], 37);
  const json stopped = with({"--stop", " of"});
  EXPECT_EQ(stopped["text"], "The capital");
  EXPECT_EQ(stopped["stop_reason"], "stop_string");
}

TEST(Cli, StreamsTheAnswerAndClosesWithTheFigures) {
  const Finished finished =
      sconce({"generate", kModel, "--greedy", "--max-new-tokens", "4"}, "What is the capital of France?");
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.out, "The capital of France\n");
  EXPECT_THAT(finished.error,
              AllOf(HasSubstr("first token after"), HasSubstr("tokens/s"), HasSubstr("max_new_tokens")));
  EXPECT_EQ(finished.error.find('\033'), std::string::npos) << "no escape codes without a terminal";
}

TEST(Cli, AChatPrefillsOnlyWhatIsNew) {
  const Finished finished =
      sconce({"generate", kModel, "--chat", "--greedy", "--max-new-tokens", "3", "--system", "Hi"},
             "One.\nTwo.\n/reset\nOne.\n");
  EXPECT_EQ(finished.exit_code, 0) << finished.error;
  EXPECT_EQ(std::ranges::count(finished.out, '\n'), 3);
  std::vector<size_t> prefilled;
  for (size_t at = 0; (at = finished.error.find("prefill ", at)) != std::string::npos; ++at)
    prefilled.push_back(std::stoul(finished.error.substr(at + 8)));
  ASSERT_EQ(prefilled.size(), 3u) << finished.error;
  EXPECT_LT(prefilled[1], prefilled[0] + 3) << "the second turn repeats nothing of the first";
  EXPECT_LT(prefilled[2], prefilled[0]) << "the start of the conversation is still in the cache";
}

}  // namespace
}  // namespace sconce
