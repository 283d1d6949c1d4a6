// Logits under forced tokens against torch, in Node: node test/logits.mjs MODEL_DIR GOLDENS_DIR
import { openAsBlob, readFileSync } from 'node:fs';
import { join } from 'node:path';

import './node_device.mjs';
import * as sconce from '../dist/index.js';
import { compareLogits } from './forced.mjs';

const [directory, goldens] = process.argv.slice(2);
const model = await sconce.Sconce.load(await openAsBlob(join(directory, 'model.pte')));
const golden = (length) => new Uint8Array(readFileSync(join(goldens, `prefill_${length}.safetensors`)));
const { wrong, said } = await compareLogits(sconce, model, golden, [64, 255, 7, 128, 2, 37, 1], 16);
console.log(`${said}.`);
if (wrong) console.log(wrong);
model.dispose();
process.exit(wrong ? 1 : 0);
