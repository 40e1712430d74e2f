import { join } from 'node:path';
import { ensureInstalled } from '../../support/installed.ts';
import { startApache } from '../apache.ts';
import { type Application, run } from '../application.ts';

/** The suite for WebDAV servers. Each of its requests names its test, and COPY and MOVE a Destination with the host. */
export const litmus: Application = {
  name: 'Apache 2.4 with mod_dav',
  usedBy: 'litmus 0.13, the suite for WebDAV: all of its 104 tests',
  fetch() {
    ensureInstalled({ command: 'apache2', versionArgs: ['-v'], packages: ['apache2'] });
    ensureInstalled({ command: 'test', versionArgs: ['-x', '/usr/bin/litmus'], packages: ['litmus'] });
  },
  start: folder =>
    startApache(
      folder,
      ['dav_fs'],
      `
DavLockDB ${join(folder, 'root.locks')}
<Directory ${join(folder, 'root')}>
  Dav On
  Require all granted
</Directory>`,
    ),
  // It ends with the number of tests that failed; nothing of a suite that failed keeps another from running.
  use: (url, folder) => run(folder, 'sh', '-c', 'litmus --keep-going "$1/"; echo $?', 'sh', url),
};
