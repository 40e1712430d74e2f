import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { startProgram } from './application.ts';

const MODULES = ['mpm_event', 'authz_core', 'mime', 'dav'];

/** Starts Debian's Apache with these modules of its own and this text of its configuration. Returns its port. */
export async function startApache(folder: string, modules: readonly string[], text: string): Promise<number> {
  const port = await freePort();
  const lines = [...MODULES, ...modules].map(
    name => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`,
  );
  await mkdir(join(folder, 'root'));
  // It serves nobody as root, and whom it runs as may enter no folder of a test.
  for (const each of [folder, join(folder, 'root')]) await chmod(each, 0o777);
  const user = process.getuid?.() === 0 ? 'User nobody\nGroup nogroup' : '';
  await writeFile(
    join(folder, 'apache.conf'),
    `
ServerRoot ${folder}
ServerName localhost
Listen 127.0.0.1:${port}
PidFile ${folder}/apache.pid
ErrorLog ${folder}/apache.log
${lines.join('\n')}
${user}
TypesConfig /dev/null
DocumentRoot ${folder}/root
${text}
`,
  );
  return startProgram(folder, port, 'apache2', '-f', join(folder, 'apache.conf'), '-D', 'FOREGROUND');
}
