// Runs as root while the image is built: starts the gateway, without and with Redis, and its health check once as their user, so that Node.js keeps their
// compiled code, and makes that the property of root. Node.js keeps it by user: under another one it compiles each time.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const USER = { uid: 65_532, gid: 65_532 };
const MAIN = '/opt/weir/dist/main.js';
const CACHE = '/opt/weir/node_modules/.cache/weir';
const CONFIG = join(CACHE, 'gateway.yaml');
const IDLE = 'listen: { http: "127.0.0.1:0", admin: "127.0.0.1:9090" }\nupstreams: {}\nroutes: []\n';
/** Nothing listens there: the code for Redis is loaded nevertheless. */
const WITH_REDIS = `${IDLE}store: { redis: "redis://127.0.0.1:1" }\n`;

mkdirSync(CACHE, { recursive: true });
chownSync(CACHE, USER.uid, USER.gid);
for (const config of [IDLE, WITH_REDIS]) {
  writeFileSync(CONFIG, config);
  await serveOnce();
}
// Fails, since nothing runs now.
spawnSync(process.execPath, [MAIN, 'health', CONFIG], USER);
rmSync(CONFIG);
const kept = giveToRoot(CACHE);
if (kept === 0) throw new Error('Node.js kept no compiled code');
console.log(`${kept} files of compiled code`);

async function serveOnce(): Promise<void> {
  const gateway = spawn(process.execPath, [MAIN, 'serve', CONFIG], {
    ...USER,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let log = '';
  gateway.stdout.on('data', text => {
    log += text;
    // A second signal would stop it before Node.js has written.
    if (!gateway.killed && log.includes('"msg":"listening"')) gateway.kill('SIGTERM');
  });
  const [code] = await once(gateway, 'close');
  if (code !== 0) throw new Error(`the gateway ended with ${code}:\n${log}`);
}

/** Returns how many files it found. */
function giveToRoot(folder: string): number {
  chownSync(folder, 0, 0);
  let files = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    chmodSync(path, entry.isDirectory() ? 0o755 : 0o644);
    chownSync(path, 0, 0);
    files += entry.isDirectory() ? giveToRoot(path) : 1;
  }
  return files;
}
