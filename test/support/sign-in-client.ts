import { walkLogin } from '../../src/cli/demo/login.ts';
import { head, withBody } from './requests.ts';
import { secret } from './secrets.ts';
import type { TestGateway } from './test-gateway.ts';
import type { Response } from './wire/index.ts';

/** Bytes of a POST to the exchange endpoint: this as JSON, or these bytes as they are. */
export function redeeming(body: unknown, ...lines: string[]): string {
  const bytes = body instanceof Buffer ? body : Buffer.from(JSON.stringify(body));
  return withBody(
    'POST /v1/anonymous/auth',
    bytes.toString('latin1'),
    'Content-Type: application/json',
    ...lines,
  );
}

/** Asks the gateway to trade this for tokens. Code and redirect URI become secrets. */
export function redeem(gateway: TestGateway, code: string, redirectUri: string): Promise<Response> {
  return gateway.ask(redeeming({ code: secret(code), redirectUri: secret(redirectUri) }));
}

export function json(response: Response): Record<string, unknown> {
  return JSON.parse(response.body.toString('utf8'));
}

/** The page to open, as the gateway names it. */
export async function authorizeUrl(gateway: TestGateway): Promise<string> {
  return String(json(await gateway.ask(head('GET /v1/anonymous/authorize-url')))['url']);
}

/** Opens the gateway's authorization URL as a browser would, signs in, and returns the code. */
export async function codeFor(
  gateway: TestGateway,
  redirectUri: string,
  username = 'alice',
  password = 'wonderland',
): Promise<string> {
  return (await walkLogin(await authorizeUrl(gateway), redirectUri, username, password)).code;
}
