/** Of a message, as `Via` names it (RFC 9110, 7.6.3). */
export type HttpVersion = '1.0' | '1.1' | '2';

const VIA = { '1.0': '1.0 weir', '1.1': '1.1 weir', '2': '2 weir' } as const;

/**
 * Adds the fields by which a message's way is traced: `Via`, which a gateway has to send (RFC 9110, 7.6.3), with the version of
 * the message that it passes on, and the id under which its logs know the exchange.
 */
export function addTrace(fields: string[], requestId: string, version: HttpVersion = '1.1'): void {
  fields.push('Via', VIA[version]);
  addRequestId(fields, requestId);
}

export function addRequestId(fields: string[], requestId: string): void {
  fields.push('X-Request-Id', requestId);
}
