import { randomBytes } from 'node:crypto';

/**
 * Makes request ids: unique over processes by 60 random bits, within one by a counter. No secret: an id names a
 * request, it proves nothing.
 */
export function requestIdSource(): () => string {
  const prefix = randomBytes(8).toString('base64url').replaceAll(/[-_]/g, '0').slice(0, 10);
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}
