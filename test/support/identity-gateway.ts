import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GATEWAY_CLIENT } from '../../src/cli/demo/provider/demo-provider.ts';
import type { TimerClock } from '../../src/core/index.ts';
import { type ConfigPart, type GatewaySettings, type LocalGateway, startGateway } from './gateway.ts';
import { atEnd } from './lifetime.ts';
import { expectSecretsKept, secret } from './secrets.ts';
import { tempFolder } from './temp.ts';
import { clockOfLimits, clockOfWindows } from './test-clock.ts';
import type { TestIssuer } from './test-issuer.ts';
import { type CaptureUpstream, type Script, startUpstream } from './wire/index.ts';

export interface IdentitySettings {
  /** Where the provider is. */
  readonly issuer: string;
  /** Default: the demo's. */
  readonly secret?: string;
  readonly redirectUri?: string;
  /** Further keys of `identity_provider`. */
  readonly provider?: ConfigPart;
  /** Further keys of `access_tokens`. */
  readonly tokens?: ConfigPart;
  /** Routes besides `/**`, which requires a token. */
  readonly routes?: readonly ConfigPart[];
  /** Keys of limits.yaml. All tests come from one address, so that the global limit is off unless a test sets it. */
  readonly limits?: ConfigPart;
  /** Further keys of the upstream `api`. */
  readonly api?: ConfigPart;
  /** Further top-level keys of gateway.yaml. */
  readonly config?: ConfigPart;
  /** What the upstream `api` does. */
  readonly upstream?: Script;
  /** What time it is for the gateway. Default: `clockOfTests`; with limits, one whose durations stand still. */
  readonly clock?: TimerClock;
  /** As in GatewaySettings. */
  readonly settleMs?: number;
}

export interface IdentityGateway {
  readonly gateway: LocalGateway;
  readonly upstream: CaptureUpstream;
}

/**
 * Starts an upstream and a gateway that trusts this issuer. It does not wait for readiness. Everything is logged, and at the
 * end of the running test neither the log nor the metrics may hold the client's secret or whatever was named a `secret`.
 */
export async function startIdentityGateway(settings: IdentitySettings): Promise<IdentityGateway> {
  const upstream = await startUpstream(settings.upstream);
  const gateway = await startGateway(await identityConfig(settings, upstream));
  atEnd(() => expectSecretsKept(gateway));
  return { gateway, upstream };
}

/** The configuration of such a gateway, with its files. The client's secret is a `secret` from now on. */
export async function identityConfig(
  settings: IdentitySettings,
  upstream: Pick<CaptureUpstream, 'port'>,
): Promise<GatewaySettings> {
  const { issuer, provider, tokens, routes = [], limits, api, config, settleMs } = settings;
  const clock = clockOf(settings, clockOfWindows);
  const clientSecret = secret(settings.secret ?? GATEWAY_CLIENT.secret);
  secret(btoa(`${GATEWAY_CLIENT.id}:${clientSecret}`));
  return {
    upstreamPort: upstream.port,
    ...(api && { api }),
    ...(clock && { clock }),
    ...(settleMs && { settleMs }),
    config: {
      identity_provider: {
        issuer,
        client_id: GATEWAY_CLIENT.id,
        client_secret_file: await tempFile('client-secret', clientSecret),
        redirect_uri: settings.redirectUri ?? 'https://app.example/callback',
        scope: 'openid profile',
        ...provider,
      },
      access_tokens: {
        audience: 'api',
        bots: { claim: 'client_id' },
        identity_headers: { 'X-Auth-Subject': 'sub', 'X-Auth-Client': 'azp' },
        ...tokens,
      },
      routes: [{ path: '/**', upstream: 'api' }, ...routes.map(route => ({ upstream: 'api', ...route }))],
      limits: await tempFile('limits.yaml', JSON.stringify({ global: 'off', ...limits })),
      log: { level: 'trace', access: true },
      ...config,
    },
  };
}

/** The same for an issuer of the test's own, ready to check its tokens. Issuer and gateway go by one clock. */
export async function startGatewayOf(
  issuer: TestIssuer,
  settings: Omit<IdentitySettings, 'issuer'> = {},
): Promise<IdentityGateway> {
  const clock = clockOf(settings, clockOfLimits);
  issuer.clock = clock ?? issuer.clock;
  const started = await startIdentityGateway({ issuer: issuer.url, ...settings, ...(clock && { clock }) });
  await started.gateway.ready();
  return started;
}

/** The clock that the test names, or one for the limits that it sets. Redis counts by a clock of its own. */
function clockOf(
  { clock, limits, config }: Omit<IdentitySettings, 'issuer'>,
  ofLimits: () => TimerClock,
): TimerClock | undefined {
  if (clock !== undefined || limits === undefined || config?.['store'] !== undefined) return clock;
  return ofLimits();
}

/** The lines of the gateway's access log. */
export function accessLines({
  logLines,
}: Pick<LocalGateway, 'logLines'>): Readonly<Record<string, unknown>>[] {
  return logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'access');
}

async function tempFile(name: string, text: string): Promise<string> {
  const path = join(await tempFolder(), name);
  await writeFile(path, text);
  return path;
}
