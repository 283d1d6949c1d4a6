"""Sizes of published llamas, by name, as params.json of ExecuTorch's llama has them.

They are those of the models' own config.json (hidden_size, intermediate_size, num_attention_heads, num_key_value_heads,
num_hidden_layers, vocab_size, rms_norm_eps, rope_theta, rope_scaling.factor): meta-llama/Llama-3.2-1B,
meta-llama/Llama-3.2-3B, meta-llama/Llama-3.1-8B and HuggingFaceTB/SmolLM2-135M.
"""

LLAMA_3 = {"vocab_size": 128256, "norm_eps": 1e-5, "rope_theta": 500000.0, "use_scaled_rope": True}

GEOMETRIES = {
    "llama-3.2-1b": LLAMA_3
    | {"dim": 2048, "hidden_dim": 8192, "n_heads": 32, "n_kv_heads": 8, "n_layers": 16, "rope_scale_factor": 32},
    "llama-3.2-3b": LLAMA_3
    | {"dim": 3072, "hidden_dim": 8192, "n_heads": 24, "n_kv_heads": 8, "n_layers": 28, "rope_scale_factor": 32},
    "llama-3.1-8b": LLAMA_3
    | {"dim": 4096, "hidden_dim": 14336, "n_heads": 32, "n_kv_heads": 8, "n_layers": 32, "rope_scale_factor": 8},
    "smollm2-135m": {
        "dim": 576,
        "hidden_dim": 1536,
        "n_heads": 9,
        "n_kv_heads": 3,
        "n_layers": 30,
        "vocab_size": 49152,
        "norm_eps": 1e-5,
        "rope_theta": 100000.0,
        "use_scaled_rope": False,
    },
}
