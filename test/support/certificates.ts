import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Identity {
  /** PEM. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
}

export interface Certificates {
  /** PEM of the authority that signed `server` and `client`. */
  readonly ca: string;
  /** For https on 127.0.0.1 and localhost. */
  readonly server: Identity;
  /** Common name `weir-gateway`. */
  readonly client: Identity;
}

/** Makes an authority and two certificates with the `openssl` command, good for a day. */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'weir-certificates-'));
  try {
    const run = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
    const read = (name: string) => readFileSync(join(folder, name), 'utf8');
    const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    run(
      'req',
      '-x509',
      ...newKey,
      '-keyout',
      'ca.key',
      '-out',
      'ca.crt',
      '-days',
      '1',
      '-subj',
      '/CN=weir test authority',
    );
    const issue = (name: string, subject: string, extensions: string): Identity => {
      writeFileSync(join(folder, `${name}.ext`), extensions);
      run('req', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', subject);
      const signed = [
        '-CA',
        'ca.crt',
        '-CAkey',
        'ca.key',
        '-CAcreateserial',
        '-days',
        '1',
        '-extfile',
        `${name}.ext`,
      ];
      run('x509', '-req', '-in', `${name}.csr`, ...signed, '-out', `${name}.crt`);
      return { certificate: read(`${name}.crt`), key: read(`${name}.key`) };
    };
    return {
      ca: read('ca.crt'),
      server: issue(
        'server',
        '/CN=localhost',
        'subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth\n',
      ),
      client: issue('client', '/CN=weir-gateway', 'extendedKeyUsage=clientAuth\n'),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
