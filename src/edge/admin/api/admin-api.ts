import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AdminApiListener, escapeInvisible, GatewayError } from '../../../core/index.ts';
import { renderError } from '../../../gateway/index.ts';
import { type AdminAccess, peerOf } from '../admin-access.ts';
import { type BucketSources, readBuckets, resetBuckets } from './buckets-api.ts';
import { answerExplain, type ExplainSources, showConfig } from './explain-api.ts';
import { ADMIN_PATHS, type Operation, openApiDocument } from './openapi.ts';
import { type ApiCall, type ApiReply, notFound, readBody, send, wrongApiMethod } from './operation.ts';
import { listRefused, type RefusedSources } from './refused-api.ts';
import {
  addRestriction,
  liftRestriction,
  listRestrictions,
  type RestrictionSources,
} from './restrictions-api.ts';
import { listUpstreams, type UpstreamSources } from './upstreams-api.ts';

export interface ApiSources
  extends RestrictionSources,
    BucketSources,
    ExplainSources,
    RefusedSources,
    UpstreamSources {
  /** Resolves once all threads of the process know the changes made so far. */
  allKnow(): Promise<void>;
}

/** The paths of the API, with their operations by method. The last segment may be a parameter. */
const RESOURCES = Object.entries(ADMIN_PATHS).map(([path, operations]) => ({
  path: new RegExp(`^${path.replace('{id}', '([\\w-]{1,64})')}$`),
  operations: new Map(
    Object.entries<Operation>(operations).map(([method, each]) => [method.toUpperCase(), each]),
  ),
}));

const OPEN_API = '/openapi.json';

type Run = (call: ApiCall, sources: ApiSources) => Promise<ApiReply | GatewayError> | ApiReply | GatewayError;

const OPERATIONS: Readonly<Record<Operation['operationId'], Run>> = {
  readBuckets,
  resetBuckets,
  showConfig: (_call, sources) => showConfig(sources.snapshot()),
  explainRequest: answerExplain,
  listRestrictions,
  addRestriction,
  liftRestriction,
  listRefused: (_call, sources) => listRefused(sources),
  listUpstreams: (_call, sources) => listUpstreams(sources),
};

interface ApiDependencies {
  readonly sources: ApiSources;
  readonly access: AdminAccess;
  readonly listener: AdminApiListener;
}

/** Serves `/api/...` and its description. Resolves to false if the path is not part of the API. */
export async function answerApi(
  request: IncomingMessage,
  response: ServerResponse,
  dependencies: ApiDependencies,
): Promise<boolean> {
  const [, path = '', query = ''] = /^([^?]*)\??(.*)$/s.exec(request.url ?? '') ?? [];
  if (path !== OPEN_API && path !== '/api' && !path.startsWith('/api/')) return false;
  const reply = await replyTo(request, path, query, dependencies);
  if (reply instanceof GatewayError) sendError(response, reply);
  else sendReply(response, reply);
  return true;
}

async function replyTo(
  request: IncomingMessage,
  path: string,
  query: string,
  { sources, access, listener }: ApiDependencies,
): Promise<ApiReply | GatewayError> {
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  if (path === OPEN_API) {
    const refusal = access.toOpen(request);
    if (refusal !== null) return refusal;
    if (method !== 'GET') return wrongApiMethod(['GET']);
    return { status: 200, body: openApiDocument(sources.snapshot()), change: null };
  }
  const resource = RESOURCES.find(each => each.path.test(path));
  const operation = resource?.operations.get(method ?? '');
  // Check access before the path, so that others do not learn which paths exist.
  const isChange = operation !== undefined && method !== 'GET';
  const refusal = isChange ? access.toChange(request) : access.toRead(request);
  if (refusal !== null) return refusal;
  if (resource === undefined) return notFound('There is nothing at this path: see /openapi.json.');
  if (operation === undefined) return wrongApiMethod([...resource.operations.keys()]);
  const body = method === 'POST' ? await readBody(request) : { value: undefined };
  if (body instanceof GatewayError) return body;
  const [, id = ''] = resource.path.exec(path) ?? [];
  const call = { id, query: new URLSearchParams(query), body: body.value };
  const reply = await OPERATIONS[operation.operationId](call, sources);
  if (reply instanceof GatewayError || reply.change === null) return reply;
  listener.changed({ ...reply.change, by: peerOf(request) });
  await sources.allKnow();
  return reply;
}

/** Forbids browsers to store a response, to treat it as a page, and to load it into pages of other origins. */
const PRIVATE = [
  ...['Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'],
  ...['Cross-Origin-Resource-Policy', 'same-origin'],
];
const PRIVATE_JSON = [...PRIVATE, 'Content-Type', 'application/json'];

function sendReply(response: ServerResponse, { status, body }: ApiReply): void {
  if (status === 204) send(response, status, PRIVATE, '');
  else send(response, status, PRIVATE_JSON, `${escapeInvisible(JSON.stringify(body, null, 2))}\n`);
}

export function sendError(response: ServerResponse, error: GatewayError): void {
  const { status, fields, body, close } = renderError(error);
  response.writeHead(status, [...PRIVATE, ...fields, ...(close ? ['Connection', 'close'] : [])]);
  response.end(body);
}
