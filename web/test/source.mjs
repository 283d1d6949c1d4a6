// Bytes as they come from a server or a file are those of the file, in Node and in Chromium: node test/source.mjs FILE
//
// With ranges and without, over connections that break, and from a Blob; into memory that is used again.
import { createHash } from 'node:crypto';
import { openAsBlob, readFileSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

import { serve } from '../serve.mjs';
import { openSource } from '../dist/source.js';

const file = resolve(process.argv[2]);
const { size } = statSync(file);
const contents = readFileSync(file);
// Parts at odd places, from small to large.
const parts = [[0, 1], [1, 37], [4095, 70001], [size - 300000, 300000], [Math.floor(size / 3), Math.min(5 << 20, size >> 1)], [7, 100000]];
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const wanted = parts.map(([at, count]) => sha256(contents.subarray(at, at + count)));

let breaks = 0; // answers that are still to end early
const cut = (request, response) => {
  const [, begin, end] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? [];
  if (breaks === 0 || !request.url.startsWith('/file/') || Number(end) - Number(begin) < 1000) return false;
  --breaks;
  response.writeHead(206, { 'Content-Length': end - begin + 1, 'Content-Range': `bytes ${begin}-${end}/${size}` });
  response.write(contents.subarray(Number(begin), Number(begin) + Math.floor((end - begin) / 2)));
  setTimeout(() => response.destroy(), 50);
  return true;
};
const folders = { '/file/': `${dirname(file)}/`, '/dist/': fileURLToPath(new URL('../dist/', import.meta.url)), '/': fileURLToPath(new URL('../page/dist/', import.meta.url)) };
const [server, plain] = [await serve(folders, { onRequest: cut }), await serve(folders, { ranges: false })];
const url = (from) => `http://localhost:${from.address().port}/file/${encodeURIComponent(basename(file))}`;

/** The digests of the parts, read one after the other into the same memory. */
async function digests(openSource, from, parts, digest) {
  const source = await openSource(from);
  const memory = new ArrayBuffer(Math.max(...parts.map(([, count]) => count)));
  const list = [];
  for (const [at, count] of parts) list.push(await digest(await source.read(at, count, undefined, new Uint8Array(memory, 0, count))));
  return list;
}

let failures = 0;
async function test(name, from, read) {
  breaks = from === server ? 3 : 0;
  const found = await read(from).catch((error) => [error.stack ?? error]);
  const wrong = `${found}` === `${wanted}` && breaks === 0 ? '' : `${found}, ${breaks} breaks left`;
  console.log(`${wrong ? 'FAIL' : 'ok  '} ${name} ${wrong}`);
  if (wrong) ++failures;
}
const inNode = (from) => digests(openSource, from, parts, sha256);
await test('Node, ranges over connections that break', server, (from) => inNode(url(from)));
await test('Node, one body', plain, (from) => inNode(url(from)));
await test('Node, a file', undefined, async () => inNode(await openAsBlob(file)));

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', headless: false, args: ['--headless=new', '--no-sandbox'] });
const page = await browser.newPage();
const inPage = async (from, asBlob = false) => {
  await page.goto(new URL('/', url(from)).href);
  return page.evaluate(`(async (url, parts) => {
    const { openSource } = await import('/dist/source.js');
    const hex = async (bytes) => [...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    return (${digests})(openSource, ${asBlob} ? await (await fetch(url)).blob() : url, parts, hex);
  })(${JSON.stringify(url(from))}, ${JSON.stringify(parts)})`);
};
await test('Chromium, ranges over connections that break', server, (from) => inPage(from));
await test('Chromium, one body', plain, (from) => inPage(from));
await test('Chromium, a file', plain, (from) => inPage(from, true));
await browser.close();
server.close();
plain.close();
process.exit(failures > 0 ? 1 : 0);
