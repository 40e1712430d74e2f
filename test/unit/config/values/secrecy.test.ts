import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { type JsonSchema, jsonSchemaOf } from '../../../../src/config/index.ts';
import { diagnosticsOf, loadFiles, NEEDED } from '../../../support/config-text.ts';

/** Breaks every grammar of the schema, yet could be a password. */
const SECRET = 'hunter2/Zm9v+YmFy=';

type Keys = readonly string[];

/** Every way from the top of a file to a value; NAME stands for a key that the operator chooses, [] for an entry. */
function pathsOf(schema: JsonSchema, above: Keys = []): Keys[] {
  const within = (part: unknown, step: string): Keys[] =>
    typeof part === 'object' && part !== null ? pathsOf(part as JsonSchema, [...above, step]) : [];
  return [
    above,
    ...Object.entries(schema.properties ?? {}).flatMap(([key, part]) => within(part, key)),
    ...within(schema.additionalProperties, 'NAME'),
    ...within(schema.items, '[]'),
    ...(schema.anyOf ?? []).flatMap(way => pathsOf(way, above)),
  ];
}

function valueAt(path: Keys, value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  return step === '[]' ? [valueAt(rest, value)] : { [step]: valueAt(rest, value) };
}

function everyPath(schema: JsonSchema): string[] {
  return [...new Set(pathsOf(schema).map(path => path.join('.')))];
}

/** The paths among these at which a value shows in what is printed. */
async function pathsShown(paths: readonly string[], print: (path: Keys) => Promise<string[]>) {
  const shown: string[] = [];
  for (const path of paths)
    if ((await print(path === '' ? [] : path.split('.'))).join('\n').includes('hunter2')) shown.push(path);
  return shown;
}

async function printGateway(path: Keys, value: unknown = SECRET): Promise<string[]> {
  return diagnosticsOf(await loadFiles({ 'gateway.yaml': stringify(valueAt(path, value)) }));
}

async function printLimits(path: Keys): Promise<string[]> {
  const files = {
    'gateway.yaml': `limits: limits.yaml\n${NEEDED}`,
    'limits.yaml': stringify(valueAt(path, SECRET)),
  };
  return diagnosticsOf(await loadFiles(files));
}

const HIDDEN_ONCE = [
  '',
  'identity_provider',
  'identity_provider.client_secret',
  'identity_provider.client_secret_file',
  'identity_provider.discovery_url',
  'identity_provider.endpoints',
  'identity_provider.endpoints.authorization',
  'identity_provider.endpoints.end_session',
  'identity_provider.endpoints.introspection',
  'identity_provider.endpoints.key_set',
  'identity_provider.endpoints.revocation',
  'identity_provider.endpoints.token',
  'identity_provider.issuer',
  'identity_provider.private_key_file',
  'identity_provider.tls',
  'identity_provider.tls.ca_file',
  'identity_provider.tls.certificate_file',
  'identity_provider.client_assertion.certificate_file',
  'identity_provider.tls.key_file',
  'listen.admin.tls',
  'listen.admin.tls.certificates',
  'listen.admin.tls.certificates.[]',
  'listen.admin.tls.certificates.[].certificate_file',
  'listen.admin.tls.certificates.[].key_file',
  'listen.admin.tls.client_certificates',
  'listen.admin.tls.client_certificates.ca_file',
  'listen.admin.token_file',
  'listen.grpc.tls',
  'listen.grpc.tls.certificates',
  'listen.grpc.tls.certificates.[]',
  'listen.grpc.tls.certificates.[].certificate_file',
  'listen.grpc.tls.certificates.[].key_file',
  'listen.grpc.tls.client_certificates',
  'listen.grpc.tls.client_certificates.ca_file',
  'listen.http.tls',
  'listen.http.tls.certificates',
  'listen.http.tls.certificates.[]',
  'listen.http.tls.certificates.[].certificate_file',
  'listen.http.tls.certificates.[].key_file',
  'listen.http.tls.client_certificates',
  'listen.http.tls.client_certificates.ca_file',
  'log',
  'log.pseudonym_key_file',
  'store',
  'store.password',
  'store.password_file',
  'store.redis',
  'store.sentinel_password_file',
  'store.tls',
  'store.tls.ca_file',
  'store.tls.certificate_file',
  'store.tls.key_file',
  'upstreams.NAME.balance.key_file',
  'upstreams.NAME.tls',
  'upstreams.NAME.tls.ca_file',
  'upstreams.NAME.tls.certificate_file',
  'upstreams.NAME.tls.key_file',
];

/** What is hidden about a provider is hidden about each of several. */
const HIDDEN = [
  ...HIDDEN_ONCE,
  'identity_providers',
  ...HIDDEN_ONCE.filter(path => path.startsWith('identity_provider')).map(path =>
    path.replace('identity_provider', 'identity_providers.[]'),
  ),
].toSorted();

describe('a secret in the place of any value', () => {
  it('is not printed where the schema marks a secret, a path or an address, or a map that holds one', async () => {
    const marked = everyPath(jsonSchemaOf('gateway')).filter(path => HIDDEN.includes(path));
    expect(marked.length).toBeGreaterThan(70);
    expect(await pathsShown([...marked, 'listen.http'], printGateway)).toEqual(['listen.http']);
  });

  it('is hidden at every key whose name speaks of a secret, a file or an address', async () => {
    const paths = everyPath(jsonSchemaOf('gateway'));
    const named = /(secret|password|_file|issuer|discovery_url|endpoints\.\w+|redis)$/;
    expect(paths.filter(path => named.test(path)).toSorted()).toEqual(
      HIDDEN.filter(path => named.test(path)),
    );
  });

  it.each([[{ hunter2: 1 }], [['hunter2']], [12_345], [true]])(
    'is not printed in any other form: %j',
    async value => {
      for (const path of ['identity_provider.client_secret', 'store.password']) {
        const diagnostics = await printGateway(path.split('.'), value);
        expect(diagnostics.join('\n')).toContain('this file must not contain secrets');
        expect(diagnostics.join('\n')).not.toMatch(/hunter2|12345/);
      }
    },
  );

  it('is shown in limits.yaml, where no key is a secret', async () => {
    expect(everyPath(jsonSchemaOf('limits'))).toContain('global.user');
    expect(await pathsShown(['global.user'], printLimits)).toEqual(['global.user']);
  });
});
