import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { LoadResult, ProviderModel } from '../../../../src/config/index.ts';
import { type Certificates, makeCertificates } from '../../../support/certificates.ts';
import { diagnosticsOf, loadFiles } from '../../../support/config-text.ts';

const SECRET = 'hunter2hunter2';
const REST = `access_tokens: { audience: api }
routes: [{ path: /**, upstream: api }]
upstreams: { api: { url: "http://api:3000" } }
`;
const NEEDED = 'issuer: "https://id", client_id: gateway, redirect_uri: "https://app"';
const rsa = pem(generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey);
const ed25519 = pem(generateKeyPairSync('ed25519').privateKey);

let certificates: Certificates;
beforeAll(() => {
  certificates = makeCertificates();
});

/** Loads a provider with these keys before those that are needed, in line 1 from column 22 on, beside these files. */
function load(keys: string, files: Readonly<Record<string, string | Buffer>> = {}): Promise<LoadResult> {
  const env = { SECRET, LINE: `${SECRET}\r\n`, FOLDER: 'secrets' };
  return loadFiles({ 'gateway.yaml': `identity_provider: { ${keys}, ${NEEDED} }\n${REST}`, ...files }, env);
}

async function diagnosticsWith(...parameters: Parameters<typeof load>): Promise<string[]> {
  const diagnostics = diagnosticsOf(await load(...parameters));
  expect(diagnostics.join('\n')).not.toContain('hunter2');
  return diagnostics.map(diagnostic =>
    diagnostic.replace('gateway.yaml:1:', '').replace(/identity_provider(\.|: )/, ''),
  );
}

async function providerWith(...parameters: Parameters<typeof load>): Promise<ProviderModel | undefined> {
  const result = await load(...parameters);
  expect(diagnosticsOf(result)).toEqual([]);
  return result.ok ? result.snapshot.identity?.providers[0] : undefined;
}

describe('the secret of the gateway', () => {
  it('may stand in a variable of the environment, whose line end does not count', async () => {
    for (const name of ['SECRET', 'LINE']) {
      const provider = await providerWith(`client_secret: "\${${name}}"`);
      expect(provider?.signIn?.clientAuthentication).toEqual({ kind: 'client_secret_basic', secret: SECRET });
    }
  });

  it('may stand in a file beside gateway.yaml, whose line ends do not count', async () => {
    const keys = `client_secret_file: "\${FOLDER}/oidc", client_authentication: client_secret_post`;
    const provider = await providerWith(keys, { 'secrets/oidc': `${SECRET}\r\n\n` });
    expect(provider?.signIn?.clientAuthentication).toEqual({ kind: 'client_secret_post', secret: SECRET });
  });

  it('is read anew with the configuration, whose hash reveals eight bits of it at most', async () => {
    const [one, other] = await Promise.all(
      ['hunter2-one', 'hunter2-other'].map(text => load('client_secret_file: oidc', { oidc: text })),
    );
    expect(one).toMatchObject({
      snapshot: {
        identity: { providers: [{ signIn: { clientAuthentication: { secret: 'hunter2-one' } } }] },
      },
    });
    expect(other).toMatchObject({
      snapshot: {
        identity: { providers: [{ signIn: { clientAuthentication: { secret: 'hunter2-other' } } }] },
      },
    });
    expect(one?.ok && one.snapshot.hash.slice(0, 14)).toBe(other?.ok && other.snapshot.hash.slice(0, 14));
  });

  it('must be somewhere', async () => {
    expect(await diagnosticsWith('scope: openid')).toEqual([
      '20: missing key "client_secret_file": client_secret_basic needs it, or client_secret: "$' + '{NAME}"',
    ]);
  });

  it('is in one place only', async () => {
    expect(
      await diagnosticsWith('client_secret_file: oidc, client_secret: "$' + '{SECRET}"', { oidc: SECRET }),
    ).toEqual(['22: "client_secret" is given as well: remove one of the two']);
  });

  it.each([
    ['is missing', {}, 'no such file (looked for in '],
    ['is empty', { oidc: '\n' }, 'the file is empty'],
    [
      'has several lines',
      { oidc: 'hunter2\nhunter2' },
      'a secret must be one line without control characters',
    ],
    ['is not text', { oidc: Buffer.from([0xff, 0xfe]) }, 'the file is not UTF-8 text'],
    ['is a folder', { 'oidc/x': '' }, 'this is a directory, expected a file'],
    [
      'is far too large',
      { oidc: 'x'.repeat(2 ** 20 + 1) },
      'the file is larger than 1 MiB: is this the right file?',
    ],
  ])('is not taken from a file that %s', async (_, files, why) => {
    const [diagnostic = '', ...more] = await diagnosticsWith('client_secret_file: oidc', files);
    expect(diagnostic).toContain(`42: client_secret_file: ${why}`);
    expect(more).toEqual([]);
  });

  it('is not shown where it is put in the place of its file', async () => {
    expect(await diagnosticsWith('client_secret_file: hunter2hunter2')).toEqual([
      expect.stringMatching(/^42: client_secret_file: no such file \(looked for in \/.*\)$/),
    ]);
  });
});

