// The chat page: one model at a time, in one of four states: start, loading, chat; a notice says what went wrong.

import { Sconce, SconceError, type Chat, type Message, type Progress, type SconceSource } from '../dist/index.js';

const $ = <T extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as T;
const [text, log] = [$<HTMLTextAreaElement>('text'), $('log')];
const [temperature, length] = [$<HTMLInputElement>('temperature'), $<HTMLInputElement>('length')];

let source: SconceSource | undefined;
let model: Sconce | undefined;
let chat: Chat | undefined;
let loading: AbortController | undefined;
let answering: AbortController | undefined;

// ---- what is shown ----

function show(state: 'start' | 'loading' | 'chat') {
  for (const id of ['start', 'loading', 'chat']) $(id).hidden = id !== state;
  for (const id of ['clear', 'unload']) $(id).hidden = state !== 'chat';
  if (state === 'chat') text.focus();
}

function notice(sentence: string, action?: [label: string, act: () => void]) {
  $('notice').hidden = sentence === '';
  $('notice-text').textContent = sentence;
  const button = $<HTMLButtonElement>('notice-action');
  button.hidden = !action;
  if (action) [button.textContent, button.onclick] = action;
}

/** An error in words for a person, with what can be done about it. */
function report(error: unknown) {
  const sentence = error instanceof Error ? error.message : String(error);
  const said = chat?.messages ?? []; // the conversation goes on where it was
  const again: [string, () => void] = ['Reload the model', () => void load(source!, said)];
  switch (error instanceof SconceError ? error.code : 'internal') {
    case 'cancelled':
      return notice('');
    case 'device_lost':
      return notice(`The browser took the GPU away. ${sentence}`, again);
    case 'out_of_memory':
      return notice(`This model does not fit into the GPU's memory. ${sentence} Close other tabs, or choose a smaller model.`, again);
    default:
      return notice(sentence, source && !model ? ['Try again', () => void load(source!)] : undefined);
  }
}

function bytes(count: number) {
  return count < 1e9 ? `${(count / 1e6).toFixed(1)} MB` : `${(count / 1e9).toFixed(2)} GB`;
}

function progressReporter() {
  const began = performance.now();
  return ({ stage, done, total, cached }: Progress) => {
    const bar = $<HTMLProgressElement>('progress');
    if (total > 0) bar.value = done / total;
    else bar.removeAttribute('value');
    const rate = done / ((performance.now() - began) / 1000);
    const from = cached > 0 ? ' from this browser’s storage' : '';
    $('loading-text').textContent =
      stage === 'pipelines' ? `Compiling kernels: ${done} of ${total}`
      : `Loading weights${from}: ${bytes(done)}${total > 0 ? ` of ${bytes(total)}` : ''}, ${bytes(rate)}/s`;
  };
}

// ---- loading ----

/** `said`: a conversation that the loaded model is to go on with; the page shows it already. */
async function load(from: SconceSource, said: Message[] = []) {
  unload();
  source = from;
  notice('');
  const mine = (loading = new AbortController());
  $('loading-text').textContent = 'Loading the program';
  $<HTMLProgressElement>('progress').removeAttribute('value');
  show('loading');
  const { signal } = mine;
  try {
    const loaded = await Sconce.load(from, { signal, progress: progressReporter(), warn: notice });
    if (signal.aborted) return loaded.dispose();
    model = loaded;
    chat = await loaded.chat();
    void loaded.device.lost.then(() => { if (model === loaded && !answering) lost(); });
    $('model-name').textContent = nameOf(from);
    chat.messages.push(...said);
    if (said.length === 0) log.replaceChildren();
    show('chat');
  } catch (error) {
    if (loading !== mine) return; // cancelled, or another model is on its way
    unload();
    show('start');
    report(error);
  }
}

function lost() {
  report(new SconceError('device_lost', 'The conversation goes on when the model is loaded again.'));
}

function unload() {
  loading?.abort();
  answering?.abort();
  model?.dispose();
  model = chat = loading = undefined;
  $('model-name').textContent = '';
}

function nameOf(from: SconceSource) {
  if (Array.isArray(from)) return from[0]?.webkitRelativePath.split('/')[0] || 'chosen files';
  if (from instanceof Blob) return 'chosen file';
  return String(from).replace(/\/(model\.pte)?$/, '').split('/').pop() ?? '';
}

// ---- the conversation ----

function addMessage(role: 'user' | 'assistant', content = '') {
  const message = document.createElement('article');
  message.className = `message ${role}`;
  message.setAttribute('aria-label', role === 'user' ? 'You' : 'Answer');
  const paragraph = document.createElement('p');
  paragraph.textContent = content;
  message.append(paragraph);
  log.append(message);
  log.scrollTop = log.scrollHeight;
  return { message, paragraph };
}

