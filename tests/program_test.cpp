#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "program/reader.h"
#include "program/stripped.h"
#include "support/memory_source.h"
#include "support/pte_builder.h"

namespace sconce {
namespace {

using program::Program;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Program> read(std::vector<std::byte> bytes) {
  test::MemorySource source(std::move(bytes));
  return program::read_program(source);
}

template <typename T>
std::vector<T> numbers_at(const std::vector<std::byte>& file, const program::Range& range) {
  std::vector<T> result(range.size / sizeof(T));
  EXPECT_LE(range.offset + range.size, file.size());
  std::memcpy(result.data(), file.data() + range.offset, range.size);
  return result;
}

// The constants of the first delegate, in the order of their values.
std::vector<program::Constant> blob_constants(const Program& program, size_t delegate = 0) {
  std::vector<program::Constant> result;
  for (const auto& value : program.methods[0].delegates.at(delegate).blob->values)
    if (const auto* tensor = std::get_if<program::BlobTensor>(&value); tensor && tensor->constant)
      result.push_back(*tensor->constant);
  return result;
}

TEST(Reader, AsksForEachPartOnceAndNeverForWeights) {
  const auto file = test::fixture_bytes("program/split.pte");
  program::Reader reader({file.size()});
  std::vector<program::Range> asked;
  while (auto range = reader.next()) {
    asked.push_back(*range);
    ASSERT_TRUE(reader.supply(std::span(file).subspan(range->offset, range->size)));
  }
  ASSERT_EQ(asked.size(), 6u) << "head, program, and the heads and graphs of two delegates";
  EXPECT_EQ(asked[0].size, program::kFileHeadSize);
  auto program = std::move(reader).finish();
  ASSERT_TRUE(program);
  ASSERT_EQ(blob_constants(*program, 1).size(), 3u);
  for (const program::Constant& constant : blob_constants(*program, 1))
    for (const program::Range& range : asked)
      EXPECT_TRUE(constant.range.offset >= range.offset + range.size ||
                  constant.range.offset + constant.range.size <= range.offset);
}

TEST(Reader, SaysWhatItWaitsFor) {
  const auto file = test::fixture_bytes("program/split.pte");
  program::Reader reader({file.size()});
  auto wrong_size = reader.supply(std::span(file).first(10));
  ASSERT_FALSE(wrong_size);
  EXPECT_THAT(wrong_size.error().message, HasSubstr("asks for 64 bytes at offset 0, but 10 were supplied"));
  EXPECT_FALSE(std::move(reader).finish());
}

TEST(ReadProgram, KeepsConstantMethodsAsMetadata) {
  auto program = test::read_fixture("program/split.pte");
  ASSERT_TRUE(program) << program.error().to_string();
  auto metadata = program::metadata(*program);
  ASSERT_EQ(metadata.size(), 4u);
  EXPECT_EQ(std::get<int64_t>(metadata["get_max_rows"].at(0)), 16);
  EXPECT_EQ(metadata["get_eos_ids"].size(), 2u);
  EXPECT_EQ(std::get<double>(metadata["get_scale"].at(0)), 0.5);
  EXPECT_EQ(std::get<bool>(metadata["get_flag"].at(0)), true);
}

TEST(ReadProgram, FindsConstantsOfDelegatesUnderTheirKeys) {
  const auto file = test::fixture_bytes("program/symints.pte");
  auto program = read(file);
  ASSERT_TRUE(program) << program.error().to_string();
  auto constants = blob_constants(*program);
  ASSERT_EQ(constants.size(), 1u);
  std::vector<float> expected(64);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<float>(i);
  EXPECT_EQ(numbers_at<float>(file, constants[0].range), expected);
  EXPECT_EQ(constants[0].key.size(), 64u) << "the sha256 of the bytes";

  auto twins = test::read_fixture("program/shared_key.pte");
  constants = blob_constants(*twins);
  ASSERT_EQ(constants.size(), 4u) << "two weights and two biases";
  EXPECT_EQ(constants[0].key, constants[2].key);
  EXPECT_EQ(constants[0].range.offset, constants[2].range.offset);
}

TEST(ReadProgram, FindsFirstContentsOfMutableBuffers) {
  const auto file = test::fixture_bytes("program/initialized_buffer.pte");
  auto program = read(file);
  ASSERT_TRUE(program) << program.error().to_string();
  const auto& total = std::get<program::TensorSpec>(program->methods[0].values[0]);
  ASSERT_TRUE(total.initial);
  EXPECT_TRUE(total.mutable_state);
  EXPECT_EQ(numbers_at<float>(file, total.initial->range), std::vector<float>(8, 7.0f));
}

TEST(ReadProgram, FindsConstantsInDataFiles) {
  test::MemorySource pte(test::fixture_bytes("program/external.pte"));
  auto alone = program::read_program(pte);
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, ErrorCode::not_found);
  EXPECT_THAT(alone.error().message, HasSubstr(".ptd file"));

