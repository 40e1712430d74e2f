import { randomBytes } from 'node:crypto';

/**
 * Makes request ids, unique across processes by 60 random bits and within one by a counter. Not a secret: an id names a
 * request and proves nothing.
 */
export function requestIdSource(): () => string {
  const prefix = randomBytes(8).toString('base64url').replaceAll(/[-_]/g, '0').slice(0, 10);
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}
