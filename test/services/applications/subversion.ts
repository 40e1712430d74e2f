import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureInstalled } from '../../support/installed.ts';
import { startApache } from '../apache.ts';
import { type Application, run } from '../application.ts';

const PASSWORD = 'a-password';

/** WebDAV with methods of its own (REPORT, MERGE, CHECKOUT) and many short requests over few connections, each with a password by Basic. */
export const subversion: Application = {
  name: 'Subversion 1.14 (Apache 2.4 with mod_dav_svn)',
  usedBy: '`svn checkout`, `commit`, `copy`, `move`, `lock`, `switch`, `merge`, `log` and `export`',
  fetch() {
    ensureInstalled({ command: 'apache2', versionArgs: ['-v'], packages: ['apache2'] });
    const module = '/usr/lib/apache2/modules/mod_dav_svn.so';
    const packages = ['subversion', 'libapache2-mod-svn'];
    ensureInstalled({ command: 'svn', versionArgs: ['--version'], packages, module });
  },
  async start(folder) {
    const path = join(folder, 'root', 'repositories');
    const sum = createHash('sha1').update(PASSWORD).digest('base64');
    await writeFile(join(folder, 'users'), `ada:{SHA}${sum}\n`, { mode: 0o644 });
    const basic = ['AuthType Basic', 'AuthName svn', `AuthUserFile ${folder}/users`, 'Require valid-user'];
    const lines = ['DAV svn', `SVNParentPath ${path}`, ...basic];
    const modules = ['auth_basic', 'authn_core', 'authn_file', 'authz_user', 'dav_svn'];
    const port = await startApache(folder, modules, `<Location />\n${lines.join('\n')}\n</Location>`);
    await run(folder, 'mkdir', path);
    return port;
  },
  async use(url, folder, name) {
    const repository = join(folder, 'root', 'repositories', name);
    await run(folder, 'svnadmin', 'create', repository);
    await run(folder, 'chmod', '-R', 'a+rwX', repository);
    const at = `${url}/${name}`;
    const options = [
      '--non-interactive',
      '--username',
      'ada',
      '--password',
      PASSWORD,
      '--config-dir',
      `${folder}/svn`,
    ];
    const seen: string[] = [];
    const svn = async (where: string, ...args: string[]) =>
      void seen.push(await run(where, 'svn', ...args, ...options));
    await svn(folder, 'mkdir', `${at}/trunk`, `${at}/branches`, '-m', 'begin');
    await svn(folder, 'checkout', `${at}/trunk`, name);
    const work = join(folder, name);
    await writeFile(join(work, 'a ä%2f#'), 'one\n');
    await writeFile(join(work, 'long'), 'a line\n'.repeat(300_000));
    await svn(work, 'add', 'a ä%2f#', 'long');
    await svn(work, 'propset', 'svn:mime-type', 'text/plain', 'long');
    await svn(work, 'commit', '-m', 'files ä');
    await svn(folder, 'copy', `${at}/trunk`, `${at}/branches/one`, '-m', 'a branch');
    await svn(work, 'switch', `${at}/branches/one`);
    await svn(work, 'move', 'long', 'longer');
    await svn(work, 'commit', '-m', 'move');
    await svn(work, 'switch', `${at}/trunk`);
    await svn(work, 'merge', `${at}/branches/one`);
    await svn(work, 'commit', '-m', 'merged');
    await svn(work, 'lock', 'longer');
    await svn(work, 'status', '-u');
    await svn(work, 'unlock', 'longer');
    await svn(work, 'update');
    await svn(work, 'log', '-v', '-g', '-q');
    await svn(work, 'blame', 'a ä%2f#');
    await svn(folder, 'export', `${at}/trunk`, `${name}-export`);
    await svn(folder, 'list', '-R', at);
    return seen
      .join('\n')
      .replaceAll(name, 'NAME')
      .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [^|\n]*/g, 'TIME');
  },
};