  // One file has the constants of kernel calls, the other those of the delegate.
  test::MemorySource first(test::fixture_bytes("program/external_0.ptd"));
  test::MemorySource second(test::fixture_bytes("program/external_1.ptd"));
  program::ByteSource* sources[] = {&pte, &first, &second};
  auto program = program::read_program(sources);
  ASSERT_TRUE(program) << program.error().to_string();
  const auto& order = std::get<program::TensorSpec>(program->methods[0].values[0]).constant;
  ASSERT_TRUE(order);
  const uint32_t file = order->range.source;
  ASSERT_TRUE(file == 1 || file == 2);
  EXPECT_THAT(numbers_at<int64_t>((file == 1 ? first : second).bytes(), order->range), ElementsAre(3, 1, 2, 0));
  auto weights = blob_constants(*program);
  ASSERT_EQ(weights.size(), 2u);
  EXPECT_EQ(weights[0].range.source, 3 - file);
}

TEST(ReadProgram, ReadsOldFilesWithConstantsInTheFlatbuffer) {
  test::PteParts parts{.buffer = 1, .args = {0, 0}};
  const auto file = parts.file();
  auto program = read(file);
  ASSERT_TRUE(program) << program.error().to_string();
  const auto& tensor = std::get<program::TensorSpec>(program->methods[0].values[0]);
  ASSERT_TRUE(tensor.constant);
  EXPECT_EQ(numbers_at<uint8_t>(file, tensor.constant->range), parts.constant);
}

TEST(ReadProgram, NamesWhatIsWrong) {
  using Parts = test::PteParts;
  struct Case {
    std::function<void(Parts&)> change;
    const char* message;
  };
  const Case cases[] = {
      {[](Parts& p) { p.dtype = wire::pte::ScalarType::SHORT; }, "torch's ScalarType 2"},
      {[](Parts& p) {
         p.sizes = {2, -2};
       },
       "A dim of -2 is outside"},
      {[](Parts& p) {
         p.sizes = {1 << 20, 1 << 20};
       },
       "more than 2^32-1 elements"},
      {[](Parts& p) {
         p.dim_order = {0, 0};
       },
       "[0, 0] does not permute 2 dims"},
      {[](Parts& p) { p.dim_order = {}; }, "[] does not permute 2 dims"},
      {[](Parts& p) { p.storage_offset = 4; }, "starts 4 elements into its storage"},
      {[](Parts& p) { p.dynamism = wire::pte::TensorShapeDynamism::DYNAMIC_UNBOUND; }, "no upper bound"},
      {[](Parts& p) { p.buffer = 2; }, "refers to constant 2, but it has 2 of them"},
      {[](Parts& p) {
         p.buffer = 1, p.sizes = {2, 3};
       },
       "constant 1 has 16 bytes, but its tensor has 24"},
      {[](Parts& p) {
         p.args = {0, 1};
       },
       "refers to value 1, but it has 1 of them"},
      {[](Parts& p) {
         p.args = {-1, 0};
       },
       "refers to value -1"},
      {[](Parts& p) { p.outputs = {3}; }, "refers to value 3"},
      {[](Parts& p) { p.op = 1; }, "refers to operator 1, but it has 1 of them"},
  };
  for (const Case& c : cases) {
    Parts parts;
    c.change(parts);
    auto program = read(parts.file());
    ASSERT_FALSE(program) << c.message;
    EXPECT_THAT(program.error().to_string(), HasSubstr(c.message));
    EXPECT_THAT(program.error().to_string(), HasSubstr("method forward"));
  }
}

TEST(ReadProgram, RefusesSmallFilesThatDescribeHugePrograms) {
  test::PteParts parts{.args = std::vector<int32_t>(10'000, 0), .calls = 10'000};
  auto program = read(parts.file());
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().message, HasSubstr("more values than its size can hold"));
}

TEST(ReadProgram, RefusesOtherFiles) {
  EXPECT_FALSE(read({}));
  std::vector<std::byte> text(100, std::byte{'x'});
  auto program = read(text);
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().message, HasSubstr("not an ExecuTorch program"));
  std::memcpy(text.data() + 4, "ET13", 4);
  EXPECT_EQ(read(text).error().code, ErrorCode::unsupported);
}

