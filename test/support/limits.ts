import type { ConfigPart } from './gateway.ts';
import { type IdentityGateway, type IdentitySettings, startGatewayOf } from './identity-gateway.ts';
import { head } from './requests.ts';
import { startIssuer, type TestIssuer } from './test-issuer.ts';
import type { Response } from './wire/index.ts';

export * from './rate-fields.ts';

/** A gateway with limits, its upstream, and the issuer of its callers' tokens. */
export interface LimitedGateway extends IdentityGateway {
  readonly issuer: TestIssuer;
}

type LimitedSettings = Omit<IdentitySettings, 'issuer' | 'limits'>;

/** Starts a gateway with this limits.yaml. `/**` requires a token, `/open/**` looks at none. */
export async function startLimited(
  limits: ConfigPart,
  { routes = [], ...settings }: LimitedSettings = {},
): Promise<LimitedGateway> {
  const issuer = await startIssuer();
  const open = { path: '/open/**', authentication: 'none' };
  const started = await startGatewayOf(issuer, { ...settings, limits, routes: [open, ...routes] });
  return { ...started, issuer };
}

/** Sends the same request so often, one after the other on one connection. */
export async function askTimes(
  { gateway }: LimitedGateway,
  times: number,
  target: string,
  ...lines: string[]
): Promise<Response[]> {
  const client = await gateway.connect();
  const responses: Response[] = [];
  const to = target.split(' ')[0] ?? 'GET';
  for (let i = 0; i < times; i++) responses.push(await client.ask(head(target, ...lines), { to }));
  client.destroy();
  return responses;
}

export async function askOnce(front: LimitedGateway, target: string, ...lines: string[]): Promise<Response> {
  const [response] = await askTimes(front, 1, target, ...lines);
  if (response === undefined) throw new Error('there is no response');
  return response;
}
