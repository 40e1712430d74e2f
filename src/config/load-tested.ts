import { checkLimits, crossCheck } from './check/index.ts';
import {
  compileGateway,
  type ReadLimits,
  readLimits,
  readLimitsAlone,
  withoutSecrets,
} from './compile/index.ts';
import { EffectiveConfig } from './effective-config.ts';
import { errorsBesideSecrets, errorsOf } from './errors-beside-secrets.ts';
import { ConfigFile, type Diagnostic, type Environment, KeyPlaces, Readings } from './file/index.ts';
import { holdsLimits } from './holds-limits.ts';
import type { Snapshot } from './model/index.ts';
import {
  type GatewayConfig,
  gatewayJsonSchema,
  gatewaySchema,
  gatewaySecrecy,
  type LimitsConfig,
  validate,
} from './schema/index.ts';

/** A configuration for `weir test`. */
export type LoadedTested =
  | { readonly ok: true; readonly snapshot: Snapshot }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

/**
 * Reads a gateway.yaml as far as requests depend on it: no certificate, no Redis, and no secret, which the computer that runs tests
 * may lack.
 *
 * @param limitsPath null: the limits are those that gateway.yaml names
 */
export async function loadTestedGateway(
  path: string,
  limitsPath: string | null,
  env: Environment,
): Promise<LoadedTested> {
  const file = await ConfigFile.read(path, env, new Readings(), gatewaySecrecy);
  if (holdsLimits(file.value)) file.add([], 'this is a limits file: name it under "limits"');
  const gateway = holdsLimits(file.value) ? undefined : validate(file, gatewaySchema, gatewayJsonSchema);
  crossCheck(file);
  const { limits, files } =
    limitsPath === null ? await readLimits(file, env) : await readLimitsAlone(limitsPath, env);
  if (files !== null) checkLimits(files, file);
  const diagnostics = [...errorsBesideSecrets(file), ...errorsIn(files)];
  if (gateway === undefined || limits === undefined || diagnostics.length > 0)
    return { ok: false, diagnostics };
  return { ok: true, snapshot: compile(gateway, limits) };
}

/**
 * Reads limits alone. Every path leads to a service, with a token or without, and so does every call of gRPC.
 *
 * @param grpcServices those that are called
 */
export async function loadTestedLimits(
  path: string,
  grpcServices: Iterable<string>,
  env: Environment,
): Promise<LoadedTested> {
  const { limits, files } = await readLimitsAlone(path, env);
  if (files !== null) checkLimits(files, null);
  const diagnostics = errorsIn(files);
  if (limits === undefined || diagnostics.length > 0) return { ok: false, diagnostics };
  return { ok: true, snapshot: compile(standInGateway(grpcServices), limits) };
}

function standInGateway(grpcServices: Iterable<string>): GatewayConfig {
  const calls = Array.from(grpcServices, service => ({ grpc: `${service}/*`, upstream: 'calls' }));
  return gatewaySchema.parse({
    identity_provider: {
      issuer: 'https://id.invalid',
      client_id: 'gateway',
      client_authentication: 'none',
      redirect_uri: 'https://app.invalid/',
    },
    access_tokens: { audience: 'any', bots: { claim: 'client_id' } },
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
    ...withoutSecrets(gateway, () => ({ kind: 'none' })),
    // For whom explains or compares, which no test does.
    settings: new Map(),
    effective: new EffectiveConfig({}),
    places: { routes: [], limits: new KeyPlaces(null) },
    hash: '',
    files: [],
  };
  return compileGateway(sources, 1);
}

function errorsIn(files: ReadLimits['files']): Diagnostic[] {
  return files?.files.flatMap(errorsOf) ?? [];
}
