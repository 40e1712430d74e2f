import { z } from 'zod';
import { classNames, listedClass, type Snapshot } from '../../../config/index.ts';
import { CALLER_CLASSES, GatewayError } from '../../../core/index.ts';
import { type ActiveRestrictions, type AskedCaller, asShape, explain } from '../../../explain/index.ts';
import { webhookOf } from '../../../gateway/index.ts';
import { digestOfWhom, type Restrictions } from '../../../limits/index.ts';
import { addressOf, type ClientSources, clientOf } from './client.ts';
import { type ApiCall, type ApiReply, badApiRequest, queryObject, readBy } from './operation.ts';
import { explainSchema, type Who } from './shapes.ts';

export interface ExplainSources extends Pick<ClientSources, 'snapshot'> {
  readonly restrictions: Restrictions;
  /** The restricted address that last refused a caller. */
  readonly addressThatRefused: ActiveRestrictions['addressThatRefused'];
}

export function answerExplain({ query }: ApiCall, sources: ExplainSources): ApiReply | GatewayError {
  const read = readBy(explainSchema, queryObject(query));
  if (read instanceof GatewayError) return read;
  const { method, path, ...who } = read;
  const snapshot = sources.snapshot();
  const caller = callerOf(who, snapshot);
  if (caller instanceof GatewayError) return caller;
  const request = { method, target: path, caller };
  return { status: 200, body: asShape(request, explain(request, snapshot, activeOf(sources))), change: null };
}

function activeOf({ restrictions: { listed }, addressThatRefused }: ExplainSources): ActiveRestrictions {
  return {
    addressThatRefused,
    ofAddress: key => listed.ofClient({ kind: 'address', key }),
    ofCaller: key => listed.ofClient({ kind: 'principal', key }),
    onWebhook(key, route, params) {
      if (route.kind !== 'forward' || !route.webhook) return [];
      return listed.withDigest(digestOfWhom({ kind: 'webhook', key, webhook: webhookOf(route, params) }));
    },
  };
}

function callerOf(
  { address, as, ...claims }: Omit<Who, 'as'> & { readonly as?: AskedCaller['as'] | undefined },
  snapshot: Snapshot,
): AskedCaller | GatewayError {
  const { identity } = snapshot;
  const place = address === undefined ? null : addressOf(address);
  if (place instanceof GatewayError) return place;
  const known = [...CALLER_CLASSES, ...classNames(identity)];
  if (as != null && !known.includes(as)) return badApiRequest(`as: expected one of ${known.join(', ')}.`);
  if (Object.keys(claims).length === 0) return { as: as ?? null, address: place, principal: null };
  if (as === 'address')
    return badApiRequest('as=address is for callers without a token: leave out the claims.');
  const kind = as === 'user' || as === 'bot' ? as : undefined;
  const client = clientOf({ ...claims, ...(kind !== undefined && { as: kind }) }, snapshot);
  if (client instanceof GatewayError) return client;
  const named = kind === undefined && as != null ? as : listedClass(client.key, identity);
  return { as: named ?? client.kind, address: place, principal: client.key };
}

export const configSchema = z.strictObject({
  generation: z.int().describe('The number of this configuration in the process, from 1.'),
  hash: z.string().describe('Of the files: equal files, equal hash.'),
  files: z.array(z.string()).describe('gateway.yaml, then the limits files.'),
  gateway: z.record(z.string(), z.unknown()).describe('The keys of gateway.yaml.'),
  limits: z.record(z.string(), z.unknown()).describe('The keys of limits.yaml.'),
});

export async function showConfig({ generation, hash, files, outline }: Snapshot): Promise<ApiReply> {
  const body = { generation, hash, files, ...(await outline.effective.read()) };
  return { status: 200, body, change: null };
}
