//! A tokenizer.json: text to ids and back.

/// A loaded tokenizer. Truncation and padding that the file asks for are off: a prompt is encoded whole.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
}

impl Tokenizer {
    pub fn load(json: &[u8]) -> Result<Self, String> {
        let mut inner = tokenizers::Tokenizer::from_bytes(json).map_err(|e| e.to_string())?;
        inner.with_truncation(None).map_err(|e| e.to_string())?;
        inner.with_padding(None);
        Ok(Self { inner })
    }

    pub fn encode(&self, text: &str, add_special_tokens: bool) -> Result<Vec<i32>, String> {
        let encoding = self.inner.encode_fast(text, add_special_tokens).map_err(|e| e.to_string())?;
        encoding.get_ids().iter().map(|&id| to_i32(id)).collect()
    }

    pub fn decode(&self, ids: &[i32], skip_special_tokens: bool) -> Result<String, String> {
        let known = ids.iter().map(|&id| self.known(id)).collect::<Result<Vec<u32>, String>>()?;
        self.decode_known(&known, skip_special_tokens)
    }

    /// Decodes ids that `known` has checked. (The crate itself drops unknown ids without a word.)
    pub fn decode_known(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String, String> {
        self.inner.decode(ids, skip_special_tokens).map_err(|e| e.to_string())
    }

    /// The id as the crate takes it, if a token has it.
    pub fn known(&self, id: i32) -> Result<u32, String> {
        u32::try_from(id)
            .ok()
            .filter(|&id| self.inner.id_to_token(id).is_some())
            .ok_or_else(|| format!("no token has the id {id}; the vocabulary has {} tokens", self.vocab_size()))
    }

    pub fn is_special(&self, id: u32) -> bool {
        let token = self.inner.id_to_token(id);
        token.is_some_and(|token| self.inner.get_added_vocabulary().is_special_token(&token))
    }

    pub fn token_id(&self, token: &str) -> Option<i32> {
        self.inner.token_to_id(token).and_then(|id| to_i32(id).ok())
    }

    pub fn vocab_size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }
}

fn to_i32(id: u32) -> Result<i32, String> {
    i32::try_from(id).map_err(|_| format!("the token id {id} does not fit 32 bits with a sign"))
}
