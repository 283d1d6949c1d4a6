// A conversation with a language model: texts to tokens and back around runtime/generation.h, which decides what runs
// next and when an answer ends. Tokens are chosen on the GPU.

import { Template } from '@huggingface/jinja';
import { Tokenizer } from '@huggingface/tokenizers';

import { SconceError } from './error.js';
import { AnswerOptionsAt } from './layout.js';
import type { Model, Session } from './model.js';
import type { PendingRead } from './replayer.js';
import { TextStream } from './text.js';

const NO_TOKEN = 0xfffffffe;

/**
 * Why an answer ended: `stop`, the model ended it; `max_new_tokens`, the caller's limit; `length`, the model's context is
 * full; `cancelled`, by the signal or by leaving the iterator; `none`, it has not ended.
 */
export type StopReason = 'none' | 'stop' | 'max_new_tokens' | 'length' | 'cancelled';
/** One turn of a conversation, as chat templates want it: `role` is `user`, `assistant` or `system`. */
export interface Message {
  role: string;
  content: string;
}
/** How an answer is made. What is left out comes from the model's generation_config.json, else it is the default. */
export interface ChatOptions {
  /** Below 1 keeps to the likely tokens, above 1 varies more; 0 (default) is greedy. */
  temperature?: number;
  /** Keep this many of the likeliest tokens; 0 (default): all. */
  topK?: number;
  /** Keep the likeliest tokens until their probabilities add up to this; 1 (default): all. */
  topP?: number;
  /** Keep tokens at least this fraction as likely as the likeliest one; 0 (default): all. */
  minP?: number;
  /** The same seed, options and conversation give the same answer, here and natively (default 0n). */
  seed?: bigint;
  /** Tokens (default: as many as the context holds). */
  maxNewTokens?: number;
  /** Ends the answer after the current token; what came so far stays in the conversation. */
  signal?: AbortSignal;
}
/** Figures of an answer, wall-clock; good while it is made as well. */
export interface AnswerTimes {
  /** Tokens of the whole conversation with its template. */
  promptTokens: number;
  /** Of them, those that the KV cache did not hold yet. */
  prefilledTokens: number;
  newTokens: number;
  /** From `send` to the first token. */
  firstTokenSeconds: number;
  /** Tokens after the first one, by the seconds that they took; 0 before there are any. */
  decodeTokensPerSecond: number;
  stopReason: StopReason;
}

/** What a conversation is made with. */
export interface ChatSetup {
  /** Runs that are submitted before the oldest one's token is read (default: 3 on a GPU, 1 on a software adapter). */
  stepsAhead?: number;
}

/** The files of a model directory beside model.pte, as Hugging Face names them. */
export interface ChatFiles {
  tokenizer: object; // tokenizer.json
  tokenizerConfig: Record<string, unknown>; // tokenizer_config.json
  template: string; // chat_template.jinja
  generation: Record<string, unknown>; // generation_config.json
}

type Token = string | { content: string } | undefined;
const textOf = (token: Token) => (typeof token === 'object' ? token.content : token);

/** A conversation with a language model; `Sconce.chat()` makes it. It has a KV cache of its own. */
export class Chat {
  /** What was said so far; answers that ended early are in it with what came. */
  readonly messages: Message[] = [];
  /** Figures of the last answer, or of the one that is being made. */
  times: AnswerTimes = { promptTokens: 0, prefilledTokens: 0, newTokens: 0, firstTokenSeconds: 0, decodeTokensPerSecond: 0, stopReason: 'none' };
  private readonly tokenizer: Tokenizer;
  private readonly template: Template;
  private readonly endTokens: number[];
  private readonly defaults: ChatOptions;
  private answering = false;
  private runs: { reads: PendingRead; start: number }[] = []; // under way, oldest first

  /** Of a model and the files beside it; pages use `Sconce.chat()`. */
  static async create(model: Model, files: ChatFiles, { stepsAhead = 0 }: ChatSetup = {}): Promise<Chat> {
    const session = await model.session('forward', 'generation_session');
    const capacity = model.metadata.get_max_context_len?.[0] ?? 0;
    const handle = model.core.handle('generation_create', session.handle, capacity, model.gpu.adapterClass, stepsAhead);
    try {
      return new Chat(session, handle, files);
    } catch (error) {
      session.dispose();
      model.core.free('generation_delete', handle);
      throw new SconceError('corrupt_file', `The tokenizer or the chat template cannot be read: ${error}.`);
    }
  }

  private constructor(private readonly session: Session, private readonly handle: number, private readonly files: ChatFiles) {
    this.tokenizer = new Tokenizer(files.tokenizer, files.tokenizerConfig);
    this.template = new Template(files.template);
    const { generation, tokenizerConfig } = files;
    const ends = new Set([generation.eos_token_id ?? []].flat() as number[]);
    const end = textOf(tokenizerConfig.eos_token as Token);
    const id = end === undefined ? undefined : this.tokenizer.token_to_id(end);
    if (id !== undefined) ends.add(id);
    this.endTokens = [...ends];
    const number = (name: string) => (typeof generation[name] === 'number' ? generation[name] : undefined);
    const temperature = generation.do_sample === false ? 0 : number('temperature');
    this.defaults = { temperature, topK: number('top_k'), topP: number('top_p'), minP: number('min_p') };
  }

