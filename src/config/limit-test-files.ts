import { dirname, isAbsolute, join } from 'node:path';
import { atOnce, type Machine } from '../core/index.ts';
import { checkLimits, crossCheck } from './check/index.ts';
import type { ReadLimits } from './compile/index.ts';
import { readLimits, readLimitsAlone } from './compile/index.ts';
import { compileData, dataOf } from './config-data.ts';
import type { Diagnostic, Environment, Path, Read } from './file/index.ts';
import { asMap, ConfigFile, KeyPlaces, Readings } from './file/index.ts';
import { errorsExceptSecrets, errorsOf, holdsLimits, readGateway } from './gateway-file.ts';
import type { LimitsConfig } from './limits/index.ts';
import * as schema from './schema/index.ts';
import { type GatewayConfig, gatewaySchema, MAX_CLASSES, withoutSecrets } from './settings/index.ts';
import type { Snapshot } from './snapshot.ts';

type ConfigUnderTest = Read<{ readonly snapshot: Snapshot }>;

/**
 * Reads the parts of a gateway.yaml that requests depend on. No certificates, Redis or secrets: the machine that runs tests may
 * lack them.
 *
 * @param limitsPath `null` for the limits that gateway.yaml names
 */
async function loadGatewayUnderTest(
  path: string,
  limitsPath: string | null,
  env: Environment,
): Promise<ConfigUnderTest> {
  const { file, isLimits } = await readGateway(path, env, new Readings(), 'name it under "limits"');
  const gateway = isLimits ? undefined : schema.validate(file, gatewaySchema);
  crossCheck(file);
  const { limits, files } =
    limitsPath === null ? await readLimits(file, env) : await readLimitsAlone(limitsPath, env);
  if (files !== null) checkLimits(files, file);
  const diagnostics = [...errorsExceptSecrets(file), ...errorsIn(files)];
  if (gateway === undefined || limits === undefined || diagnostics.length > 0)
    return { ok: false, diagnostics };
  return { ok: true, snapshot: compile(gateway, limits) };
}

/**
 * Reads limits without a gateway.yaml. All paths and gRPC calls go to a service, with or without a token.
 *
 * @param grpcServices the services that the tests call
 */
async function loadLimitsUnderTest(
  path: string,
  grpcServices: Iterable<string>,
  env: Environment,
): Promise<ConfigUnderTest> {
  const { limits, files } = await readLimitsAlone(path, env);
  if (files !== null) checkLimits(files, null);
  const diagnostics = errorsIn(files);
  if (limits === undefined || diagnostics.length > 0) return { ok: false, diagnostics };
  return { ok: true, snapshot: compile(standInGateway(grpcServices, classesIn(limits)), limits) };
}

/** The names of classes that limits.yaml has numbers for, at most as many as a gateway may have. */
function classesIn({ global, buckets }: LimitsConfig): readonly string[] {
  const parts = [...(global === 'off' ? [] : [global]), ...Object.values(buckets)];
  const named = parts.flatMap(({ classes = {}, shadow }) => [
    ...Object.keys(classes),
    ...(typeof shadow === 'boolean' ? [] : Object.keys(shadow.classes ?? {})),
  ]);
  return [...new Set(named)].slice(0, MAX_CLASSES);
}

/** @param classes the classes that tokens can name in the claim `class` */
function standInGateway(grpcServices: Iterable<string>, classes: readonly string[]): GatewayConfig {
  const calls = Array.from(grpcServices, service => ({ grpc: `${service}/*`, upstream: 'calls' }));
  return gatewaySchema.parse({
    identity_provider: {
      issuer: 'https://id.invalid',
      client_id: 'gateway',
      client_authentication: 'none',
      redirect_uri: 'https://app.invalid/',
    },
    access_tokens: {
      audience: 'any',
      bots: { claim: 'client_id' },
      classes: Object.fromEntries(classes.map(name => [name, { claim: 'class', value: name }])),
    },
    upstreams: {
      service: { url: 'http://service.invalid' },
      calls: { url: 'http://calls.invalid', protocol: 'grpc' },
    },
    routes: [{ path: '/**', upstream: 'service' }, ...calls].map(route => ({
      ...route,
      authentication: 'optional',
    })),
  });
}

function compile(gateway: GatewayConfig, limits: LimitsConfig): Snapshot {
  const sources = {
    gateway,
    limits,
    apiKeys: [],
    secrets: withoutSecrets(withoutClients(gateway)),
    machine: ANY_MACHINE,
    // Tests neither explain nor compare configurations, so leave these parts empty.
    settings: new Map(),
    effective: schema.EffectiveConfig.ofParts({}),
    places: { routes: [], limits: new KeyPlaces('[]') },
    namedGlobals: [],
    hash: '',
    files: [],
  };
  return atOnce(compileData(dataOf(sources), 1, null));
}

/** No test sends requests to a provider, so the gateway needs no secret there. */
function withoutClients({ identity_provider: one, identity_providers: several, ...others }: GatewayConfig) {
  const none = { client_authentication: 'none' } as const;
  return {
    ...others,
    identity_provider: one && { ...one, ...none },
    identity_providers: several?.map(each => ({ ...each, ...none })),
  };
}

/** One thread serves every test, and has room for any cap. */
const ANY_MACHINE: Machine = {
  processors: 1,
  sharesPorts: true,
  processorLimit: 1,
  memoryBytes: Infinity,
  memoryLimitBytes: Infinity,
  heapLimitBytes: Infinity,
  descriptorLimit: Infinity,
};

function errorsIn(files: ReadLimits['files']): Diagnostic[] {
  return files?.files.flatMap(errorsOf) ?? [];
}

interface LimitTest {
  readonly tests: schema.TestConfig['tests'];
  readonly snapshot: Snapshot;
  errorAt(path: Path, message: string): Diagnostic;
}

export async function loadLimitTest(path: string, env: Environment): Promise<Read<LimitTest>> {
  const file = await ConfigFile.read(path, env, new Readings(), schema.testSecrecy);
  if (holdsLimits(file.value)) {
    file.add([], 'this is a limits file: name a file of tests, which may name this one under "limits"');
    return { ok: false, diagnostics: file.diagnostics };
  }
  const { upstreams, tests: written } = asMap(file.value);
  if (upstreams !== undefined && written === undefined) {
    file.add([], 'this is a gateway.yaml: name a file of tests, which may name this one under "gateway"');
    return { ok: false, diagnostics: file.diagnostics };
  }
  const config = schema.validate(file, schema.testSchema);
  if (config === undefined || file.hasErrors) return { ok: false, diagnostics: file.diagnostics };
  const named = (name: string) => (isAbsolute(name) ? name : join(dirname(path), name));
  const { gateway, limits, tests } = config;
  const loaded =
    gateway === undefined
      ? await loadLimitsUnderTest(named(limits ?? 'limits.yaml'), servicesIn(tests), env)
      : await loadGatewayUnderTest(named(gateway), limits === undefined ? null : named(limits), env);
  if (!loaded.ok) return loaded;
  const errorAt = (at: Path, message: string): Diagnostic => ({
    file: path,
    ...file.place(at),
    message,
    severity: 'error',
  });
  return { ok: true, tests, snapshot: loaded.snapshot, errorAt };
}

const CALL = /^GRPC \/([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\/[A-Za-z_]\w*$/;

function servicesIn(tests: schema.TestConfig['tests']): ReadonlySet<string> {
  const sent = tests.flatMap(({ requests }) => requests.map(({ send }) => CALL.exec(send)?.[1]));
  return new Set(sent.filter(service => service !== undefined));
}
