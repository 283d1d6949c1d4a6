//! Tokenizers and chat templates for Sconce: the crates `tokenizers` and `minijinja` behind a small C interface.
//!
//! `interface` holds every `extern "C"` function; its C++ side is `rust_interface.h`. The other modules are safe Rust
//! that returns errors as text.

mod chat_template;
mod interface;
mod stream;
mod template_functions;
mod tokenizer;
