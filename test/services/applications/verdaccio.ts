import { createCipheriv } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { type Application, run, startProgram } from '../application.ts';

const CONFIG = `
storage: ./storage
auth: { htpasswd: { file: ./htpasswd } }
packages: { "**": { access: $all, publish: $authenticated, unpublish: $authenticated } }
log: { type: stdout, level: error }
`;

/** npm writes the name of a package with a scope as one segment, whose slash is escaped; packages of over 1 MiB are one JSON. */
export const verdaccio: Application = {
  name: 'Verdaccio 6.10',
  usedBy:
    '`npm publish`, `view`, `install`, `ci`, `dist-tag`, `deprecate` and `unpublish` of packages with and without a scope',
  packages: ['verdaccio@6.10.4'],
  // One of its dependencies names a version that the registry no longer has.
  overrides: { 'node-fetch': '2.7.0' },
  route: { encoded_slashes: 'pass' },
  nginx: ['the publication of a package of 2 MiB fails: 413', /failed: .*npm publish/],
  async start(folder) {
    await writeFile(join(folder, 'config.yaml'), CONFIG);
    const port = await freePort();
    const args = ['node_modules/verdaccio/bin/verdaccio', '-c', 'config.yaml', '-l', `127.0.0.1:${port}`];
    return startProgram(folder, port, process.execPath, ...args);
  },
  async use(url, folder, name) {
    const login = await fetch(`${url}/-/user/org.couchdb.user:${name}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name, password: 'a long one' }),
    });
    const { token } = (await login.json()) as { token?: string };
    const config = join(folder, `${name}.npmrc`);
    const keys = ['audit=false', 'fund=false', 'update-notifier=false', `cache=${folder}/${name}-cache`];
    await writeFile(
      config,
      [`registry=${url}/`, `${url.replace('http:', '')}/:_authToken=${token}`, ...keys].join('\n'),
    );
    const npm = (at: string, ...args: string[]) => run(at, 'npm', ...args, '--userconfig', config);
    const seen: string[] = [String(login.status)];
    const scoped = `@a-${name}/thing`;
    for (const [thing, dependencies] of [
      [`plain-${name}`, {}],
      [scoped, { [`plain-${name}`]: '1' }],
    ] as const) {
      const work = join(folder, thing.replace('/', '-'));
      await mkdir(work);
      await writeFile(
        join(work, 'package.json'),
        JSON.stringify({ name: thing, version: '1.0.0', dependencies }),
      );
      const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16));
      await writeFile(join(work, 'long'), noise.update(Buffer.alloc(2 * 1024 ** 2)));
      seen.push(await npm(work, 'publish', '--access', 'public'));
      seen.push(await npm(work, 'version', '1.1.0'), await npm(work, 'publish', '--tag', 'next', '--json'));
    }
    seen.push(await npm(folder, 'view', scoped, 'dist-tags', 'dist.tarball', 'dependencies', '--json'));
    seen.push(await npm(folder, 'dist-tag', 'add', `${scoped}@1.1.0`, 'latest'));
    seen.push(await npm(folder, 'deprecate', `${scoped}@1.0.0`, 'too old'), await npm(folder, 'whoami'));
    const user = join(folder, `${name}-user`);
    await mkdir(user);
    await writeFile(join(user, 'package.json'), '{}');
    await npm(user, 'install', scoped);
    await npm(user, 'ci');
    seen.push(await readFile(join(user, 'package-lock.json'), 'utf8'));
    seen.push(
      await npm(folder, 'unpublish', `${scoped}@1.0.0`),
      await npm(folder, 'view', scoped, 'versions'),
    );
    // A package holds its name, so that its sum depends on the run; npm has checked it.
    const text = seen.join('\n').replaceAll(/sha512-[^"]*|"shasum": "[^"]*/g, 'SUM');
    return text.replaceAll(url, 'URL').replaceAll(name, 'NAME');
  },
};
