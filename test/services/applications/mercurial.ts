import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { ensureInstalled } from '../../support/installed.ts';
import { Random } from '../../support/random.ts';
import { type Application, run, startProgram } from '../application.ts';

/** Arguments in header fields (X-HgArg-1), a protocol of its own in GET and POST, and bundles of some MiB. */
export const mercurial: Application = {
  name: 'Mercurial 6.3 (`hg serve`)',
  usedBy:
    '`hg push`, `clone`, `pull`, `incoming`, `outgoing`, `bookmarks` and `identify`, of bundles of 3 MiB',
  fetch: () => ensureInstalled({ command: 'hg', versionArgs: ['--version'], packages: ['mercurial'] }),
  nginx: ['the push of 3 MiB is refused: 413', /413/],
  async start(folder) {
    const port = await freePort();
    const paths = [1, 2, 3].map(each => `run${each} = ${folder}/repositories/run${each}`);
    await writeFile(
      join(folder, 'web.conf'),
      `[paths]\n${paths.join('\n')}\n[web]\npush_ssl = no\nallow_push = *\n`,
    );
    for (const each of [1, 2, 3]) await run(folder, 'hg', 'init', join(folder, 'repositories', `run${each}`));
    const at = ['--address', '127.0.0.1', '--port', String(port)];
    return startProgram(folder, port, 'hg', 'serve', '--web-conf', 'web.conf', ...at);
  },
  async use(url, folder, name) {
    const work = join(folder, name);
    await mkdir(work);
    const seen: string[] = [];
    const hg = async (at: string, ...args: string[]) =>
      void seen.push(
        await run(at, 'hg', ...args, '--config', 'ui.username=ada', '--config', 'progress.disable=1'),
      );
    await hg(work, 'init');
    for (const [file, bytes] of [
      ['short', 10],
      ['long', 3 * 1024 ** 2],
    ] as const) {
      await writeFile(join(work, file), new Random(1).bytes(bytes));
      await hg(work, 'commit', '--addremove', '-m', file, '-d', '0 0');
      await hg(work, 'bookmark', `of-${file}`);
      await hg(work, 'outgoing', `${url}/${name}`);
      await hg(work, 'push', '-B', `of-${file}`, `${url}/${name}`);
    }
    await hg(folder, 'clone', `${url}/${name}`, `${name}-again`);
    const again = join(folder, `${name}-again`);
    await writeFile(join(work, 'short'), 'changed');
    await hg(work, 'commit', '-m', 'changed', '-d', '0 0');
    await hg(work, 'push', `${url}/${name}`);
    await hg(again, 'incoming');
    await hg(again, 'pull', '-u');
    await hg(again, 'log', '-p', '-r', 'tip');
    await hg(again, 'bookmarks');
    await hg(folder, 'identify', '-r', 'of-long', `${url}/${name}`);
    await hg(again, 'verify');
    return seen.join('\n').replaceAll(url, 'URL').replaceAll(name, 'NAME');
  },
};
