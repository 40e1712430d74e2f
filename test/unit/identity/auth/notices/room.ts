import { randomBytes } from 'node:crypto';
import { type NoticeEvent, type NoticeKind, ownMemory } from '../../../../../src/core/index.ts';
import {
  KeySet,
  REVOCATION_LIMITS,
  Revocations,
  SeenNotices,
  VerificationBudget,
} from '../../../../../src/identity/auth/index.ts';
import type { NoticeIssuer } from '../../../../../src/identity/auth/notices.ts';
import { Notices } from '../../../../../src/identity/auth/notices.ts';
import { BUDGET_OPTIONS, KEY_SET_OPTIONS } from '../../../../support/identity-options.ts';
import { type IssuerKey, signToken } from '../../../../support/token-issuer.ts';
import { clock, options, Recorder, rsa, ScriptedIssuer, START_S } from '../fixture.ts';

export const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** A push as Keycloak writes it. */
export const PUSH = {
  id: 'ab93-1795250581532',
  expiration: START_S + 30,
  resource: 'gateway',
  action: 'PUSH_NOT_BEFORE',
  notBefore: START_S,
};

/** A logout token as Keycloak writes it. */
export const LOGOUT = {
  iss: options.issuer,
  aud: 'gateway',
  exp: START_S + 120,
  iat: START_S,
  jti: 'f4f2',
  typ: 'Logout',
  sub: 'ada',
  sid: 's1',
  events: { [EVENT]: { revoke_offline_access: false } },
};

export interface NoticeRoom {
  readonly provider: ScriptedIssuer;
  readonly issuer: NoticeIssuer;
  readonly events: NoticeEvent[];
  readonly notices: Notices;
  push(claims?: unknown, key?: IssuerKey): Promise<number>;
  logout(claims?: unknown, key?: IssuerKey): Promise<number>;
  /** The whole response to this body. */
  send(kind: NoticeKind, contentType: string | undefined, body: string): ReturnType<Notices['take']>;
}

export interface NoticeRoomOptions {
  readonly claim?: (name: string, forMs: number) => Promise<boolean>;
  readonly allKnow?: () => Promise<void>;
  readonly limit?: number;
  /** Beside the one of the room, which comes first. */
  readonly others?: readonly NoticeIssuer[];
}

/** Of a provider with the given keys, loaded. Time has to be frozen. */
export async function openNotices(
  provider = new ScriptedIssuer(rsa),
  { claim = async () => true, allKnow = async () => {}, limit = 1_000, others = [] }: NoticeRoomOptions = {},
): Promise<NoticeRoom> {
  const issuer = await noticeIssuer(provider);
  const memory = ownMemory(randomBytes);
  const events: NoticeEvent[] = [];
  const notices = new Notices([issuer, ...others], {
    seen: new SeenNotices({ clock, claim }),
    budget: new VerificationBudget({ ...BUDGET_OPTIONS, limit }, clock, memory, 'notices'),
    soon: memory.soon,
    allKnow,
    clock,
    listener: { noticeReceived: event => events.push(event) },
  });
  const send = (kind: NoticeKind, contentType: string | undefined, body: string) =>
    notices.take({ kind, contentType, body: Buffer.from(body), address: '192.0.2.1' });
  const push = async (claims: unknown = PUSH, key = rsa) =>
    (await send('not_before_push', 'text/plain; charset=ISO-8859-1', signToken(key, claims as object)))
      .status;
  const logout = async (claims: unknown = LOGOUT, key = rsa) => {
    const body = `logout_token=${signToken(key, claims as object)}`;
    return (await send('back_channel_logout', 'application/x-www-form-urlencoded', body)).status;
  };
  return { provider, issuer, events, notices, push, logout, send };
}

export async function noticeIssuer(provider: ScriptedIssuer, name = options.issuer): Promise<NoticeIssuer> {
  const keys = new KeySet(KEY_SET_OPTIONS, {
    fetch: provider.fetch,
    clock,
    random: () => 0,
    listener: new Recorder(),
  });
  await keys.refresh();
  return {
    issuer: name,
    tenants: null,
    clientId: 'gateway',
    leewayMs: 30_000,
    keys,
    revocations: new Revocations(REVOCATION_LIMITS, clock, () => {}).of(name),
    kinds: new Set(['not_before_push', 'back_channel_logout']),
  };
}
