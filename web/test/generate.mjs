// An answer in Node: node test/generate.mjs MODEL_DIR [question]. Greedy, so that it can be compared with the native command.
import { openAsBlob, readdirSync } from 'node:fs';
import { join } from 'node:path';

import './node_device.mjs';
import { Sconce } from '../dist/index.js';

const [directory, question = 'What is the capital of France?'] = process.argv.slice(2);
const files = await Promise.all(readdirSync(directory).map(async (name) => new File([await openAsBlob(join(directory, name))], name)));
const model = await Sconce.load(files);
const chat = await model.chat();
let answer = '';
for await (const piece of chat.send(question, { temperature: 0, maxNewTokens: 40 })) {
  answer += piece;
  process.stdout.write(piece);
}
const { promptTokens, newTokens, firstTokenSeconds, decodeTokensPerSecond, stopReason } = chat.times;
console.log(`\n(${promptTokens} + ${newTokens} tokens, first after ${firstTokenSeconds.toFixed(2)} s, ${decodeTokensPerSecond.toFixed(2)} tokens/s, ${stopReason})`);
model.dispose();
process.exit(answer === '' ? 1 : 0);
