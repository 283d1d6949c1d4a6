// The server of ./demo --web: node test/serve.mjs
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { serve } from '../serve.mjs';

const root = mkdtempSync(join(tmpdir(), 'sconce-serve-'));
mkdirSync(join(root, 'public/sub'), { recursive: true });
const put = (name, contents) => writeFileSync(join(root, name), contents);
put('secret.txt', 'secret');
put('public/digits.bin', '0123456789');
put('public/empty.bin', '');
put('public/index.html', '<p>start</p>');
put('public/a b ü.txt', 'named');
for (const ending of ['js', 'mjs', 'css', 'json', 'wasm', 'svg', 'jinja', 'pte', 'html']) put(`public/file.${ending}`, ' ');
const server = await serve({ '/sub/': join(root, 'public/sub/'), '/': join(root, 'public/') });
const { port } = server.address();

/** As it stands on the wire: fetch would tidy the path. */
const get = (path, headers = {}, method = 'GET') => new Promise((done, failed) => {
  request({ port, path, headers, method }, async (response) => {
    let body = '';
    for await (const chunk of response) body += chunk;
    done({ status: response.statusCode, headers: response.headers, body });
  }).on('error', failed).end();
});

let failures = 0;
function expect(what, actual, wanted) {
  if (`${actual}` === `${wanted}`) return;
  ++failures;
  console.log(`FAIL ${what}: ${actual} instead of ${wanted}`);
}

// ---- ranges ----
for (const [range, status, body, contentRange] of [
  [undefined, 200, '0123456789', undefined],
  ['bytes=0-0', 206, '0', 'bytes 0-0/10'],
  ['bytes=2-5', 206, '2345', 'bytes 2-5/10'],
  ['bytes=7-', 206, '789', 'bytes 7-9/10'],
  ['bytes=7-1000', 206, '789', 'bytes 7-9/10'],
  ['bytes=-3', 206, '789', 'bytes 7-9/10'],
  ['bytes=-1000', 206, '0123456789', 'bytes 0-9/10'],
  ['bytes=10-', 416, 'The file has 10 bytes.', 'bytes */10'],
  ['bytes=10-20', 416, 'The file has 10 bytes.', 'bytes */10'],
  ['bytes=-0', 416, 'The file has 10 bytes.', 'bytes */10'],
  ['bytes=99999999999999999999-', 416, 'The file has 10 bytes.', 'bytes */10'],
  // What a server ignores.
  ['bytes=5-2', 200, '0123456789', undefined],
  ['bytes=-', 200, '0123456789', undefined],
  ['bytes=0-1,4-5', 200, '0123456789', undefined],
  ['bytes=a-b', 200, '0123456789', undefined],
  ['lines=0-1', 200, '0123456789', undefined],
]) {
  const answer = await get('/digits.bin', range === undefined ? {} : { range });
  expect(`status of ${range}`, answer.status, status);
  expect(`body of ${range}`, answer.body, body);
  expect(`Content-Range of ${range}`, answer.headers['content-range'], contentRange);
  expect(`Content-Length of ${range}`, answer.status === 416 ? body.length : answer.headers['content-length'], body.length);
}
expect('an empty file', (await get('/empty.bin')).status, 200);
expect('a range of an empty file', (await get('/empty.bin', { range: 'bytes=0-' })).status, 416);
const plain = await serve({ '/': join(root, 'public/') }, { ranges: false });
const whole = await fetch(`http://localhost:${plain.address().port}/digits.bin`, { headers: { Range: 'bytes=0-1' } });
expect('a server without ranges', [whole.status, await whole.text()], [200, '0123456789']);
plain.close();