TEST(ReadBlob, FindsInlineConstants) {
  test::BlobParts parts{.constant_offset = 16, .area = 32};
  program::ItemBudget budget;
  auto blob = program::parse_blob(parts.flatbuffer(), {{}, {0, 1000, parts.area}}, {}, budget);
  ASSERT_TRUE(blob) << blob.error().to_string();
  const auto& constant = std::get<program::BlobTensor>(blob->values[0]).constant;
  ASSERT_TRUE(constant);
  EXPECT_EQ(constant->range.offset, 1016u);
  EXPECT_EQ(constant->range.size, 16u);
  EXPECT_EQ(blob->chain[0].node_id, 5u);
}

TEST(ReadBlob, NamesWhatIsWrong) {
  using Parts = test::BlobParts;
  struct Case {
    std::function<void(Parts&)> change;
    const char* message;
  };
  const Case cases[] = {
      {[](Parts& p) { p.area = 15; }, "16 bytes at offset 0 does not fit the delegate's 15 bytes"},
      {[](Parts& p) { p.constant_offset = UINT64_MAX - 3; }, "does not fit"},
      {[](Parts& p) { p.constant_length = 12; }, "has 12 bytes, but its tensor has 16"},
      {[](Parts& p) { p.key = "missing"; }, "data named 'missing', which is in no file"},
      {[](Parts& p) { p.key = "short"; }, "data named 'short' has 8 bytes, but its tensor has 16"},
      {[](Parts& p) { p.constant_id = 1; }, "refers to constant 1"},
      {[](Parts& p) {
         p.args = {0, 2};
       },
       "refers to value 2"},
      {[](Parts& p) { p.args = {}; }, "no name or no arguments"},
      {[](Parts& p) { p.op = ""; }, "no name or no arguments"},
      {[](Parts& p) { p.outputs = {7}; }, "refers to value 7"},
      {[](Parts& p) { p.dtype = wire::blob::DataType::UNSET; }, "element type 127"},
  };
  const program::NamedData named_data = {{"short", {{0, 0, 8}, "short"}}};
  for (const Case& c : cases) {
    Parts parts;
    c.change(parts);
    program::ItemBudget budget;
    auto blob = program::parse_blob(parts.flatbuffer(), {{}, {0, 1000, parts.area}}, named_data, budget);
    ASSERT_FALSE(blob) << c.message;
    EXPECT_THAT(blob.error().to_string(), HasSubstr(c.message));
  }
}

TEST(ReadBlob, ChecksItsHeader) {
  auto head_of = [](std::function<void(std::vector<uint8_t>&)> change) {
    // Header 30, flatbuffer 32+100, constants at 144, all that follows.
    std::vector<uint8_t> head = {0, 0, 0, 0, 'V', 'H', '0', '0', 30, 0, 32, 0, 0, 0, 100, 0, 0, 0, 144, 0, 0, 0};
    head.resize(32);
    change(head);
    return program::read_blob_head(std::as_bytes(std::span(head)), {0, 1000, 200});
  };
  auto good = head_of([](auto&) {});
  ASSERT_TRUE(good) << good.error().to_string();
  EXPECT_EQ(good->flatbuffer.offset, 1032u);
  EXPECT_EQ(good->constants.offset, 1144u);
  EXPECT_EQ(good->constants.size, 56u) << "a size of 0 stands for all that follows";
  EXPECT_FALSE(head_of([](auto& h) { h[4] = 'X'; }));
  EXPECT_FALSE(head_of([](auto& h) { h[8] = 29; }));
  EXPECT_FALSE(head_of([](auto& h) { h[10] = 29; })) << "the flatbuffer overlaps the header";
  EXPECT_FALSE(head_of([](auto& h) { h[14] = 0; })) << "an empty flatbuffer";
  EXPECT_FALSE(head_of([](auto& h) { h[18] = 131; })) << "the constants overlap the flatbuffer";
  EXPECT_FALSE(head_of([](auto& h) { h[18] = 201; })) << "the constants start behind the blob";
  EXPECT_FALSE(head_of([](auto& h) { h[22] = 57; })) << "the constants end behind the blob";
  EXPECT_FALSE(head_of([](auto& h) { h.resize(29); }));
}

