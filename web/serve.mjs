// Serves the built page, and a model directory under model/, with range requests: node serve.mjs MODEL_DIR [PORT]
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, posix, resolve } from 'node:path';
import { pipeline } from 'node:stream';
import { fileURLToPath } from 'node:url';

const FIRST_PORT = 8080, PORTS = 10; // that are tried when none is asked for
const TEXT = '; charset=utf-8';
const TYPES = {
  '.html': `text/html${TEXT}`, '.js': `text/javascript${TEXT}`, '.mjs': `text/javascript${TEXT}`, '.css': `text/css${TEXT}`,
  '.txt': `text/plain${TEXT}`, '.jinja': `text/plain${TEXT}`, '.json': 'application/json', '.map': 'application/json',
  '.wasm': 'application/wasm', '.svg': 'image/svg+xml', '.png': 'image/png', '.ico': 'image/x-icon',
};

/**
 * Bytes [begin, end] that a Range header asks for (RFC 9110, section 14): nothing when it asks for all of them, or in a
 * way that a server may ignore (several ranges, another unit); 'none' when the file has none of them.
 */
export function parseRange(header, size) {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === undefined || (first === '' && last === '')) return undefined;
  if (first === '') return Number(last) === 0 || size === 0 ? 'none' : [Math.max(0, size - Number(last)), size - 1];
  if (last !== '' && Number(last) < Number(first)) return undefined;
  if (Number(first) >= size) return 'none';
  return [Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1)];
}

/** The file of a URL's path, which never lies outside of the folder of its prefix; nothing for a malformed path. */
export function locate(folders, url) {
  let path;
  try {
    path = decodeURIComponent(url.split(/[?#]/)[0]);
  } catch {
    return undefined;
  }
  if (path.includes('\0')) return undefined;
  const clean = posix.normalize(`/${path}`.replaceAll('\\', '/')); // without ..
  const [prefix, folder] = Object.entries(folders).find(([prefix]) => clean.startsWith(prefix)) ?? [];
  if (!prefix) return undefined;
  return join(folder, clean.slice(prefix.length) || '.', clean.endsWith('/') ? 'index.html' : '');
}

/**
 * Serves files on localhost. `folders`: path prefix to folder, the longest prefix first; both end with a slash. `ranges`
 * false: as a server without range requests. `onRequest` may answer itself, by returning true. `port` 0: a free one.
 */
export function serve(folders, { port = 0, ranges = true, onRequest = () => false } = {}) {
  const server = createServer(async (request, response) => {
    const refuse = (status, sentence, headers = {}) =>
      response.writeHead(status, { 'Content-Type': TYPES['.txt'], ...headers }).end(request.method === 'HEAD' ? undefined : sentence);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return refuse(405, 'Files can be read only.', { Allow: 'GET, HEAD' });
    const file = locate(folders, request.url);
    const found = file && (await stat(file).catch(() => undefined));
    if (!found?.isFile()) return refuse(404, 'There is no such file.');
    if (onRequest(request, response)) return;
    const { size } = found;
    const range = ranges ? parseRange(request.headers.range, size) : undefined;
    const accepts = ranges ? { 'Accept-Ranges': 'bytes' } : {};
    if (range === 'none') return refuse(416, `The file has ${size} bytes.`, { ...accepts, 'Content-Range': `bytes */${size}` });
    const [begin, end] = range ?? [0, size - 1];
    response.writeHead(range ? 206 : 200, {
      'Content-Type': TYPES[extname(file)] ?? 'application/octet-stream', 'Content-Length': end - begin + 1, 'Cache-Control': 'no-cache',
      ...accepts, ...(range && { 'Content-Range': `bytes ${begin}-${end}/${size}` }),
    });
    if (request.method === 'HEAD' || size === 0) return response.end();
    // When either side fails, both end: a client sees a body that is too short.
    pipeline(createReadStream(file, { start: begin, end }), response, () => {});
  });
  return new Promise((done, failed) => server.once('error', failed).listen(port, '127.0.0.1', () => done(server)));
}

/** On the port that is asked for, or on the first free one. */
async function serveOnAPort(folders, asked) {
  for (let port = asked ?? FIRST_PORT; ; ++port) {
    try {
      return await serve(folders, { port });
    } catch (error) {
      if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES') throw error;
      const why = error.code === 'EACCES' ? 'may not be used by you' : 'is in use';
      if (asked !== undefined) throw new Error(`Port ${asked} ${why}; give another one.`);
      if (port === FIRST_PORT + PORTS - 1) throw new Error(`Ports ${FIRST_PORT} to ${port} are in use; give another one.`);
    }
  }
}

async function main([model, asked]) {
  if (!model) throw new Error('Give a model directory: node serve.mjs MODEL_DIR [PORT]');
  if (!(await stat(model).catch(() => undefined))?.isDirectory()) throw new Error(`There is no directory ${model}.`);
  const port = asked === undefined ? undefined : Number(asked);
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port < 65536)) throw new Error(`${asked} is not a port: give a number up to 65535.`);
  const page = fileURLToPath(new URL('./page/dist/', import.meta.url));
  const server = await serveOnAPort({ '/model/': resolve(model), '/': page }, port);
  console.log(`Open http://localhost:${server.address().port}/?model=model/ in a browser with WebGPU. Ctrl-C ends it.`);
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => {
      server.close();
      server.closeAllConnections();
    });
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url))
  main(process.argv.slice(2)).catch((error) => {
    console.error(`error: ${error.message}`);
    process.exitCode = 1;
  });
