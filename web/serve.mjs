// Serves the built page, and a model directory under model/, with range requests: node serve.mjs MODEL_DIR [PORT]
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.wasm': 'application/wasm' };

/** `folders`: path prefix to folder, the longest prefix first. `ranges` false: as a server without range requests. */
export function serve(folders, { port = 0, ranges = true, onRequest = () => {} } = {}) {
  const server = createServer(async (request, response) => {
    try {
      const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
      const [prefix, folder] = Object.entries(folders).find(([prefix]) => path.startsWith(prefix)) ?? [];
      const file = prefix && join(folder, normalize('/' + (path.slice(prefix.length) || 'index.html')));
      const { size } = await stat(file);
      const asked = ranges && /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
      const [begin, end] = asked ? [Number(asked[1]), Math.min(Number(asked[2] || size - 1), size - 1)] : [0, size - 1];
      const headers = { 'Content-Type': TYPES[extname(file)] ?? 'application/octet-stream', 'Content-Length': end - begin + 1, 'Cache-Control': 'no-cache' };
      if (asked) headers['Content-Range'] = `bytes ${begin}-${end}/${size}`;
      if (onRequest(request, response)) return;
      response.writeHead(asked ? 206 : 200, headers);
      createReadStream(file, { start: begin, end }).on('error', () => response.destroy()).pipe(response);
    } catch {
      response.writeHead(404).end('There is no such file.');
    }
  });
  return new Promise((done) => server.listen(port, '127.0.0.1', () => done(server)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const page = fileURLToPath(new URL('./page/dist/', import.meta.url));
  const server = await serve({ '/model/': resolve(process.argv[2]), '/': page }, { port: Number(process.argv[3] ?? 8080) });
  console.log(`Open http://localhost:${server.address().port}/?model=model/ in a browser with WebGPU. Ctrl-C ends it.`);
}
