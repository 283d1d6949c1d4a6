// What a page uses: a program with the files beside it.
/// <reference lib="esnext.disposable" preserve="true" />

import { Chat, type ChatFiles, type ChatSetup } from './chat.js';
import { SconceError } from './error.js';
import { Model, type MethodInfo, Session } from './model.js';
import type { LoadOptions } from './options.js';
import type { Tensor } from './tensor.js';

/** How a program is loaded, see LoadOptions. */
export interface SconceOptions extends LoadOptions {}
/** A .pte file, or a model directory: a URL that ends with a slash, or the files of a directory. */
export type SconceSource = string | URL | Blob | File[];

type Fetch = (name: string) => Promise<Blob | undefined>;

/** How to get the program, and the files beside it. */
function locate(from: SconceSource): { program: string | URL | Blob; file: Fetch } {
  if (Array.isArray(from)) {
    const named = (name: string) => from.find((file) => file.name === name);
    const program = named('model.pte') ?? from.find((file) => file.name.endsWith('.pte'));
    if (!program) throw new SconceError('not_found', `None of the ${from.length} files is a .pte program.`);
    return { program, file: async (name) => named(name) };
  }
  if (from instanceof Blob) return { program: from, file: async () => undefined };
  const base = globalThis.document?.baseURI ?? globalThis.location?.href;
  if (!URL.canParse(String(from), base)) throw new SconceError('invalid_argument', `${from} is not an address${base ? '' : '; outside of a page it must be an absolute one'}.`);
  const url = new URL(from, base);
  const program = url.pathname.endsWith('/') ? new URL('model.pte', url) : url;
  const file = async (name: string) => {
    const response = await fetch(new URL(name, url));
    return response.ok ? response.blob() : undefined;
  };
  return { program, file };
}

/** A loaded program with the files beside it: what a page starts with. */
export class Sconce {
  private main?: Promise<Session>;

  /**
   * Loads a program: reads its graph, streams its weights to the GPU, makes its pipelines. `from` is the URL of a `.pte`
   * file or, with a slash at its end, of a model directory; a file; or the files of a directory. A relative URL is one of
   * the page. Errors are SconceErrors: not_found or io for the file, corrupt_file, unsupported (every operator that is
   * missing, or no WebGPU), out_of_memory, device_lost, cancelled.
   */
  static async load(from: SconceSource, options: SconceOptions = {}): Promise<Sconce> {
    const { program, file } = locate(from);
    return new Sconce(await Model.load(program, options), file);
  }

  private constructor(readonly model: Model, private readonly file: Fetch) {}

  /** The methods that can run, with the bounds of what they take and give. */
  get methods(): MethodInfo[] { return this.model.methods; }
  /** What the program's constant methods give, by name: `get_max_seq_len` and so on. */
  get metadata(): Record<string, number[]> { return this.model.metadata; }
  /** The device that the model lies on: the caller's, or Sconce's own. */
  get device(): GPUDevice { return this.model.gpu.device; }

  /** A method with state (KV caches) of its own; see Session. */
  method(name = 'forward'): Promise<Session> {
    return this.model.session(name);
  }
  /** A run of the method `forward`, at the live shapes of its inputs; see Session.run. Runs share one state. */
  async run(inputs: Tensor[] | Record<string, Tensor>): Promise<Tensor[]> {
    this.main ??= this.method();
    return (await this.main).run(inputs);
  }

  /**
   * A conversation with a KV cache of its own. The model directory must have a tokenizer.json and a chat template, and the
   * program's method `forward` must be a language model's: tokens [1, S] and position [1] of i64 to logits of f32. Errors:
   * not_found or corrupt_file for the files; invalid_argument for the method.
   */
  async chat(setup: ChatSetup = {}): Promise<Chat> {
    return Chat.create(this.model, await this.chatFiles(), setup);
  }

  private async chatFiles(): Promise<ChatFiles> {
    const names = ['tokenizer.json', 'tokenizer_config.json', 'generation_config.json', 'chat_template.jinja'];
    const [tokenizer, config, generation, template] = await Promise.all(
      names.map(async (name) => (await this.file(name))?.text()));
    if (!tokenizer) throw new SconceError('not_found', 'There is no tokenizer.json beside the program; give a whole model directory.');
    const tokenizerConfig = JSON.parse(config ?? '{}');
    const chatTemplate = template ?? tokenizerConfig.chat_template;
    if (!chatTemplate) throw new SconceError('not_found', 'The model directory has no chat template, so it is not a chat model.');
    return { tokenizer: JSON.parse(tokenizer), tokenizerConfig, template: chatTemplate, generation: JSON.parse(generation ?? '{}') };
  }

  /** Frees the weights, all sessions and chats; destroys the device if it is Sconce's own. */
  dispose() {
    this.model.dispose();
  }
  [Symbol.dispose]() {
    this.dispose();
  }
}