describe('a way to authenticate', () => {
  it.each([
    [
      'client_authentication: none, client_secret: "$' + '{SECRET}"',
      '51: "client_secret" has no effect with client_authentication: none',
    ],
    [
      'client_secret: "$' + '{SECRET}", private_key_id: gateway-2026',
      '50: "private_key_id" has no effect with client_authentication: client_secret_basic',
    ],
    [
      'client_authentication: private_key_jwt',
      '20: missing key "private_key_file": private_key_jwt needs it',
    ],
    [
      'client_authentication: tls_client_auth',
      '45: client_authentication: needs a certificate and its key under tls',
    ],
    [
      'client_secret: "$' + '{SECRET}", client_assertion: {}',
      '50: "client_assertion" has no effect with client_authentication: client_secret_basic',
    ],
  ])('is refused with what does not belong to it: %s', async (keys, diagnostic) => {
    expect(await diagnosticsWith(keys)).toEqual([diagnostic]);
  });

  it('may be a private key, with the id by which the provider finds it', async () => {
    const keys =
      'client_authentication: private_key_jwt, private_key_file: key.pem, private_key_id: gateway-2026';
    const provider = await providerWith(keys, { 'key.pem': rsa });
    expect(provider?.signIn?.clientAuthentication).toMatchObject({
      kind: 'private_key_jwt',
      key: rsa.trim(),
      keyId: 'gateway-2026',
    });
  });

  it('may say in its assertion for whom it is, and which certificate its key has', async () => {
    const { key, certificate } = certificates.client;
    const keys =
      'client_authentication: private_key_jwt, private_key_file: key.pem, client_assertion: { audience: token_endpoint, certificate_file: tls.crt }';
    const provider = await providerWith(keys, { 'key.pem': key, 'tls.crt': certificate });
    const { clientAuthentication } = provider?.signIn ?? {};
    expect(clientAuthentication).toMatchObject({
      audience: 'token_endpoint',
      certificate: certificate.trim(),
    });
    expect(provider?.client?.clientAuthentication).toEqual(clientAuthentication);
  });

  it.each([
    [
      'audience: token-endpoint',
      'audience: is almost one of the words issuer and token_endpoint: write that word, or an audience of its own',
    ],
    ['audience: "a b"', 'audience: must not contain spaces or line breaks'],
    ['certificate_file: other.crt', 'certificate_file: the key does not belong to the certificate'],
    ['certificate_file: key.pem', 'certificate_file: the file contains no PEM certificate'],
    ['certificate_file: none.crt', 'certificate_file: no such file'],
  ])('is refused with an assertion that cannot be: %s', async (assertion, why) => {
    const { client, server } = certificates;
    const keys = `client_authentication: private_key_jwt, private_key_file: key.pem, client_assertion: { ${assertion} }`;
    const [found = '', ...others] = await diagnosticsWith(keys, {
      'key.pem': client.key,
      'other.crt': server.certificate,
    });
    expect(others).toEqual([]);
    expect(found).toContain(`client_assertion.${why}`);
  });

  it.each([
    ['nonsense', 'the file contains no PEM private key, or an encrypted one'],
    [ed25519, 'cannot be used: a key of type ed25519 cannot sign client assertions: use RSA or EC'],
  ])('is refused with a key that cannot sign', async (key, why) => {
    const keys = 'private_key_file: key.pem, client_authentication: private_key_jwt';
    expect(await diagnosticsWith(keys, { 'key.pem': key })).toEqual([`40: private_key_file: ${why}`]);
  });

  it('does not show a key that is put in the place of its file', async () => {
    const keys = `private_key_file: ${JSON.stringify(rsa)}, client_authentication: private_key_jwt`;
    const diagnostics = await diagnosticsWith(keys);
    expect(diagnostics).toEqual(['40: private_key_file: write the path of the file here, not its content']);
  });
});

