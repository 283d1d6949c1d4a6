// A delegate call becomes the nodes of its blob.
#pragma once

#include <string>
#include <vector>

#include "graph/method_values.h"

namespace sconce::graph {

// Adds the nodes of method.delegates[call.delegate], whose blob must be present. The blob's inputs are the method's
// values that the call passes; its outputs become the method's values that the call sets. Node names start with
// `prefix`.
//
// `constants` holds the values made of that blob's constants in earlier calls of the same delegate, so that state in it
// (KV caches) is the same in all of them; it has an entry for each value of the blob.
Result<void> inline_blob(const program::DelegateCall& call, const std::string& prefix, MethodValues& values,
                         GraphWriter& writer, std::vector<ValueId>& constants);

}  // namespace sconce::graph