// ---- methods ----
for (const range of [undefined, 'bytes=2-5']) {
  const [head, read] = await Promise.all(['HEAD', 'GET'].map((method) => get('/digits.bin', range ? { range } : {}, method)));
  expect('body of HEAD', head.body, '');
  for (const name of ['content-length', 'content-type', 'content-range', 'accept-ranges']) expect(`${name} of HEAD`, head.headers[name], read.headers[name]);
  expect('status of HEAD', head.status, read.status);
}
expect('HEAD of a missing file', (await get('/none', {}, 'HEAD')).status, 404);
for (const method of ['POST', 'PUT', 'DELETE']) {
  const answer = await get('/digits.bin', {}, method);
  expect(`status of ${method}`, [answer.status, answer.headers.allow], [405, 'GET, HEAD']);
}

// ---- paths ----
for (const path of [
  '/../secret.txt', '/../../../../etc/passwd', '/%2e%2e/secret.txt', '/%2e%2e%2fsecret.txt', '/..%2fsecret.txt', '/sub/../../secret.txt',
  '/sub/%2e%2e/%2e%2e/secret.txt', '/..%5csecret.txt', '//secret.txt', '/sub/..%2f..%2fsecret.txt', '/%252e%252e/secret.txt',
  '/digits.bin%00.html', '/%zz', '/none', '/sub', '/sub/', '/digits.bin/',
]) expect(`status of ${path}`, (await get(path)).status, 404);
expect('the start page', (await get('/')).body, '<p>start</p>');
expect('the start page with a query', (await get('/?model=model/')).body, '<p>start</p>');
expect('a name in another script', (await get('/a%20b%20%C3%BC.txt')).body, 'named');
expect('a path that stays inside', (await get('/sub/../digits.bin')).body, '0123456789');

// ---- types ----
for (const [ending, type] of Object.entries({
  html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8', mjs: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8',
  json: 'application/json', wasm: 'application/wasm', svg: 'image/svg+xml', jinja: 'text/plain; charset=utf-8', pte: 'application/octet-stream',
})) expect(`type of .${ending}`, (await get(`/file.${ending}`)).headers['content-type'], type);

// ---- the command ----
const command = fileURLToPath(new URL('../serve.mjs', import.meta.url));
/** Runs it until it says something; then `signal` is sent. Gives what it said and how it ended. */
const run = (args, signal) => new Promise((done) => {
  const child = spawn(process.execPath, [command, ...args]);
  let said = '';
  const hear = async (chunk) => {
    said += chunk;
    const address = /http:\S+/.exec(said)?.[0];
    if (!signal || !address || child.killed) return;
    await fetch(address).then((response) => response.text()); // a connection that is kept open
    child.kill(signal);
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  child.on('exit', (code, killed) => done({ said, code, killed }));
});
for (const signal of ['SIGINT', 'SIGTERM']) {
  const { said, code } = await run([root, '0'], signal);
  expect(`exit status after ${signal}`, [code, /^Open http:\/\/localhost:\d+\//.test(said)], [0, true]);
}
const taken = await run([root, String(port)]);
expect('a port in use', [taken.code, taken.said.trim()], [1, `error: Port ${port} is in use; give another one.`]);
for (const [args, said] of [
  [[], 'error: Give a model directory: node serve.mjs MODEL_DIR [PORT]'], [[join(root, 'none')], `error: There is no directory ${join(root, 'none')}.`],
  [[root, 'x'], 'error: x is not a port: give a number up to 65535.'], [[root, '65536'], 'error: 65536 is not a port: give a number up to 65535.'],
]) {
  const result = await run(args);
  expect(`serve.mjs ${args.join(' ')}`, [result.code, result.said.trim()], [1, said]);
}
const holder = await serve({ '/': root }, { port: 8080 }).catch(() => undefined); // else someone else has the port
const next = await run([root], 'SIGINT');
expect('the next free port', [next.code, /localhost:80(8[1-9])\//.test(next.said)], [0, true]);
holder?.close();

server.close();
rmSync(root, { recursive: true });
console.log(failures > 0 ? `${failures} expectations fail.` : 'The server answers as it should.');
process.exit(failures > 0 ? 1 : 0);
