import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Identity, TestAuthority } from '../../../support/certificates.ts';
import { diagnosticsOf, loadFiles, NEEDED } from '../../../support/config-text.ts';

let authority: TestAuthority;
let good: Identity;
beforeAll(() => {
  authority = new TestAuthority();
  good = authority.forHosts('a.test');
});

type Files = Readonly<Record<string, string>>;

/** Loads a listener with these terms of TLS, which begin in column 43 of line 1. */
const load = (tls: string, files: Files = {}) =>
  loadFiles({ 'gateway.yaml': `listen: { http: { address: "[::]:1", tls: ${tls} } }\n${NEEDED}`, ...files });

async function diagnosticsWith(tls: string, files?: Files): Promise<string[]> {
  const diagnostics = diagnosticsOf(await load(tls, files));
  return diagnostics.map(line => line.replace(/^gateway\.yaml:1:\d+: /, '').replace('listen.http.tls.', ''));
}

/** Two keys for each of these pairs, and their files. */
function withPairs(...pairs: readonly Identity[]): [tls: string, files: Files] {
  const names = pairs.map((_, index) => `{ certificate_file: ${index}.crt, key_file: ${index}.key }`);
  const files = pairs.flatMap(({ certificate, key }, index) => [
    [`${index}.crt`, certificate],
    [`${index}.key`, key],
  ]);
  return [`{ certificates: [${names.join(', ')}] }`, Object.fromEntries(files)];
}

describe('the certificates of a listener', () => {
  it('are read with their names, keys and end', async () => {
    const result = await load(...withPairs(authority.forHosts('A.test', '*.b.test', '127.0.0.1')));
    expect(diagnosticsOf(result)).toEqual([]);
    expect(result).toMatchObject({
      snapshot: {
        listen: {
          http: {
            tls: {
              certificates: [
                { name: '0.crt', serverNames: ['a.test', '*.b.test'], notAfterMs: expect.any(Number) },
              ],
              minVersion: 'TLSv1.2',
              clientCertificates: null,
            },
          },
        },
      },
    });
  });

  it('are refused with a key of another, in the line of the key', async () => {
    const [tls, files] = withPairs(good, authority.forHosts('b.test'));
    expect(await diagnosticsWith(tls, { ...files, '1.key': good.key })).toEqual([
      'certificates[1].key_file: the key does not belong to the certificate',
    ]);
  });

  it('are refused where OpenSSL would refuse them', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1_024 });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const weak = authority.forKey(key, 'a.test');
    expect(await diagnosticsWith(...withPairs({ certificate: weak, key }))).toEqual([
      'certificates[0].key_file: OpenSSL refuses the certificate: ee key too small',
    ]);
  });

  it.each([
    ['{ certificates: [] }', 'certificates: TLS needs a certificate: name at least one'],
    [
      '{ certificates: [{ certificate_file: 0.crt }] }',
      'certificates[0].certificate_file: also needs "key_file"',
    ],
    [
      '{ certificates: [{ certificate_file: no.crt, key_file: 0.key }] }',
      'certificates[0].certificate_file: no such file',
    ],
    [
      '{ certificates: [{ certificate_file: 0.key, key_file: 0.crt }] }',
      'the file contains no PEM certificate',
    ],
    ['{ min_version: TLSv1.1 }', 'min_version: expected "TLSv1.2" or "TLSv1.3"'],
    [
      '{ client_certificates: { ca_file: 0.key } }',
      'client_certificates.ca_file: the file contains no PEM certificate',
    ],
  ])('are refused: %s', async (tls, message) => {
    const [, files] = withPairs(good);
    expect((await diagnosticsWith(tls, files)).join('\n')).toContain(message);
  });

  it.each([
    [13, 'the certificate expires on '],
    [-1, 'the certificate expired on '],
  ])('are warned of %i days from their end', async (days, message) => {
    const diagnostics = await diagnosticsWith(...withPairs(authority.forHostsWith({ days }, 'a.test')));
    expect(diagnostics).toEqual([
      expect.stringContaining(`warning: certificates[0].certificate_file: ${message}`),
    ]);
  });

  it('are not warned of 15 days from it', async () => {
    expect(await diagnosticsWith(...withPairs(authority.forHostsWith({ days: 15 }, 'a.test')))).toEqual([]);
  });

  it('are warned of where no client can ask for one', async () => {
    expect(await diagnosticsWith(...withPairs(good, good, authority.forHosts('127.0.0.1')))).toEqual([
      expect.stringContaining('served this certificate: an earlier certificate already has all its names'),
      expect.stringContaining('served this certificate: it contains no DNS name'),
    ]);
  });
});
