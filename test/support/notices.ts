import { secret } from './secrets.ts';
import type { TestGateway } from './test-gateway.ts';
import type { TestIssuer } from './test-issuer.ts';
import { signToken } from './token-issuer.ts';

type Claims = Readonly<Record<string, unknown>>;

export const PUSH_PATH = '/notices/k_push_not_before';
export const LOGOUT_PATH = '/notices/back_channel_logout';

let id = 0;

/** A not-before push as Keycloak sends it. `claims` has the last word. */
export function pushOf(issuer: TestIssuer, notBefore: number, claims: Claims = {}): string {
  const expiration = Math.floor(Date.now() / 1_000) + 30;
  const usual = { id: `push-${++id}`, expiration, resource: 'gateway', action: 'PUSH_NOT_BEFORE', notBefore };
  return secret(signToken(issuer.key, { ...usual, ...claims }));
}

/** A logout token as Keycloak sends it. `claims` has the last word; undefined removes one. */
export function logoutOf(issuer: TestIssuer, claims: Claims = {}): string {
  const iat = Math.floor(Date.now() / 1_000);
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  const usual = {
    iss: issuer.url,
    aud: 'gateway',
    iat,
    exp: iat + 120,
    jti: `logout-${++id}`,
    typ: 'Logout',
    events,
  };
  return secret(signToken(issuer.key, { ...usual, ...claims }, { typ: 'logout+jwt' }));
}

/** Sends a push or a logout to the admin listener. */
export function toAdmin({ adminPort }: TestGateway, path: string, token: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${adminPort}${path}`, path === LOGOUT_PATH ? formOf(token) : textOf(token));
}

function textOf(token: string): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'text/plain; charset=ISO-8859-1' }, body: token };
}

function formOf(token: string): RequestInit {
  return { method: 'POST', body: new URLSearchParams({ logout_token: token }) };
}
