//! Decoding one id at a time, for showing an answer while it is generated.

use std::sync::Arc;

use crate::tokenizer::Tokenizer;

/// What decoding yields for bytes that are not (yet) a character.
const REPLACEMENT: char = '\u{FFFD}';
/// A character spans at most four tokens. More are held so that invalid bytes look as in one piece, but not without
/// end: the cost of a step grows with what is held.
const MAX_HELD: usize = 32;

/// Yields text as soon as its characters are complete.
///
/// What a token decodes to depends on the tokens before it: the first word loses its space, and a character may be
/// split over tokens. So each step decodes a short window, the tokens shown last and those held back, and yields what
/// the window says beyond the tokens shown. The cost of a step does not grow with the length of the answer.
pub struct Stream {
    tokenizer: Arc<Tokenizer>,
    skip_special_tokens: bool,
    window: Vec<u32>,
    shown: usize, // how many tokens of the window were yielded before
}

impl Stream {
    pub fn new(tokenizer: Arc<Tokenizer>, skip_special_tokens: bool) -> Self {
        Self { tokenizer, skip_special_tokens, window: Vec::new(), shown: 0 }
    }

    /// The text that `id` completes; empty while a character is incomplete.
    pub fn push(&mut self, id: i32) -> Result<String, String> {
        let id = self.tokenizer.known(id)?;
        if self.skip_special_tokens && self.tokenizer.is_special(id) {
            return Ok(String::new());
        }
        self.window.push(id);
        let text = self.unseen()?;
        let undecided = text.is_empty() || text.ends_with(REPLACEMENT);
        if undecided && self.window.len() - self.shown <= MAX_HELD {
            return Ok(String::new());
        }
        self.window.drain(..self.shown);
        self.shown = self.window.len();
        Ok(text)
    }

    /// What is still held back, with U+FFFD for incomplete characters. The stream starts anew.
    pub fn finish(&mut self) -> Result<String, String> {
        let text = self.unseen();
        self.window.clear();
        self.shown = 0;
        text
    }

    fn unseen(&self) -> Result<String, String> {
        let shown = self.decode(&self.window[..self.shown])?;
        let all = self.decode(&self.window)?;
        match all.strip_prefix(&shown) {
            Some(text) => Ok(text.to_owned()),
            // An invalid byte spoils the characters beside it in some decoders; text that was shown stays shown.
            None => self.decode(&self.window[self.shown..]),
        }
    }

    fn decode(&self, ids: &[u32]) -> Result<String, String> {
        self.tokenizer.decode_known(ids, self.skip_special_tokens)
    }
}
