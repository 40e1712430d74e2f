import { GatewayError, parseDurationMs } from '../../../core/index.ts';
import { digestOfWhom, type Restriction, type Restrictions } from '../../../limits/index.ts';
import { type ApiClient, type ClientSources, clientIn, clientOf } from './client.ts';
import type { ApiCall, ApiReply } from './operation.ts';
import { badApiRequest, conflict, notFound, queryObject, readBy } from './operation.ts';
import { listSchema, newRestrictionSchema, type RestrictionShape } from './shapes.ts';

export interface RestrictionSources extends ClientSources {
  readonly restrictions: Restrictions;
}

const DAY_MS = 86_400_000;

export function listRestrictions({ query }: ApiCall, sources: RestrictionSources): ApiReply | GatewayError {
  const read = readBy(listSchema, queryObject(query));
  if (read instanceof GatewayError) return read;
  const { limit, ...who } = read;
  const client = clientIn(who, sources);
  if (client instanceof GatewayError) return client;
  const digest = client === null ? null : digestOfWhom(whomOf(client));
  const found: RestrictionShape[] = [];
  let total = 0;
  for (const each of sources.restrictions.listed.all()) {
    // A restriction of an address at one webhook is also found by the address alone.
    if (client !== null && each.digest !== digest && each.key !== client.restrictedKey) continue;
    if (total++ < limit) found.push(shapeOf(each, sources));
  }
  return { status: 200, body: { total, restrictions: found }, change: null };
}

export function addRestriction({ body }: ApiCall, sources: RestrictionSources): ApiReply | GatewayError {
  const read = readBy(newRestrictionSchema, body);
  if (read instanceof GatewayError) return read;
  const { for: duration, ...who } = read;
  const forMs = parseDurationMs(duration);
  if (forMs === undefined || forMs === 0 || forMs > DAY_MS)
    return badApiRequest('for: expected a time such as 90s, 10m or 24h, at most 24h');
  const client = clientOf(who, sources.snapshot());
  if (client instanceof GatewayError) return client;
  const { restrictions } = sources;
  restrictions.restrict({ ...whomOf(client), reason: 'operator' }, forMs);
  const found = restrictions.listed.withDigest(digestOfWhom(whomOf(client)));
  const added = found.find(({ reason }) => reason === 'operator');
  if (added === undefined) return conflict('It was not restricted: never_restrict lists it.');
  const shape = shapeOf(added, sources);
  return {
    status: 201,
    body: shape,
    change: { what: 'restriction_added', client: nameIn(shape), bucket: null },
  };
}

export function liftRestriction({ id }: ApiCall, sources: RestrictionSources): ApiReply | GatewayError {
  const { restrictions } = sources;
  const [listed] = restrictions.listed.withDigest(id);
  if (listed === undefined || !restrictions.lift(id))
    return notFound('There is no restriction with this id.');
  const client = nameIn(shapeOf(listed, sources));
  return { status: 204, body: null, change: { what: 'restriction_lifted', client, bucket: null } };
}

function shapeOf(
  { kind, digest, reason, sinceEpochMs, untilEpochMs, key }: Restriction,
  { pseudonymOf }: RestrictionSources,
): RestrictionShape {
  const isCaller = kind === 'principal';
  return {
    id: digest,
    kind,
    reason,
    since: new Date(sinceEpochMs).toISOString(),
    until: new Date(untilEpochMs).toISOString(),
    address: isCaller ? null : key,
    caller: key !== null && isCaller ? pseudonymOf(key) : null,
  };
}

function whomOf({ kind, restrictedKey: key }: ApiClient) {
  return { kind: kind === 'address' ? 'address' : 'principal', key, webhook: '' } as const;
}

function nameIn({ address, caller }: RestrictionShape): string | null {
  return address ?? caller;
}
