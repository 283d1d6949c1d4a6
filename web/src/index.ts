// ExecuTorch programs in any WebGPU browser.
//
//   const model = await Sconce.load('models/smollm2/');
//   const chat = await model.chat();
//   for await (const piece of chat.send('Hello')) print(piece);

export { Sconce, type SconceOptions, type SconceSource } from './sconce.js';
export { Chat, type AnswerTimes, type ChatOptions, type ChatSetup, type Message, type StopReason } from './chat.js';
export { Model, Session, type MethodInfo, type ValueInfo } from './model.js';
export type { LoadOptions, Progress } from './options.js';
export { SconceError, type ErrorCode } from './error.js';
export { tensor, type Dtype, type Tensor, type TensorData } from './tensor.js';
export { clearCache } from './cache.js';