function addAbout(message: HTMLElement, paragraph: HTMLElement) {
  const about = document.createElement('div');
  about.className = 'about';
  const copy = document.createElement('button');
  copy.type = 'button';
  copy.textContent = 'Copy';
  copy.onclick = async () => {
    const copied = navigator.clipboard?.writeText(paragraph.textContent ?? '') ?? Promise.reject();
    copy.textContent = await copied.then(() => 'Copied', () => 'The browser does not allow it');
    setTimeout(() => (copy.textContent = 'Copy'), 1500);
  };
  const figures = document.createElement('span');
  about.append(copy, figures);
  message.append(about);
  return figures;
}

const ENDS = { stop: '', none: '', max_new_tokens: ', longest answer reached', length: ', the context is full: clear the chat', cancelled: ', stopped' };

function figuresOf({ times }: Chat) {
  const rate = times.decodeTokensPerSecond > 0 ? `, ${times.decodeTokensPerSecond.toFixed(1)} tokens/s` : '';
  return `${times.newTokens} tokens${rate}, first after ${times.firstTokenSeconds.toFixed(2)} s${ENDS[times.stopReason]}`;
}

async function ask(question: string) {
  if (!chat || answering) return;
  const current = chat;
  notice('');
  answering = new AbortController();
  $('send').hidden = true;
  $('stop').hidden = false;
  addMessage('user', question);
  const { message, paragraph } = addMessage('assistant');
  message.classList.add('waiting');
  log.setAttribute('aria-busy', 'true'); // read out when the answer is complete
  const figures = addAbout(message, paragraph);
  try {
    const options = {
      signal: answering.signal, temperature: Number(temperature.value), maxNewTokens: Number(length.value) || 256,
      seed: BigInt(Math.floor(Math.random() * 2 ** 48)),
    };
    for await (const piece of current.send(question, options)) {
      const follows = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
      paragraph.textContent += piece;
      figures.textContent = figuresOf(current);
      if (follows) log.scrollTop = log.scrollHeight;
    }
    figures.textContent = figuresOf(current);
  } catch (error) {
    report(error);
  } finally {
    answering = undefined;
    message.classList.remove('waiting');
    log.removeAttribute('aria-busy');
    $('send').hidden = false;
    $('stop').hidden = true;
    text.focus();
  }
}

// ---- what a person does ----

$('url-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const address = $<HTMLInputElement>('url').value.trim();
  void load(/\.pte$|\/$/.test(address) ? address : `${address}/`);
});
$<HTMLInputElement>('files').addEventListener('change', (event) => void load([...(event.target as HTMLInputElement).files!]));
$('cancel-load').addEventListener('click', () => { unload(); show('start'); });
$('unload').addEventListener('click', () => { unload(); show('start'); });
$('clear').addEventListener('click', async () => {
  answering?.abort();
  while (answering) await new Promise((resolve) => setTimeout(resolve, 20));
  await chat?.clear().then(() => { log.replaceChildren(); notice(''); }, report);
  text.focus();
});
$('stop').addEventListener('click', () => answering?.abort());
$('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  const question = text.value.trim();
  if (!question || answering) return;
  text.value = '';
  void ask(question);
});
text.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $<HTMLFormElement>('ask').requestSubmit();
  }
});
document.addEventListener('keydown', (event) => { if (event.key === 'Escape') answering?.abort(); });
temperature.addEventListener('input', () => ($('temperature-value').textContent = temperature.value));
$('theme').addEventListener('click', () => {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === 'dark'
    : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
});
for (const kind of ['dragover', 'dragleave', 'drop'])
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    $('drop').classList.toggle('over', kind === 'dragover');
  });
document.addEventListener('drop', async (event) => {
  const files = await droppedFiles(event.dataTransfer!);
  if (files.length > 0) void load(files);
});

/** Dropped files, and those of dropped directories. */
async function droppedFiles(data: DataTransfer): Promise<File[]> {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const read = async (entry: FileSystemEntry): Promise<File[]> => {
    if (entry.isFile) return [await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))];
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    const children: FileSystemEntry[] = [];
    for (let some: FileSystemEntry[]; ; children.push(...some)) {
      some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // at most 100 at a time
      if (some.length === 0) break;
    }
    return (await Promise.all(children.map(read))).flat();
  };
  return (await Promise.all(entries.map(read))).flat();
}

const wanted = new URLSearchParams(location.search).get('model');
if (!('gpu' in navigator)) {
  $('start').inert = true;
  notice('This browser has no WebGPU. Current versions of Chrome, Edge, Safari and Firefox have it; the page must come over https or from localhost.');
} else if (wanted) void load(wanted);