  /**
   * The answer to `text`, piece by piece; the conversation keeps both. Leaving the loop early ends the answer. An error
   * before the first piece leaves the conversation as it was. Errors: invalid_argument when an answer is under way or the
   * conversation is longer than the model's context; device_lost; cancelled after `dispose()`.
   */
  async *send(text: string, options: ChatOptions = {}): AsyncGenerator<string, void, void> {
    if (this.session.isDisposed) throw new SconceError('cancelled', 'The chat is disposed; make another of a loaded model.');
    if (this.answering) throw new SconceError('invalid_argument', 'An answer is under way; end it before sending more.');
    this.answering = true;
    const question = { role: 'user', content: text };
    let answer = '';
    try {
      for await (const piece of this.answer([...this.messages, question], options)) {
        answer += piece;
        yield piece;
      }
    } finally {
      this.answering = false;
      if (this.session.isDisposed) this.free();
      if (answer !== '') this.messages.push(question, { role: 'assistant', content: answer });
    }
  }

  private async *answer(messages: Message[], options: ChatOptions): AsyncGenerator<string> {
    const { core } = this.session.model;
    const began = performance.now();
    const prompt = this.encode(messages);
    this.begin(prompt, options);
    const text = new TextStream((ids) => this.tokenizer.decode(ids, { skip_special_tokens: true }));
    let tokens = 0, firstAt = began;
    try {
      for (;;) {
        if (options.signal?.aborted) core.call('generation_cancel', this.handle);
        await this.submitAhead();
        if (core.call('generation_under_way', this.handle) === 0) break;
        const token = await this.next();
        if (token === NO_TOKEN) continue;
        if (++tokens === 1) firstAt = performance.now();
        this.measure(prompt.length, tokens, began, firstAt);
        const piece = text.push(token);
        if (piece !== '') yield piece;
      }
      const rest = text.end();
      if (rest !== '') yield rest;
    } finally {
      for (const { reads } of this.runs.splice(0)) reads.giveUp(); // beyond the end
      if (!this.session.isDisposed) {
        core.call('generation_cancel', this.handle); // nothing, when the answer is complete
        this.measure(prompt.length, tokens, began, firstAt);
      }
    }
  }

  private encode(messages: Message[]): number[] {
    const { bos_token, eos_token } = this.files.tokenizerConfig as Record<string, Token>;
    const variables = { messages, bos_token: textOf(bos_token), eos_token: textOf(eos_token), add_generation_prompt: true };
    return this.tokenizer.encode(this.template.render(variables), { add_special_tokens: false }).ids;
  }

  private begin(prompt: number[], options: ChatOptions) {
    const { core } = this.session.model;
    const wanted = { temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0n, maxNewTokens: 0xffffffff, ...defined(this.defaults), ...defined(options) };
    const size = AnswerOptionsAt.byteLength + 4 * (this.endTokens.length + prompt.length);
    core.scratch(size, (at) => {
      const ends = at + AnswerOptionsAt.byteLength, tokens = ends + 4 * this.endTokens.length;
      core.words.set([...this.endTokens, ...prompt], ends >> 2);
      const view = core.view;
      view.setFloat32(at + AnswerOptionsAt.temperature, wanted.temperature, true);
      view.setFloat32(at + AnswerOptionsAt.topP, wanted.topP, true);
      view.setFloat32(at + AnswerOptionsAt.minP, wanted.minP, true);
      view.setUint32(at + AnswerOptionsAt.topK, wanted.topK, true);
      view.setBigUint64(at + AnswerOptionsAt.seed, wanted.seed, true);
      view.setUint32(at + AnswerOptionsAt.maxNewTokens, wanted.maxNewTokens, true);
      view.setUint32(at + AnswerOptionsAt.endTokens, ends, true);
      view.setUint32(at + AnswerOptionsAt.endTokenCount, this.endTokens.length, true);
      core.checked('generation_begin', this.handle, tokens, prompt.length, at);
    });
  }

  /** Keeps as many runs under way as the core wants. */
  private async submitAhead() {
    const { core } = this.session.model;
    for (;;) {
      const start = performance.now();
      let started = 0;
      try {
        const reads = await this.session.submitAhead(() => (started = core.checked('generation_start', this.handle, this.session.handle)));
        if (!reads) return;
        this.runs.push({ reads, start });
      } catch (error) {
        if (started && !this.session.isDisposed) core.call('generation_withdraw', this.handle);
        throw error;
      }
    }
  }

  /** Waits for the oldest run: the new token, or NO_TOKEN. */
  private next(): Promise<number> {
    const { core } = this.session.model;
    const { reads, start } = this.runs.shift()!;
    return this.session.take(reads, ([ring]) => core.withBytes(ring, (at) =>
      core.checked('generation_accept', this.handle, at, (performance.now() - start) / 1000)));
  }

  private measure(promptTokens: number, newTokens: number, began: number, firstAt: number) {
    const { core } = this.session.model;
    const decoding = (performance.now() - firstAt) / 1000;
    this.times = {
      promptTokens,
      prefilledTokens: core.call('generation_prefilled', this.handle),
      newTokens,
      firstTokenSeconds: (firstAt - began) / 1000,
      decodeTokensPerSecond: newTokens > 1 && decoding > 0 ? (newTokens - 1) / decoding : 0,
      stopReason: core.string(core.call('generation_stop_reason', this.handle)) as StopReason,
    };
  }

  /** Forgets the conversation; mends a session that an error broke. Errors: invalid_argument while an answer is under way. */
  async clear(): Promise<void> {
    if (this.answering) throw new SconceError('invalid_argument', 'An answer is under way; end it before clearing.');
    this.messages.length = 0;
    this.session.model.core.call('generation_forget', this.handle);
    await this.session.reset();
  }

  /** Frees the conversation's KV cache; an answer that is under way fails with `cancelled`. */
  dispose() {
    if (this.session.isDisposed) return;
    this.session.dispose();
    if (!this.answering) this.free(); // else the answer does when it ends
  }
  private free() {
    this.session.model.core.free('generation_delete', this.handle);
  }
}

/** Without members that are undefined, so that they do not hide defaults. */
function defined<T extends object>(options: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: NonNullable<T[K]> };
}
