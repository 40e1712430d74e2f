import type { RequestsReading, SeenRequest } from './request-reading.ts';

/**
 * Why Node's server, and not ours, is to blame where they disagree: it reads a request otherwise than the RFC says, or not at
 * all. null: it is not.
 */
export function nodeQuirk(disagreement: string, node: RequestsReading): string | null {
  const last = node.requests.at(-1);
  if (last === undefined) return null;
  if (disagreement === 'persistence') {
    // RFC 9112, 9.3: `close` is looked at before anything else.
    const both = node.requests.some(
      request => request.version === '1.0' && says(request, 'close') && says(request, 'keep-alive'),
    );
    return both ? 'HTTP/1.0 with close and keep-alive is kept' : null;
  }
  // RFC 9110, 6.5.1: a trailer is not a header field, and `Connection` cannot make it one.
  if (node.why === 'HPE_CLOSED_CONNECTION' && /(?:^|,)connection,/i.test(last.trailers.join()))
    return 'a trailer closes the connection';
  // RFC 9112, 5.1: blanks behind a value are no part of it.
  if (
    node.why === 'HPE_INVALID_TRANSFER_ENCODING' &&
    firstOf(last, 'transfer-encoding')?.toLowerCase() === 'chunked'
  )
    return 'a tab behind the coding is taken for a part of it';
  // RFC 9110, 7.8: a server may ignore an upgrade; then the connection goes on as it was.
  if (node.why === '' && firstOf(last, 'upgrade') !== undefined && says(last, 'upgrade'))
    return 'nothing is read behind a request whose upgrade is ignored';
  return null;
}

function says(request: SeenRequest, option: string): boolean {
  return request.fields.some(
    (field, i) =>
      i % 2 === 1 &&
      request.fields[i - 1]?.toLowerCase() === 'connection' &&
      field
        .toLowerCase()
        .split(',')
        .some(token => token.replace(/^[ \t]+|[ \t]+$/g, '') === option),
  );
}

function firstOf(request: SeenRequest, lowerName: string): string | undefined {
  const at = request.fields.findIndex((field, i) => i % 2 === 0 && field.toLowerCase() === lowerName);
  return at < 0 ? undefined : request.fields[at + 1];
}
