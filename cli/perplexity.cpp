// sconce perplexity: how well a language model predicts a text, and whether it does so as torch does.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "cli/likelihood.h"
#include "cli/load.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "io/files.h"
#include "io/tensor_files.h"
#include "sconce/generator.h"
#include "text/model_directory.h"

namespace sconce::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string model, text, reference;
  std::optional<size_t> tokens;
  double margin = 1e-3;
  bool json = false;
};

struct Report {
  std::vector<int32_t> tokens;  // the text's; all but the first are predicted
  std::vector<Prediction> predictions;
  size_t window = 0;
  double seconds = 0;
  std::optional<Comparison> comparison;
  std::optional<Reference> reference;
};

std::vector<double> log_likelihoods(const Report& report) {
  std::vector<double> values;
  for (const Prediction& prediction : report.predictions) values.push_back(prediction.log_likelihood);
  return values;
}

// The tokens of the text file up to the last one that is to be predicted.
Result<std::vector<int32_t>> read_tokens(const Options& options, const Tokenizer& tokenizer) {
  SCONCE_TRY(std::vector<std::byte> bytes, io::read_file(options.text));
  SCONCE_CHECK(!bytes.empty(), "{} is empty; give a text of two tokens or more.", options.text);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  SCONCE_TRY(std::vector<int32_t> tokens, tokenizer.encode(text, true));
  const size_t least = options.tokens.value_or(1) + 1;
  SCONCE_CHECK(tokens.size() >= least,
               "{} has {}, but predicting {} takes {}, since nothing comes before the first; give a longer text.",
               options.text, count_of(tokens.size(), "token"), least - 1, least);
  if (options.tokens) tokens.resize(least);
  return tokens;
}

// A tensor of the reference file as a vector. Its length is part of the check.
template <typename T>
Result<std::vector<T>> read_reference_tensor(const Options& options, const io::NamedTensors& tensors, const char* name,
                                             size_t count) {
  const auto found = tensors.find(name);
  if (found == tensors.end())
    return fail(ErrorCode::not_found,
                "{} has no tensor '{}'; make a reference with `python -m tools.export.reference --score`.",
                options.reference, name);
  const Tensor& tensor = found->second;
  SCONCE_CHECK(tensor.dtype == dtype_of<T> && tensor.shape == Shape{static_cast<int64_t>(count)},
               "{} has '{}' of {} {}, but the text needs {} [{}]; make the reference from the same text and as many "
               "tokens (--tokens).",
               options.reference, name, name_of(tensor.dtype), tensor.shape.to_string(), name_of(dtype_of<T>), count);
  return std::vector<T>(tensor.as<T>().begin(), tensor.as<T>().end());
}

Result<Reference> read_reference(const Options& options, const std::vector<int32_t>& tokens) {
  SCONCE_TRY(const io::NamedTensors tensors, io::read_tensors(options.reference));
  SCONCE_TRY(const std::vector<int64_t> fed, read_reference_tensor<int64_t>(options, tensors, "tokens", tokens.size()));
  const auto [theirs, ours] = std::ranges::mismatch(fed, tokens);
  SCONCE_CHECK(theirs == fed.end(),
               "{} has token {} at position {}, but {} has {} there; make the reference from the same text with the "
               "same tokenizer.",
               options.reference, *theirs, theirs - fed.begin(), options.text, *ours);
  const size_t count = tokens.size() - 1;
  Reference reference;
  SCONCE_TRY(reference.log_likelihood, read_reference_tensor<double>(options, tensors, "log_likelihood", count));
  SCONCE_TRY(reference.top1, read_reference_tensor<int64_t>(options, tensors, "top1", count));
  SCONCE_TRY(reference.margin, read_reference_tensor<float>(options, tensors, "margin", count));
  return reference;
}

// Predicts each token from those before it in its window. The exporter's programs give the logits of a run's last token
// alone, so every token is a run of its own: the generator keeps the cache and runs only the one that is new.
Result<std::vector<Prediction>> predict_all(Generator& generator, std::span<const int32_t> tokens, ProgressBar& bar) {
  const int32_t largest = std::ranges::max(tokens);
  SCONCE_CHECK(static_cast<size_t>(largest) < generator.vocabulary(),
               "The tokenizer gives token {}, but the program has {} logits; they are not of the same model.", largest,
               generator.vocabulary());
  const size_t window = generator.context_length();
  std::vector<Prediction> predictions;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (interrupted()) return fail(ErrorCode::cancelled, "The measurement is interrupted.");
    const size_t start = i / window * window;
    SCONCE_DO(generator.begin(tokens.subspan(start, i + 1 - start), {.max_new_tokens = 1, .read_logits = true}));
    SCONCE_DO(generator.next());
    predictions.push_back(predict(generator.logits(), tokens[i + 1]));
    if (std::isnan(predictions.back().log_likelihood))
      return fail(ErrorCode::internal, "Logits behind token {} of the text are not numbers.", i);
    bar.show("Predicting", i + 1, tokens.size() - 1);
  }
  return predictions;
}

