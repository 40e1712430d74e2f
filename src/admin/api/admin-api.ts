import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AdminApiListener, escapeUnseen, GatewayError } from '../../core/index.ts';
import { renderError } from '../../gateway/index.ts';
import { type AdminAccess, peerOf } from '../admin-access.ts';
import { type BucketSources, BucketsApi } from './buckets-api.ts';
import { answerExplain, type ExplainSources, showConfig } from './explain-api.ts';
import { openApiDocument } from './openapi.ts';
import { type ApiReply, notFound, type Operation, readBody, wrongApiMethod } from './operation.ts';
import { type RestrictionSources, RestrictionsApi } from './restrictions-api.ts';
import { listUpstreams, type UpstreamSources } from './upstreams-api.ts';

/** What the API shows and changes. */
export interface ApiSources extends RestrictionSources, BucketSources, ExplainSources, UpstreamSources {}

/** A path, whose last segment may be a parameter, and its operations. */
interface Resource {
  readonly path: RegExp;
  readonly operations: readonly Operation[];
}

const OPEN_API = '/openapi.json';

/** Serves `/api/...` and its description. */
export class AdminApi {
  readonly #access: AdminAccess;
  readonly #listener: AdminApiListener;
  readonly #resources: readonly Resource[];
  readonly #sources: ApiSources;

  constructor(sources: ApiSources, access: AdminAccess, listener: AdminApiListener) {
    this.#access = access;
    this.#listener = listener;
    this.#resources = resourcesOf(sources);
    this.#sources = sources;
  }

  /** Resolves to false if the path is not part of the API. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const [, path = '', query = ''] = /^([^?]*)\??(.*)$/s.exec(request.url ?? '') ?? [];
    if (path !== OPEN_API && path !== '/api' && !path.startsWith('/api/')) return false;
    const reply = await this.#replyTo(request, path, query);
    if (reply instanceof GatewayError) sendError(response, reply);
    else sendReply(response, reply);
    return true;
  }

  async #replyTo(request: IncomingMessage, path: string, query: string): Promise<ApiReply | GatewayError> {
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    if (path === OPEN_API) {
      const open = this.#access.toOpen(request);
      if (open.kind === 'refused') return open.error;
      return method === 'GET' ? this.#description() : wrongApiMethod(['GET']);
    }
    const { resource, id } = this.#find(path);
    const operation = resource?.operations.find(each => each.method === method);
    // Check access before the path, so that others do not learn which paths exist.
    const access =
      operation?.changes === true ? this.#access.toChange(request) : this.#access.toRead(request);
    if (access.kind === 'refused') return access.error;
    if (resource === undefined) return notFound('There is nothing at this path: see /openapi.json.');
    if (operation === undefined) return wrongApiMethod(resource.operations.map(each => each.method));
    const body = method === 'POST' ? await readBody(request) : { ok: true as const, value: undefined };
    if (!body.ok) return body.error;
    const reply = await operation.run({ id, query: new URLSearchParams(query), body: body.value });
    if (!(reply instanceof GatewayError) && reply.change !== null)
      this.#listener.changed({ ...reply.change, by: peerOf(request) });
    return reply;
  }

  #description(): ApiReply {
    return { status: 200, body: openApiDocument(this.#sources.snapshot()), change: null };
  }

  #find(path: string): { readonly resource: Resource | undefined; readonly id: string } {
    for (const resource of this.#resources) {
      const match = resource.path.exec(path);
      if (match !== null) return { resource, id: match[1] ?? '' };
    }
    return { resource: undefined, id: '' };
  }
}

function resourcesOf(sources: ApiSources): readonly Resource[] {
  const restrictions = new RestrictionsApi(sources);
  const buckets = new BucketsApi(sources);
  return [
    {
      path: /^\/api\/buckets$/,
      operations: [
        { method: 'GET', changes: false, run: call => buckets.read(call) },
        { method: 'DELETE', changes: true, run: call => buckets.reset(call) },
      ],
    },
    {
      path: /^\/api\/config$/,
      operations: [{ method: 'GET', changes: false, run: () => showConfig(sources.snapshot()) }],
    },
    {
      path: /^\/api\/explain$/,
      operations: [{ method: 'GET', changes: false, run: call => answerExplain(call, sources) }],
    },
    {
      path: /^\/api\/restrictions$/,
      operations: [
        { method: 'GET', changes: false, run: call => restrictions.list(call) },
        { method: 'POST', changes: true, run: call => restrictions.add(call) },
      ],
    },
    {
      path: /^\/api\/restrictions\/([\w-]{1,64})$/,
      operations: [{ method: 'DELETE', changes: true, run: call => restrictions.lift(call) }],
    },
    {
      path: /^\/api\/upstreams$/,
      operations: [{ method: 'GET', changes: false, run: () => listUpstreams(sources) }],
    },
  ];
}

function sendReply(response: ServerResponse, { status, body }: ApiReply): void {
  const text = status === 204 ? '' : `${escapeUnseen(JSON.stringify(body, null, 2))}\n`;
  response.writeHead(status, {
    ...PRIVATE,
    ...(status !== 204 && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
  });
  response.end(text);
}

export function sendError(response: ServerResponse, error: GatewayError): void {
  const { status, fields, body, close } = renderError(error);
  for (const [name, value] of Object.entries(PRIVATE)) response.setHeader(name, value);
  for (let i = 0; i + 1 < fields.length; i += 2) response.setHeader(fields[i] ?? '', fields[i + 1] ?? '');
  if (close) response.setHeader('Connection', 'close');
  response.writeHead(status);
  response.end(body);
}

/** Forbids browsers to store a response, to take it for a page, and to load it into pages of other origins. */
const PRIVATE = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;
