//! The C interface. `rust_interface.h` declares the same types and functions for C++.
//!
//! Nothing is allocated on one side and freed on the other, except the handles: a call hands its result, or its error
//! as UTF-8 text, to a function of the caller (`Reply`). No panic leaves a call; it becomes an error.

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

use crate::chat_template::{ChatTemplate, Message};
use crate::stream::Stream;
use crate::tokenizer::Tokenizer;

/// Takes `count` items, bytes or i32 as the call says. The items live until the function returns.
type Sink = extern "C" fn(target: *mut c_void, items: *const c_void, count: usize);

#[repr(C)]
pub struct Reply {
    target: *mut c_void,
    value: Sink,
    error: Sink,
}

impl Reply {
    fn value<T>(&self, items: &[T]) {
        (self.value)(self.target, items.as_ptr().cast(), items.len());
    }

    fn error(&self, message: &str) {
        (self.error)(self.target, message.as_ptr().cast(), message.len());
    }
}

/// Borrowed bytes of the caller; `data` may be null when `size` is 0.
#[repr(C)]
pub struct Bytes {
    data: *const u8,
    size: usize,
}

/// Two texts: role and content of a message, or name and value of a variable.
#[repr(C)]
pub struct Pair {
    first: Bytes,
    second: Bytes,
}

/// SAFETY: `data` points to `count` values that live through 'a, or `count` is 0.
unsafe fn slice<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, count) } }
}

impl Bytes {
    /// SAFETY: as for `slice`.
    unsafe fn get<'a>(&self) -> &'a [u8] {
        unsafe { slice(self.data, self.size) }
    }

    /// SAFETY: as for `slice`.
    unsafe fn text<'a>(&self) -> Result<&'a str, String> {
        std::str::from_utf8(unsafe { self.get() })
            .map_err(|e| format!("the text is not UTF-8 at byte {}", e.valid_up_to()))
    }
}

/// SAFETY: as for `slice`, for the array and for its texts.
unsafe fn pairs<'a>(data: *const Pair, count: usize) -> Result<Vec<(&'a str, &'a str)>, String> {
    let pairs: &[Pair] = unsafe { slice(data, count) };
    pairs.iter().map(|pair| unsafe { Ok((pair.first.text()?, pair.second.text()?)) }).collect()
}

/// Runs `work`; an error or a panic goes to the reply.
fn attempt<T>(reply: &Reply, work: impl FnOnce() -> Result<T, String>) -> Option<T> {
    static QUIET: Once = Once::new();
    // The default hook prints to stderr, but the message reaches the caller as an error.
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let outcome = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panic_message(&*panic)));
    outcome.inspect_err(|message| reply.error(message)).ok()
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("the text library stops at a defect of its own: {}", text.unwrap_or("no message"))
}

fn give<T>(reply: &Reply, items: Option<impl AsRef<[T]>>) -> bool {
    items.map(|items| reply.value(items.as_ref())).is_some()
}

fn handle<T>(value: Option<T>) -> *mut T {
    value.map_or(std::ptr::null_mut(), |value| Box::into_raw(Box::new(value)))
}

// SAFETY, for all functions below: handles come from the matching load or new function and are not yet freed, a handle
// is used by one thread at a time, and texts and arrays follow the rule of `slice`.

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_text_tokenizer_load(json: Bytes, reply: &Reply) -> *mut Arc<Tokenizer> {
    handle(attempt(reply, || Tokenizer::load(unsafe { json.get() }).map(Arc::new)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_text_tokenizer_free(tokenizer: *mut Arc<Tokenizer>) {
    drop(unsafe { Box::from_raw(tokenizer) });
}

/// The reply takes i32 ids.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_text_tokenizer_encode(
    tokenizer: &Arc<Tokenizer>,
    text: Bytes,
    add_special_tokens: bool,
    reply: &Reply,
) -> bool {
    give::<i32>(reply, attempt(reply, || tokenizer.encode(unsafe { text.text() }?, add_special_tokens)))
}

/// The reply takes UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_text_tokenizer_decode(
    tokenizer: &Arc<Tokenizer>,
    ids: *const i32,
    count: usize,
    skip_special_tokens: bool,
    reply: &Reply,
) -> bool {
    give::<u8>(reply, attempt(reply, || tokenizer.decode(unsafe { slice(ids, count) }, skip_special_tokens)))
}

/// -1 when there is no such token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_text_tokenizer_token_id(tokenizer: &Arc<Tokenizer>, token: Bytes) -> i32 {
    unsafe { token.text() }.ok().and_then(|token| tokenizer.token_id(token)).unwrap_or(-1)
}

#[unsafe(no_mangle)]
pub extern "C" fn sconce_text_tokenizer_vocab_size(tokenizer: &Arc<Tokenizer>) -> usize {
    tokenizer.vocab_size()
}

/// The stream keeps the tokenizer alive.
#[unsafe(no_mangle)]
pub extern "C" fn sconce_text_stream_new(tokenizer: &Arc<Tokenizer>, skip_special_tokens: bool) -> *mut Stream {
    handle(Some(Stream::new(Arc::clone(tokenizer), skip_special_tokens)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_text_stream_free(stream: *mut Stream) {
    drop(unsafe { Box::from_raw(stream) });
}

/// The reply takes UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn sconce_text_stream_push(stream: &mut Stream, id: i32, reply: &Reply) -> bool {
    give::<u8>(reply, attempt(reply, || stream.push(id)))
}

/// The reply takes UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn sconce_text_stream_finish(stream: &mut Stream, reply: &Reply) -> bool {
    give::<u8>(reply, attempt(reply, || stream.finish()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_text_chat_template_load(source: Bytes, reply: &Reply) -> *mut ChatTemplate {
    handle(attempt(reply, || ChatTemplate::load(unsafe { source.text() }?)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_text_chat_template_free(template: *mut ChatTemplate) {
    drop(unsafe { Box::from_raw(template) });
}

/// `messages` are pairs of role and content, `variables` of name and value. The reply takes UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_text_chat_template_render(
    template: &ChatTemplate,
    messages: *const Pair,
    message_count: usize,
    variables: *const Pair,
    variable_count: usize,
    add_generation_prompt: bool,
    reply: &Reply,
) -> bool {
    let text = attempt(reply, || {
        let messages = unsafe { pairs(messages, message_count) }?;
        let messages: Vec<_> = messages.into_iter().map(|(role, content)| Message { role, content }).collect();
        let variables = unsafe { pairs(variables, variable_count) }?;
        template.render(&messages, &variables, add_generation_prompt)
    });
    give::<u8>(reply, text)
}
