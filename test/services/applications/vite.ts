import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { type Application, run, startProgram } from '../application.ts';

const FILES = {
  'index.html': '<!doctype html><script type="module" src="/main.js"></script>',
  'main.js': `import { value } from './value.js';\nimport './style.css';\nconsole.log(value);\nif (import.meta.hot) import.meta.hot.accept('./value.js', () => {});\n`,
  'style.css': 'body { color: red }\n',
  'vite.config.mjs': `export default { cacheDir: '.vite', server: { strictPort: true, watch: { usePolling: true, interval: 50 } }, logLevel: 'error' };\n`,
};

/** Does what the client of Vite does in a browser: loads modules, listens to the WebSocket, and hears of a change. */
const CLIENT = `
import { writeFile } from 'node:fs/promises';
const [url, run] = process.argv.slice(2);
const seen = [];
const ask = async (path, headers = {}) => {
  const response = await fetch(url + path, { headers });
  const text = await response.text();
  seen.push([path.replace(/t=\\d+/, 't=N'), response.status, response.headers.get('content-type'), text.length > 0].join(' '));
  return { text, etag: response.headers.get('etag') };
};
await writeFile('value.js', 'export const value = 0;\\n');
await ask('/', { accept: 'text/html' });
const client = await ask('/@vite/client');
const { etag } = await ask('/main.js');
await ask('/main.js', { 'if-none-match': etag });
await ask('/style.css');
await ask('/value.js');
await ask('/@fs/etc/passwd');
await ask('/a/page', { accept: 'text/html' });
const token = /wsToken = "([^"]+)"/.exec(client.text)[1];
const socket = new WebSocket(url.replace('http', 'ws') + '/?token=' + token, 'vite-hmr');
const messages = [];
let heard = () => {};
socket.onmessage = ({ data }) => { messages.push(JSON.parse(data)); heard(); };
const until = async isThis => {
  for (;;) {
    const found = messages.find(isThis);
    if (found) return found;
    await new Promise(resolve => { heard = resolve; });
  }
};
await until(({ type }) => type === 'connected');
await writeFile('value.js', 'export const value = "' + run + '";\\n');
const update = await until(({ type }) => type === 'update');
seen.push(JSON.stringify(update.updates.map(({ type, path, acceptedPath }) => [type, path, acceptedPath])));
const changed = await ask('/value.js?t=' + update.updates[0].timestamp);
seen.push(String(changed.text.includes(run)), socket.protocol);
await new Promise(resolve => { socket.onclose = resolve; socket.close(); });
console.log(seen.join('\\n'));
process.exit();
`;

export const vite: Application = {
  name: 'Vite 8.3 (its development server)',
  usedBy:
    'what its client in a browser does: modules, conditional requests, and an update that comes over its WebSocket',
  packages: ['vite@8.3.8'],
  route: { websocket: true },
  async start(folder) {
    for (const [name, text] of Object.entries({ ...FILES, 'client.mjs': CLIENT }))
      await writeFile(join(folder, name), text);
    const port = await freePort();
    const args = ['node_modules/vite/bin/vite.js', '--host', '127.0.0.1', '--port', String(port)];
    return startProgram(folder, port, process.execPath, ...args);
  },
  use: (url, folder, name) => run(folder, process.execPath, 'client.mjs', url, name),
};
