import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { type Application, run, startProgram } from '../application.ts';

const SETTINGS = `module.exports = {
  uiHost: '127.0.0.1',
  credentialSecret: false,
  telemetry: { enabled: false },
  logging: { console: { level: 'error' } },
};`;

/** Does what the editor does in a browser: loads it, listens to its WebSocket, deploys a flow; and uses what the flow serves. */
const CLIENT = `
const WebSocket = require('ws');
const [url, run] = process.argv.slice(2);
const seen = [];
const see = (...values) => seen.push(values.map(value => typeof value === 'string' ? value : JSON.stringify(value)).join(' '));
async function ask(path, init = {}) {
  const response = await fetch(url + path, init);
  const body = await response.text();
  see(init.method ?? 'GET', path, response.status, response.headers.get('content-type'), response.headers.get('etag'), body.length);
  return body;
}
(async () => {
  const page = await ask('/');
  for (const [, path] of page.matchAll(/(?:src|href)="([^":]+)"/g)) await ask('/' + path);
  for (const path of ['settings', 'theme', 'nodes', 'icons', 'locales/editor?lng=en-US', 'red/images/node-red.svg']) await ask('/' + path, { headers: { accept: 'application/json' } });
  await ask('/nodes', { headers: { accept: 'text/html' } });
  const editor = new WebSocket(url.replace('http', 'ws') + '/comms');
  await new Promise((resolve, reject) => editor.on('open', resolve).on('error', reject));
  const topics = [];
  let waiting = () => {};
  editor.on('message', text => { for (const each of [JSON.parse(text)].flat()) topics.push(each); waiting(); });
  const heard = async topic => {
    for (;;) {
      const found = topics.find(each => each.topic === topic);
      if (found) return topics.splice(0).find(each => each.topic === topic);
      await new Promise(resolve => { waiting = resolve; });
    }
  };
  for (const topic of ['notification/#', 'debug', 'status/#']) editor.send(JSON.stringify({ subscribe: topic }));
  const flows = [
    { id: 'tab', type: 'tab', label: run },
    { id: 'in', z: 'tab', type: 'http in', url: '/' + run + '/:id', method: 'post', upload: false, wires: [['made']] },
    { id: 'made', z: 'tab', type: 'function', func: 'msg.payload = { id: msg.req.params.id, got: msg.payload, length: JSON.stringify(msg.payload).length }; return msg;', outputs: 1, wires: [['out', 'told']] },
    { id: 'out', z: 'tab', type: 'http response', wires: [] },
    { id: 'told', z: 'tab', type: 'debug', active: true, tosidebar: true, complete: 'payload.length', wires: [] },
    { id: 'clock', z: 'tab', type: 'inject', props: [{ p: 'payload' }], payload: 'by hand', payloadType: 'str', wires: [['shown']] },
    { id: 'shown', z: 'tab', type: 'debug', active: true, tosidebar: true, complete: 'payload', wires: [] },
    { id: 'wsl', type: 'websocket-listener', path: '/' + run + '/ws', wholemsg: 'false' },
    { id: 'wsin', z: 'tab', type: 'websocket in', server: 'wsl', wires: [['wsout']] },
    { id: 'wsout', z: 'tab', type: 'websocket out', server: 'wsl', wires: [] },
  ];
  const json = { 'content-type': 'application/json', 'Node-RED-API-Version': 'v2' };
  const { rev } = JSON.parse(await (await fetch(url + '/flows', { headers: json })).text());
  const deployed = await fetch(url + '/flows', { method: 'POST', headers: { ...json, 'Node-RED-Deployment-Type': 'full' }, body: JSON.stringify({ flows, rev }) });
  see('deploy', deployed.status, Object.keys(await deployed.json()));
  see((await heard('notification/runtime-deploy')).topic);
  await ask('/' + run + '/a%20b', { method: 'POST', headers: json, body: JSON.stringify({ x: 'ä'.repeat(300_000) }) });
  see((await heard('debug')).data.msg);
  await ask('/inject/clock', { method: 'POST' });
  see((await heard('debug')).data.msg);
  const socket = new WebSocket(url.replace('http', 'ws') + '/' + run + '/ws');
  await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject));
  for (const text of ['one', 'ä'.repeat(100_000)]) {
    const answer = new Promise(resolve => socket.once('message', resolve));
    socket.send(text);
    see(String(await answer) === text);
  }
  await ask('/context/global');
  await ask('/flow/tab', { method: 'DELETE' });
  console.log(seen.join('\\n').replaceAll(run, 'RUN'));
  socket.close();
  editor.close();
})();
`;

export const nodeRed: Application = {
  name: 'Node-RED 5.0',
  usedBy:
    'what its editor asks: pages, admin API, WebSocket, a flow that is deployed and serves HTTP and WebSocket; `node-red admin`',
  packages: ['node-red@5.0.7'],
  route: { websocket: true },
  async start(folder) {
    await writeFile(join(folder, 'settings.js'), SETTINGS);
    await writeFile(join(folder, 'client.cjs'), CLIENT);
    const port = await freePort();
    const args = [
      'node_modules/node-red/red.js',
      '-s',
      'settings.js',
      '-u',
      folder,
      '-p',
      String(port),
      'flows.json',
    ];
    return startProgram(folder, port, process.execPath, ...args);
  },
  async use(url, folder, name) {
    const seen = await run(folder, process.execPath, 'client.cjs', url, name);
    const admin = (...args: string[]) =>
      run(folder, process.execPath, 'node_modules/node-red/red.js', 'admin', ...args, '--userDir', folder);
    await admin('target', url);
    return seen + (await admin('list'));
  },
};
