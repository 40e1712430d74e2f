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
  const authority = new TestAuthority();
  return {
    ca: authority.certificate,
    server: authority.forHosts('127.0.0.1', 'localhost'),
    client: authority.forClient('weir-gateway'),
  };
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** An authority that issues certificates with the `openssl` command. */
export class TestAuthority {
  /** PEM. */
  readonly certificate: string;
  readonly #key: string;

  constructor(name = 'weir test authority') {
    [this.certificate, this.#key] = inFolder({}, run => {
      const out = ['-keyout', 'key', '-out', 'crt'];
      run('req', '-x509', ...NEW_KEY, ...out, '-days', '30', '-subj', `/CN=${name}`);
      return ['crt', 'key'];
    });
  }

  /** For https on these hosts: names, wildcards or addresses. */
  forHosts(...hosts: readonly string[]): Identity {
    return this.forHostsWith({}, ...hosts);
  }

  /** `days` until it expires; in the past where below 0. */
  forHostsWith({ days = 30 }: { readonly days?: number }, ...hosts: readonly string[]): Identity {
    const names = hosts.map(host => `${/^[\d.]+$/.test(host) ? 'IP' : 'DNS'}:${host}`).join(',');
    const subject = hosts.length === 0 ? '' : `subjectAltName=${names}\n`;
    return this.#issue('/CN=localhost', `${subject}extendedKeyUsage=serverAuth\n`, days);
  }

  forClient(name: string): Identity {
    return this.#issue(`/CN=${name}`, 'extendedKeyUsage=clientAuth\n', 30);
  }

  /** The certificate of a key that exists, for https on this host. PEM. */
  forKey(key: string, host: string): string {
    const extensions = `subjectAltName=DNS:${host}\n`;
    return this.#issue('/CN=localhost', extensions, 30, key).certificate;
  }

  #issue(subject: string, extensions: string, days: number, known?: string): Identity {
    const files = {
      ...{ 'ca.crt': this.certificate, 'ca.key': this.#key, extensions },
      ...(known !== undefined && { key: known }),
    };
    const [certificate, key] = inFolder(files, run => {
      const made = known === undefined ? [...NEW_KEY, '-keyout', 'key'] : ['-new', '-key', 'key'];
      run('req', ...made, '-out', 'csr', '-subj', subject);
      const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'extensions'];
      run('x509', '-req', '-in', 'csr', ...signed, '-days', String(days), '-out', 'crt');
      return ['crt', 'key'];
    });
    return { certificate, key };
  }
}

/** Runs commands of openssl in a folder with these files, and reads two files that they left. */
function inFolder(
  files: Readonly<Record<string, string>>,
  use: (run: (...args: string[]) => void) => readonly [string, string],
): readonly [string, string] {
  const folder = mkdtempSync(join(tmpdir(), 'weir-certificates-'));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const [one, other] = use((...args) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' }));
    return [readFileSync(join(folder, one), 'utf8'), readFileSync(join(folder, other), 'utf8')];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