// Where the last constant of a file ends; what follows is padding.
uint64_t end_of_data(const Program& program) {
  uint64_t end = 0;
  for (const auto& [key, constant] : program.named_data)
    end = std::max(end, constant.range.offset + constant.range.size);
  return end;
}

TEST(ReadProgram, RefusesEveryTruncation) {
  const auto file = test::fixture_bytes("program/split.pte");
  const uint64_t end = end_of_data(*read(file));
  ASSERT_GT(end, file.size() / 2);
  for (size_t size = 0; size < end; size += 64) {
    auto program = read({file.begin(), file.begin() + static_cast<ptrdiff_t>(size)});
    ASSERT_FALSE(program) << "cut at byte " << size;
    EXPECT_EQ(program.error().code, ErrorCode::corrupt_file) << program.error().to_string();
  }
}

TEST(ReadProgram, SurvivesBitFlips) {
  const auto file = test::fixture_bytes("program/split.pte");
  std::mt19937 random(7);
  int programs = 0, errors = 0;
  for (int i = 0; i < 2000; ++i) {
    auto flipped = file;
    flipped[random() % flipped.size()] ^= std::byte{1} << (random() % 8);
    auto program = read(std::move(flipped));
    ++(program ? programs : errors);
  }
  EXPECT_GT(programs, 100) << "flips in weights and padding go unseen";
  EXPECT_GT(errors, 100);
}

TEST(StrippedProgram, ReadsLikeTheWholeOneButForItsConstants) {
  test::MemorySource whole(test::fixture_bytes("ops/models/llama.pte"));
  auto stripped = program::strip(whole);
  ASSERT_TRUE(stripped) << stripped.error().to_string();
  EXPECT_LT(stripped->size(), whole.size() / 2);
  EXPECT_TRUE(program::is_stripped(*stripped));
  EXPECT_FALSE(program::is_stripped(whole.bytes()));

  auto source = program::StrippedSource::open(std::make_unique<test::MemorySource>(*stripped));
  ASSERT_TRUE(source) << source.error().to_string();
  EXPECT_EQ((*source)->size(), whole.size());
  auto again = program::strip(**source);
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(*again, *stripped) << "the same bytes are read of both";
  auto constant = (*source)->read(whole.size() - 16, 16);
  ASSERT_FALSE(constant);
  EXPECT_THAT(constant.error().message, HasSubstr("--fill-weights"));
}

TEST(StrippedProgram, RefusesWhatDoesNotFit) {
  test::MemorySource whole(test::fixture_bytes("ops/models/llama.pte"));
  const std::vector<std::byte> good = *program::strip(whole);
  auto opens = [](std::vector<std::byte> bytes) {
    return program::StrippedSource::open(std::make_unique<test::MemorySource>(std::move(bytes))).has_value();
  };
  ASSERT_TRUE(opens(good));
  for (size_t word : {16, 24, 32, 40}) {  // size, count, and a piece's offset and size, each far too large
    std::vector<std::byte> bad = good;
    std::fill_n(bad.begin() + static_cast<ptrdiff_t>(word == 16 ? 40 : word), 8, std::byte{0x7f});
    EXPECT_FALSE(opens(bad)) << word;
  }
  EXPECT_FALSE(opens({good.begin(), good.end() - 1})) << "cut short";
}

}  // namespace
}  // namespace sconce
