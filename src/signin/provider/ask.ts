import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { GrowingBytes } from '../../core/index.ts';
import type { ProviderOptions } from '../options.ts';
import { ProviderFault } from './fault.ts';
import { secureContextOf } from './secure-context.ts';

/** One request to the provider. */
export interface ProviderRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** ASCII; null: no body. */
  readonly body: string | null;
  /** Aborts only when the time for the whole request is up. */
  readonly deadline: AbortSignal;
}

export interface ProviderResponse {
  readonly status: number;
  /** In lower case, without parameters; '' if none was sent. */
  readonly mediaType: string;
  readonly body: Buffer;
}

/** The options that one request needs. */
export type ProviderLink = Pick<ProviderOptions, 'tls' | 'maxResponseBytes'>;

/**
 * Sends one request to the provider on a new connection. Node's client neither retries nor follows redirects, and a new
 * connection cannot have been closed while idle, so a break always concerns this request. Rejects with a `ProviderFault`.
 */
export function askProvider(request: ProviderRequest, link: ProviderLink): Promise<ProviderResponse> {
  return new Promise((resolve, reject) => {
    const secure = request.url.startsWith('https:');
    const outgoing = open(request, link, secure);
    let connected = false;
    let answered = false;
    const fail = (error: unknown) => reject(faultOf(error, connected, request));

    outgoing.once('socket', socket => {
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        connected = true;
      });
    });
    // More errors may follow the first; without a listener they would end the process.
    outgoing.on('error', fail);
    outgoing.once('response', response => {
      answered = true;
      readResponse(response, link.maxResponseBytes).then(resolve, fail);
    });
    // After an unasked 101 Node closes the connection without a response or an error.
    outgoing.once('close', () => {
      if (!answered) fail(undefined);
    });
    outgoing.end(request.body ?? undefined);
  });
}

function open(request: ProviderRequest, link: ProviderLink, secure: boolean): ClientRequest {
  const options = {
    method: request.method,
    headers: {
      ...request.headers,
      // Without this any coding is acceptable (RFC 9110, 12.5.3), and nothing here decodes one.
      'accept-encoding': 'identity',
      ...(request.body === null ? undefined : { 'content-length': Buffer.byteLength(request.body) }),
    },
    // A new connection, closed after the response.
    agent: false,
    signal: request.deadline,
  } as const;
  if (!secure) return requestHttp(request.url, options);
  // Node passes it on to `tls.connect`; its types do not say so.
  const secured = { ...options, secureContext: secureContextOf(link.tls) };
  return requestHttps(request.url, secured);
}

async function readResponse(response: IncomingMessage, maxBytes: number): Promise<ProviderResponse> {
  const joined = new GrowingBytes(maxBytes);
  let body: Buffer = Buffer.alloc(0);
  // Leaving the loop early destroys the connection; a truncated response throws.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (body.length + chunk.length > maxBytes)
      throw new ProviderFault('too_large', `the provider's response exceeds ${maxBytes} bytes`);
    body = joined.join(body, chunk);
  }
  const [mediaType = ''] = (response.headers['content-type'] ?? '').split(';', 1);
  return { status: response.statusCode ?? 0, mediaType: mediaType.trim().toLowerCase(), body };
}

function faultOf(error: unknown, connected: boolean, request: ProviderRequest): ProviderFault {
  if (error instanceof ProviderFault) return error;
  const where = new URL(request.url).origin;
  if (!connected) {
    const why = request.deadline.aborted ? 'no connection in time' : errorCode(error);
    return new ProviderFault('unreachable', `cannot connect to ${where}: ${why}`);
  }
  if (request.deadline.aborted)
    return new ProviderFault('timed_out', `${where} did not finish its response in time`);
  const code = errorCode(error);
  return code.startsWith('HPE_')
    ? new ProviderFault('malformed', `${where} answered something that is not HTTP: ${code}`)
    : new ProviderFault('reset', `${where} closed the connection before its response was complete: ${code}`);
}

/** Keeps the code only: other members of Node's errors may hold bytes of the response (`rawPacket`). */
function errorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'no code';
}