nlohmann::ordered_json to_json(const Report& report, const Options& options, const AdapterInfo& adapter) {
  const size_t count = report.predictions.size();
  nlohmann::ordered_json json = {
      {"perplexity", perplexity(log_likelihoods(report))},
      {"tokens", count},
      {"window", report.window},
      {"seconds", report.seconds},
      {"tokens_per_s", per_second(static_cast<double>(count), report.seconds)},
      {"adapter", adapter.to_string()},
  };
  if (!report.comparison) return json;
  const Comparison& comparison = *report.comparison;
  nlohmann::ordered_json disagreements = nlohmann::ordered_json::array();
  for (size_t i : comparison.disagreed)
    disagreements.push_back({{"position", i},
                             {"token", report.predictions[i].top1},
                             {"reference_token", report.reference->top1[i]},
                             {"margin", report.reference->margin[i]}});
  json["reference"] = {
      {"perplexity", comparison.perplexity},
      {"perplexity_difference", comparison.difference},
      {"worst_log_likelihood_difference", comparison.worst_log_likelihood},
      {"top1_agreed", comparison.agreed},
      {"margin_tolerance", options.margin},
      {"top1_within_margin", comparison.close},
      {"disagreements", std::move(disagreements)},
  };
  return json;
}

void print(const Report& report, const Options& options, const AdapterInfo& adapter) {
  const size_t count = report.predictions.size();
  fmt::print("perplexity {:.4f} over {}, in windows of {}\n", perplexity(log_likelihoods(report)),
             count_of(count, "token"), report.window);
  fmt::print("{:.1f} tokens/s in {:.1f} s on {}\n", per_second(static_cast<double>(count), report.seconds),
             report.seconds, adapter.name);
  if (!report.comparison) return;
  const Comparison& comparison = *report.comparison;
  fmt::print("reference: perplexity {:.4f}, which differs by {:+.4f} %; log-likelihoods differ by {:.1e} at most\n",
             comparison.perplexity, 100 * comparison.difference, comparison.worst_log_likelihood);
  fmt::print("top-1 token: the same at {} of {} positions; at {} another one within a margin of {}, at {} beyond it\n",
             comparison.agreed, count, comparison.close, options.margin, comparison.disagreed.size());
  for (size_t i : comparison.disagreed)
    fmt::print("  position {}: token {} instead of {}, whose margin is {:.2e}\n", i, report.predictions[i].top1,
               report.reference->top1[i], report.reference->margin[i]);
}

Result<ExitCode> measure_perplexity(const Options& options, const GlobalOptions& globals) {
  Report report;
  SCONCE_TRY(const ModelDirectory directory, ModelDirectory::open(options.model));
  SCONCE_TRY(report.tokens, read_tokens(options, directory.tokenizer));
  if (!options.reference.empty()) {
    SCONCE_TRY(report.reference, read_reference(options, report.tokens));
  }
  SCONCE_TRY(Device device, open_device(globals));
  SCONCE_TRY(Model model, load_model(device, options.model, globals));
  SCONCE_TRY(Generator generator, Generator::create(model));
  report.window = generator.context_length();
  {
    ProgressBar bar(!globals.quiet);
    const auto start = Clock::now();
    SCONCE_TRY(report.predictions, predict_all(generator, report.tokens, bar));
    report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  if (report.reference) report.comparison = compare(report.predictions, *report.reference, options.margin);
  if (options.json)
    print_json(to_json(report, options, device.adapter()));
  else
    print(report, options, device.adapter());
  return kOk;
}

}  // namespace

void add_perplexity(CLI::App& app, Action& action) {
  auto [command, options] = add_command<Options>(
      app, action, "perplexity", "Measure how well a language model predicts a text", measure_perplexity);
  command->add_option("model", options->model, "A model directory: model.pte, tokenizer.json and their like")
      ->required()
      ->type_name("MODEL_DIR");
  command->add_option("text", options->text, "A text file in UTF-8")->required()->type_name("FILE");
  command->add_option("--tokens", options->tokens, "Predict only the first N tokens (default: all)")
      ->check(whole_number(1))
      ->type_name("N");
  command->add_option("--reference", options->reference, "Compare with these predictions, which torch made")
      ->type_name("FILE.safetensors");
  command
      ->add_option("--margin", options->margin,
                   "Another top-1 token counts as close where the reference prefers its own by so little")
      ->check(number_between(0))
      ->type_name("LOGITS")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      R"(Perplexity is e to the mean negative log-likelihood of the tokens, each predicted from those before it in
its window; a window is as long as the model's context, and windows do not overlap. The text's first token
is not predicted. Tokens are run one by one, as decode steps. A reference is made from the same weights by
  python -m tools.export.reference --gguf GGUF --model MODEL_DIR --score FILE --scores FILE.safetensors

Examples:
  sconce perplexity MODEL_DIR page.txt
  sconce perplexity MODEL_DIR page.txt --half-caches --tokens 512 --reference page_512.safetensors --json)");
}

}  // namespace sconce::cli