describe('the files for https', () => {
  const NONE = 'client_authentication: none, ';

  it('are read: whom to trust, and the certificate of the gateway', async () => {
    const { ca, client } = certificates;
    const tls = 'tls: { ca_file: ca.crt, certificate_file: tls.crt, key_file: tls.key }';
    const provider = await providerWith(`${tls}, client_authentication: tls_client_auth`, {
      'ca.crt': ca,
      'tls.crt': client.certificate,
      'tls.key': client.key,
    });
    expect(provider?.provider.tls).toEqual({
      ca: ca.trim(),
      certificate: client.certificate.trim(),
      key: client.key.trim(),
    });
  });

  it.each([
    ['certificate_file', 'key_file', () => certificates.client.certificate],
    ['key_file', 'certificate_file', () => certificates.client.key],
  ])('come in pairs: %s needs %s', async (one, other, content) => {
    expect(await diagnosticsWith(`${NONE}tls: { ${one}: a.pem }`, { 'a.pem': content() })).toEqual([
      expect.stringMatching(new RegExp(`^\\d+: tls.${one}: also needs "${other}"$`)),
    ]);
  });

  it('are refused where they hold something else', async () => {
    const tls = 'tls: { ca_file: x, certificate_file: x, key_file: x }';
    expect(await diagnosticsWith(NONE + tls, { x: SECRET })).toEqual([
      '67: tls.ca_file: the file contains no PEM certificate',
      '88: tls.certificate_file: the file contains no PEM certificate',
      '101: tls.key_file: the file contains no PEM private key, or an encrypted one',
    ]);
  });

  it('are refused where one of several certificates cannot be read', async () => {
    const broken = '-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n';
    expect(await diagnosticsWith(`${NONE}tls: { ca_file: x }`, { x: certificates.ca + broken })).toEqual([
      '67: tls.ca_file: certificate 2 of the file cannot be read',
    ]);
  });

  it('are refused where certificate and key do not belong together', async () => {
    const files = { crt: certificates.client.certificate, key: certificates.server.key };
    expect(await diagnosticsWith(`${NONE}tls: { certificate_file: crt, key_file: key }`, files)).toEqual([
      '91: tls.key_file: the key does not belong to the certificate',
    ]);
  });
});

function pem(key: { export(options: { type: 'pkcs8'; format: 'pem' }): string | Buffer }): string {
  return String(key.export({ type: 'pkcs8', format: 'pem' }));
}

describe('a proxy to the provider', () => {
  const NO_PASSWORD =
    'this file must not contain secrets: write "$' +
    '{NAME}" to read the address with its password from an environment variable';

  async function read(key: string, environment: Readonly<Record<string, string>> = {}) {
    const keys = `issuer: "https://id"${key}`;
    const text = `identity_provider: { ${keys} }\n${REST}`;
    const result = await loadFiles({ 'gateway.yaml': text }, environment);
    const hints = result.ok ? result.hints.map(({ message }) => `hint: ${message}`) : [];
    const found = [...diagnosticsOf(result), ...hints];
    const diagnostics = found.map(each => each.replace(/^gateway\.yaml:[\d:]+ /, ''));
    expect(diagnostics.join('\n')).not.toContain('hunter2');
    return {
      diagnostics,
      proxy: result.ok ? result.snapshot.identity?.providers[0]?.provider.proxy : undefined,
    };
  }

  it('is none by default', async () => {
    expect(await read('')).toEqual({ diagnostics: [], proxy: null });
  });

  it('is an address, with a password in a variable only', async () => {
    const url = 'http://proxy.corp.example:3128';
    expect(await read(`, proxy: "${url}"`)).toEqual({
      ...{ diagnostics: [], proxy: { HTTPS_PROXY: url, HTTP_PROXY: url } },
    });
    const secret = 'https://weir:hunter2@proxy.corp.example';
    expect(await read(', proxy: "$' + '{P}"', { P: secret })).toEqual({
      ...{ diagnostics: [], proxy: { HTTPS_PROXY: secret, HTTP_PROXY: secret } },
    });
    expect((await read(`, proxy: "${secret}"`)).diagnostics).toEqual([
      `identity_provider.proxy: ${NO_PASSWORD}`,
    ]);
  });

  it.each([
    ['proxy.corp.example:3128', 'is not the address of a proxy: it must begin with http:// or https://'],
    ['socks5://proxy.corp.example', 'is not the address of a proxy: it must begin with http:// or https://'],
    ['http://proxy.corp.example/path', 'must be the address of a proxy alone, without a path'],
    ['http://a b', 'must not contain spaces or line breaks'],
  ])('is refused as %s', async (proxy, why) => {
    expect((await read(`, proxy: "${proxy}"`)).diagnostics).toEqual([`identity_provider.proxy: ${why}`]);
  });

  it('is read from the environment, where the file says so', async () => {
    const environment = { HTTPS_PROXY: 'http://a:1', no_proxy: '.corp.example', HTTP_PROXY: '', OTHER: 'x' };
    expect(await read(', proxy: environment', environment)).toEqual({
      ...{ diagnostics: [], proxy: { HTTPS_PROXY: 'http://a:1', no_proxy: '.corp.example' } },
    });
    const wrong = await read(', proxy: environment', { https_proxy: 'weir:hunter2@a:1' });
    expect(wrong.diagnostics).toEqual([
      'identity_provider.proxy: the variable https_proxy of the environment is not the address of a proxy: it must begin with http:// or https://',
    ]);
  });

  it('is hinted at where the environment has one that the file leaves out', async () => {
    const { diagnostics, proxy } = await read('', { HTTPS_PROXY: 'http://weir:hunter2@a:1' });
    expect(diagnostics).toEqual([
      'hint: identity_provider: HTTPS_PROXY in the environment is not used: the provider is asked without a proxy unless "proxy: environment" says so',
    ]);
    expect(proxy).toBeNull();
    expect((await read('', { NO_PROXY: '*' })).diagnostics).toEqual([]);
  });
});
