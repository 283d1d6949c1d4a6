// A model directory around the fixture llama.pte, whose weights are made up: a word for each of its 128 tokens.
export const words = Array.from({ length: 128 }, (_, i) => `w${i}`);

const tokenizer = {
  version: '1.0', added_tokens: [], normalizer: null, pre_tokenizer: { type: 'WhitespaceSplit' }, post_processor: null,
  decoder: { type: 'WordPiece', prefix: '##', cleanup: false },
  model: { type: 'WordPiece', vocab: Object.fromEntries(words.map((word, i) => [word, i])), unk_token: 'w0', continuing_subword_prefix: '##', max_input_chars_per_word: 100 },
};

/** Its files; `program`: the bytes of llama.pte. */
export function chatFiles(program, endTokens = []) {
  const json = (name, contents) => new File([JSON.stringify(contents)], name);
  return [
    new File([program], 'model.pte'), json('tokenizer.json', tokenizer), json('tokenizer_config.json', {}),
    new File(['{% for message in messages %}{{ message.content }} {% endfor %}'], 'chat_template.jinja'),
    json('generation_config.json', { eos_token_id: endTokens }),
  ];
}
