/**
 * Adds the fields by which a message's way is traced: `Via`, which a gateway has to send (RFC 9110, 7.6.3), with the version of
 * the message that it passes on, and the id under which its logs know the exchange.
 */
export function addTrace(fields: string[], requestId: string, httpMinor = 1): void {
  fields.push('Via', httpMinor === 0 ? '1.0 weir' : '1.1 weir');
  addRequestId(fields, requestId);
}

export function addRequestId(fields: string[], requestId: string): void {
  fields.push('X-Request-Id', requestId);
}
