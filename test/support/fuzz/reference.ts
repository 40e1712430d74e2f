import { isIPv6 } from 'node:net';
import {
  type Framing,
  MessageReader,
  requestFraming,
  Violation,
  values,
  type WireFields,
} from '../wire/index.ts';

/** A request as RFC 9112 reads it from a client's bytes. */
export interface ReferenceRequest {
  readonly method: string;
  readonly target: string;
  /** The host that it is for, in lower case, without a dot at its end, with its port; null: two servers could read two. */
  readonly host: string | null;
  body: string;
  complete: boolean;
}

const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) +([^ \t]+) +HTTP\/1\.[01]$/;

/**
 * Reads what a client sends on one connection as a careful server would, without a line of the gateway's or of Node's
 * parser: an upper bound for what may reach the upstream. It is lenient where no harm comes of it (CR and LF before a
 * request, chunk extensions, several blanks in the request line) and refuses the rest.
 */
export class ReferenceConversation {
  readonly requests: ReferenceRequest[] = [];
  /** `between`: every byte belongs to a complete request; `inside`: one is not complete; `refused`: none will follow. */
  state: 'between' | 'inside' | 'refused' = 'between';
  #reader = this.#newReader();

  push(bytes: Buffer): void {
    if (this.state === 'refused') return;
    try {
      this.#read(bytes);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.state = 'refused';
    }
  }

  #read(bytes: Buffer): void {
    for (let rest = bytes; rest.length > 0; ) {
      if (this.#reader.untouched) {
        rest = withoutEmptyLines(rest);
        if (rest.length === 0) break;
      }
      this.state = 'inside';
      const behind = this.#reader.push(rest);
      if (behind === null) return;
      const request = this.requests.at(-1);
      if (request !== undefined) request.complete = true;
      this.state = 'between';
      this.#reader = this.#newReader();
      rest = behind;
    }
  }

  #newReader(): MessageReader {
    const sink = {
      head: (startLine: string, fields: WireFields): Framing => this.#head(startLine, fields),
      data: (bytes: Buffer): void => {
        const request = this.requests.at(-1);
        if (request !== undefined) request.body += bytes.toString('latin1');
      },
    };
    return new MessageReader(sink, { chunkExtensions: true });
  }

  #head(startLine: string, fields: WireFields): Framing {
    const match = REQUEST_LINE.exec(startLine);
    if (match === null) throw new Violation('request line');
    const framing = requestFraming(fields);
    const [, method = '', target = ''] = match;
    this.requests.push({ method, target, host: hostOf(target, fields), body: '', complete: framing === 0 });
    return framing;
  }
}

/** Only what all servers read alike is a host: letters, digits, `-` and `_` between single dots, or an address in brackets. */
function hostOf(target: string, fields: WireFields): string | null {
  const [host, ...others] = values(fields, 'host').map(text => text.toLowerCase());
  const named = /^https?:\/\/([^/?]*)/i.exec(target)?.[1]?.toLowerCase();
  if (host === undefined || others.length > 0 || (named !== undefined && named !== host)) return null;
  const end = host.startsWith('[') ? host.indexOf(']') + 1 : host.search(/:|$/);
  // A port may be empty (RFC 3986, 3.2.3).
  const [name, behind] = [host.slice(0, end), host.slice(end).replace(/^:$/, '')];
  const port = behind === '' ? '' : `:${Number(behind.slice(1))}`;
  if (behind !== '' && (!/^:\d{1,5}$/.test(behind) || Number(behind.slice(1)) > 65_535)) return null;
  if (name.startsWith('['))
    return isIPv6(name.slice(1, -1)) && !name.includes('%')
      ? `${new URL(`http://${name}`).hostname}${port}`
      : null;
  const labels = name.split('.');
  if (labels.length > 1 && labels.at(-1) === '') labels.pop();
  return labels.every(label => /^[a-z0-9_-]+$/.test(label)) ? `${labels.join('.')}${port}` : null;
}

function withoutEmptyLines(bytes: Buffer): Buffer {
  let at = 0;
  while (bytes[at] === 13 || bytes[at] === 10) at++;
  return bytes.subarray(at);
}
