"""Drives ExecuTorch's llama exporter (what its export_llm command runs) one stage at a time.

The stages are the exporter's own, so that a caller can show progress between them, and so that the reference can
take the quantized eager model that the program is traced from.
"""

import json
import logging
import pathlib

import torch


def write_checkpoint(llama, folder):
    """Writes params.json and checkpoint.pth, which the exporter reads."""
    (folder / "params.json").write_text(json.dumps(llama.params))
    torch.save(llama.checkpoint(), folder / "checkpoint.pth")


def llm_config(folder, options, quantized=True):
    """The exporter's configuration for the params.json and checkpoint.pth in `folder`; `quantized`: it quantizes them."""
    from executorch.extension.llm.export.config import llm_config as schema

    config = schema.LlmConfig()
    # This class takes the rope scale factor from params.json; others replace it. It changes nothing else.
    config.base.model_class = schema.ModelType.llama3_1
    config.base.params = str(folder / "params.json")
    config.base.checkpoint = str(folder / "checkpoint.pth")
    config.model.use_kv_cache = True
    config.model.use_sdpa_with_kv_cache = True
    config.model.enable_dynamic_shape = True
    config.model.dtype_override = schema.DtypeOverride.fp32
    config.export.max_seq_length = options.max_seq_length
    config.export.max_context_length = options.max_context_length
    config.export.output_dir = str(folder)
    if quantized:
        config.quantization.qmode = options.quantization
        config.quantization.group_size = options.group_size
        config.quantization.embedding_quantize = options.embedding_quantize
        config.quantization.use_hqq = False
    config.backend.vulkan.enabled = True
    return config


def quantize(config):
    """Loads the checkpoint and applies the exporter's source transformations; .model is the quantized eager model."""
    from executorch.examples.models.llama import export_llama_lib

    logging.disable(logging.INFO)  # the exporter logs thousands of lines
    return export_llama_lib._prepare_for_llama_export(config)


def trace(builder):
    """torch.export of the quantized model."""
    exported = builder.export()
    exported.run_canonical_optimizations()
    return exported.pt2e_quantize([])


def lower(exported):
    """Edge dialect, then the delegate."""
    from executorch.extension.llm.export.partitioner_lib import get_vulkan_partitioner

    partitioner = get_vulkan_partitioner("fp32", enable_dynamic_shape=True, force_fp16=False)
    return exported.export_to_edge().to_backend([partitioner])


def serialize(lowered, path):
    """Plans memory and writes the .pte file."""
    program = lowered.to_executorch()
    program.save_to_pte(str(path))
    return pathlib.Path(path)
