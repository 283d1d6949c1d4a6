// SmolLM2's logits under forced tokens against torch, as tests/logits_test.cpp compares them natively: prefills in an order
// without equal neighbours, each followed by forced decode steps, in one session. For Node and for a page.
import { parseTensors } from './cases.mjs';

export const LOGIT_TOLERANCE = 5e-4; // that of the native test

/** Two largest values of a row, and the index of the largest. */
function greatest(row) {
  let index = 0, first = -Infinity, second = -Infinity;
  for (const [i, value] of row.entries())
    if (value > first) [second, first, index] = [first, value, i];
    else if (value > second) second = value;
  return { index, margin: first - second };
}

/**
 * `lengths`: of prefills; `steps`: decode steps after each; `golden(length)` gives the bytes of a golden file. What is
 * wrong, and a sentence with the worst difference.
 */
export async function compareLogits({ tensor }, model, golden, lengths, steps) {
  const session = await model.method();
  let wrong = '', worst = 0, rows = 0, decided = 0, agreed = 0;
  for (const length of lengths) {
    const { tokens, logits } = parseTensors(await golden(length)).tensors;
    const vocabulary = logits.shape.at(-1);
    for (let step = 0; step <= steps; ++step) {
      const [first, count] = step === 0 ? [0, length] : [length + step - 1, 1];
      const ids = tokens.data.subarray(first, first + count);
      const [output] = await session.run([tensor('i64', [1, count], ids), tensor('i64', [1], [first])]);
      const [ours, torch] = [output.data, logits.data.subarray(step * vocabulary, (step + 1) * vocabulary)];
      if (ours.length !== vocabulary) return { wrong: `${ours.length} logits instead of ${vocabulary}` };
      let difference = 0;
      for (let i = 0; i < vocabulary; ++i) difference = Math.max(difference, Math.abs(ours[i] - torch[i])); // NaN stays
      if (!(difference <= LOGIT_TOLERANCE)) wrong += `${count} tokens at position ${first} differ by ${difference}. `;
      worst = Math.max(worst, difference);
      ++rows;
      const { index, margin } = greatest(torch);
      if (margin <= 2 * LOGIT_TOLERANCE) continue; // too close for either side to decide
      ++decided;
      if (greatest(ours).index === index) ++agreed;
      else wrong += `Top-1 differs for ${count} tokens at position ${first}. `;
    }
  }
  session.dispose();
  const said = `${rows} rows of logits: worst difference ${worst.toExponential(2)}; top-1 agrees in ${agreed} of ${decided} rows whose margin decides`;
  return { wrong: decided > 0 ? wrong : `${wrong}No row decides.`, said };
}
