/** The protocol version of a message, as written in `Via` (RFC 9110, 7.6.3). */
export type HttpVersion = '1.0' | '1.1' | '2';

const VIA = { '1.0': '1.0 weir', '1.1': '1.1 weir', '2': '2 weir' } as const;

/**
 * Adds the fields that trace a message: `Via`, required of gateways (RFC 9110, 7.6.3), with the protocol version in which the
 * message came, and the id of the exchange in the gateway's log.
 */
export function addTrace(fields: string[], requestId: string, version: HttpVersion = '1.1'): void {
  fields.push('Via', VIA[version]);
  addRequestId(fields, requestId);
}

export function addRequestId(fields: string[], requestId: string): void {
  fields.push('X-Request-Id', requestId);
}
