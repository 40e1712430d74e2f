import { parseTarget, readHost } from '../../../src/wire/http/index.ts';
import {
  type HeaderSection,
  Http2Fault,
  type RequestHandler,
  ServerSession,
  type ServerStream,
} from '../../../src/wire/http2/index.ts';
import type { Http2Reading } from './http2-reading.ts';

export const REQUEST_BOUNDS = {
  ...{ maxBytes: 65_536, maxFields: 501, streamWindow: 131_072, connectionWindow: 8_388_608 },
  ...{ maxStreams: 100, offersConnect: true, maxUnsent: 1_000_000 },
};

/** Reads the bytes as the requests of a client, by stream. It answers none of them but those that are malformed. */
export function readHttp2RequestsWithOurs(pieces: readonly Buffer[]): ReadonlyMap<number, Http2Reading> {
  const requests = new Map<number, RequestReading>();
  const session = new ServerSession(REQUEST_BOUNDS, {
    wake: () => {},
    settingsRead: () => {},
    isOverShare: false,
    shutDownSeen: () => {},
    goaway: () => {},
    request: (stream, section, ends) => {
      const request = new RequestReading(stream, section, ends);
      requests.set(stream.id, request);
      return request;
    },
  });
  try {
    for (const piece of pieces) {
      const buffer = Buffer.from(piece);
      // The next read overwrites it then.
      if (session.read(buffer, buffer.length)) buffer.fill('?');
      while (session.isBehind) session.readOn();
    }
  } catch (error) {
    if (!(error instanceof Http2Fault)) throw error;
  }
  session.lose();
  return new Map([...requests].map(([id, request]) => [id, request.reading]));
}

class RequestReading implements RequestHandler {
  readonly #stream: ServerStream;
  readonly #fields: readonly string[];
  #whole: boolean;
  #body = '';
  #trailers: readonly string[] = [];

  constructor(stream: ServerStream, section: HeaderSection, ends: boolean) {
    this.#stream = stream;
    this.#fields = section.fields;
    const isRefused = section.flaw !== null || !isForGates(section.fields);
    this.#whole = ends && !isRefused;
    if (isRefused) stream.respond(400, [], true);
    else if (!ends) stream.resume();
  }

  get reading(): Http2Reading {
    return {
      ...{ whole: this.#whole, status: '', fields: this.#fields, body: this.#body, trailers: this.#trailers },
    };
  }

  section(section: HeaderSection): void {
    this.#trailers = section.fields;
  }

  data(bytes: Buffer): boolean {
    this.#body += bytes.toString('latin1');
    return true;
  }

  ended(): void {
    this.#whole = true;
  }

  drained(): void {}

  malformed(): void {
    this.#stream.respond(400, [], true);
  }

  closed(): void {}
}

/** Matches a token (RFC 9110, 5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Whether the request has what the gateway looks at behind the session, where nghttp2 does: a method, a path and one host. */
function isForGates(fields: readonly string[]): boolean {
  const read = (name: string) =>
    fields[fields.findIndex((each, i) => i % 2 === 0 && each === name) + 1] ?? '';
  const has = (name: string) => fields.some((each, i) => i % 2 === 0 && each === name);
  const [authority, host, path] = [read(':authority'), read('host'), read(':path')];
  if (has(':authority') && has('host') && host.toLowerCase() !== authority.toLowerCase()) return false;
  if (!TOKEN.test(read(':method')) || readHost(has(':authority') ? authority : host) === null) return false;
  return /^[/*]/.test(path) && !('rejected' in parseTarget(path, host, read(':method')));
}
