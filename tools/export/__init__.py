"""Turns llama-family GGUF files into model directories that Sconce runs, by ExecuTorch's own exporter."""
