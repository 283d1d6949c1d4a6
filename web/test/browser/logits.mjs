// SmolLM2's logits under forced tokens in Chromium against torch. SwiftShader takes seconds for a long prompt, so these
// are fewer rows than Node's (../logits.mjs) and the native test's.
import { finish, openBlank, test } from './chromium.mjs';

await test('logits of SmolLM2 under forced tokens', async () => {
  const page = await openBlank();
  const { wrong, said } = await page.evaluate(async () => {
    const sconce = await import('/dist/index.js');
    const { compareLogits } = await import('/test/forced.mjs');
    const model = await sconce.Sconce.load('/model/model.pte', { cache: false });
    const golden = async (length) => new Uint8Array(
      await (await fetch(`/goldens/smollm2-135m-instruct/prefill_${length}.safetensors`)).arrayBuffer());
    return compareLogits(sconce, model, golden, [7, 37, 1, 64, 2], 4);
  });
  console.log(`     ${said}.`);
  await page.context().close();
  return wrong;
});

await finish();
