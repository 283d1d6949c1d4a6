// Decoding token by token gives what decoding all at once gives, in steps that do not get longer:
//
//   node test/text.mjs MODEL_DIR
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';

import { TextStream } from '../dist/text.js';

const read = (name) => JSON.parse(readFileSync(join(process.argv[2], name), 'utf8'));
const tokenizer = new Tokenizer(read('tokenizer.json'), read('tokenizer_config.json'));
const decodeAll = (ids) => tokenizer.decode(ids, { skip_special_tokens: true });

let failures = 0;
function expect(what, actual, wanted) {
  if (actual === wanted) return;
  ++failures;
  console.log(`${what} gives ${JSON.stringify(actual)} instead of ${JSON.stringify(wanted)}`);
}

let decoded = 0; // tokens that streams gave to the tokenizer
const stream = () => new TextStream((ids) => {
  decoded += ids.length;
  return decodeAll(ids);
});
function inPieces(ids) {
  const text = stream();
  return [...ids.map((id) => text.push(id)), text.end()];
}

const TEXTS = {
  sentences: 'The capital of France is Paris. It has 2,102,650 inhabitants.\n\n  * Louvre\n  * Sacré-Cœur',
  'characters split over tokens': 'naïve 日本語 한국어 🇫🇷 👩‍👩‍👧 \u{10ffff} ok',
  spaces: '   leading, trailing   ',
  code: 'for (int i = 0; i < n; ++i) {\n\t\tx[i] = "\\u00e9";\n}',
  nothing: '',
};
const encode = (text) => tokenizer.encode(text, { add_special_tokens: false }).ids;
for (const [name, text] of Object.entries(TEXTS)) {
  const ids = encode(text);
  const pieces = inPieces(ids);
  expect(name, pieces.join(''), text);
  expect(`${name}, whole characters: a piece with U+FFFD`, pieces.some((piece) => piece.includes('\ufffd')), false);
}

// A character that never ends, and one that ends late.
const split = encode('日');
expect('an unfinished character', inPieces(split.slice(0, -1)).join(''), decodeAll(split.slice(0, -1)));
expect('a character before its last byte', inPieces(split).slice(0, split.length - 1).join(''), '');

// Special tokens say nothing, and take nothing from the words around them.
const [special] = tokenizer.encode(read('tokenizer_config.json').eos_token, { add_special_tokens: false }).ids;
expect('special tokens', inPieces([special, ...encode(' a b'), special, special, ...encode(' c')]).join(''), ' a b c');

// Ten times as long an answer costs ten times as much.
const cost = (ids) => {
  decoded = 0;
  expect('a long text', inPieces(ids).join(''), decodeAll(ids));
  return decoded / ids.length;
};
const words = (count) => encode(Array.from({ length: count }, (_, i) => `word ${i} 日本`).join(' '));
const [short, long] = [cost(words(20)), cost(words(200))];
if (long > 1.1 * short) expect('tokens decoded for each token', long, short);
const invalid = cost(Array.from({ length: 2000 }, () => split[0])); // nothing but first bytes
if (invalid > 80) expect('tokens decoded for each invalid token', invalid, 'at most 80');

console.log(failures > 0 ? `${failures} expectations fail.` : `Pieces join to the whole text (${long.toFixed(1)} tokens decoded for each).`);
process.exit(failures > 0 ? 1 : 0);
