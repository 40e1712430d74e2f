import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { ensureInstalled } from '../../support/installed.ts';
import { Random } from '../../support/random.ts';
import { type Application, run, startProgram } from '../application.ts';

/** Begins a command that ends with the first thing that goes wrong: restic would try again for a quarter of an hour. */
const ONCE = [
  ...['bash', '-o', 'pipefail', '-c'],
  `"$@" 2>&1 | awk '/retrying/ { print > "/dev/stderr"; exit 1 } { print }'`,
  'bash',
];

/** Packs of some MiB over several connections, ranges, and HEAD; what it reads back it checks by their sums. */
export const restic: Application = {
  name: 'rclone 1.60 (`serve restic`)',
  usedBy:
    'restic 0.14: `init`, `backup`, `snapshots`, `check --read-data`, `restore`, `forget --prune` of 20 MiB',
  nginx: ['packs of more than 1 MiB are refused: 413', /413/],
  fetch() {
    ensureInstalled({ command: 'rclone', versionArgs: ['version'], packages: ['rclone'] });
    ensureInstalled({ command: 'restic', versionArgs: ['version'], packages: ['restic'] });
  },
  async start(folder) {
    const port = await freePort();
    await mkdir(join(folder, 'data'));
    const args = ['serve', 'restic', join(folder, 'data'), '--addr', `127.0.0.1:${port}`];
    return startProgram(folder, port, 'rclone', ...args);
  },
  async use(url, folder, name) {
    const files = join(folder, name);
    await mkdir(files);
    await writeFile(join(files, 'long'), new Random(1).bytes(20 * 1024 ** 2));
    await writeFile(join(files, 'short'), 'short');
    const vars = [
      'RESTIC_PASSWORD=a-password',
      `RESTIC_REPOSITORY=rest:${url}/${name}/`,
      'RESTIC_PROGRESS_FPS=0',
    ];
    const seen: string[] = [];
    const ask = async (...args: string[]) =>
      void seen.push(await run(files, 'env', ...vars, ...ONCE, 'restic', ...args, '--no-cache', '--quiet'));
    await ask('init');
    await ask('backup', '.');
    await writeFile(join(files, 'short'), 'changed');
    await ask('backup', '.');
    await ask('snapshots', '--compact');
    await ask('stats');
    await ask('check', '--read-data');
    await ask('restore', 'latest', '--target', 'restored', '--verify');
    await ask('forget', '--keep-last', '1', '--prune');
    // How it cuts the file, and so what it counts, is another in each repository.
    const told = seen.join('\n').replaceAll(/\b[0-9a-f]{8,10}\b|[\d.:-]+( [KMG]?i?B)?/g, 'N');
    const sums = 'find restored -type f | sort | xargs md5sum';
    return (told + (await run(files, 'sh', '-c', sums))).replaceAll(name, 'NAME');
  },
};
