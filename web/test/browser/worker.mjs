// A worker that loads, answers, keeps weights, and says what is left.
import './watch.js';

const t = await import('./in_page.mjs');
const model = await t.loadChat();
const said = [await t.say(await model.chat(), 'w1 w2 w3'), await t.logitsOf(model)].join('|');
let cached = 0;
for (let i = 0; i < 2; ++i) {
  const kept = await t.loadLlama({ cache: true, progress: (progress) => (cached = progress.cached || cached) });
  kept.dispose();
}
model.dispose();
postMessage([said, cached, await t.buffersLeft()]);
