import { MalformedMessage } from '../message/index.ts';
import type { ResponseHead } from './response-head.ts';

/** Interim responses before the final one; a server that sends more is at fault. */
const MAX_INTERIM = 16;

/** Throws MalformedMessage for an interim response that no server may send. `count`: how many there are with this one. */
export function checkInterim({ status, httpMinor }: ResponseHead, count: number): void {
  // RFC 9110, 15.2.2: the upgrade that a 101 agrees to was never offered.
  if (status === 101) throw new MalformedMessage('an upgrade that was not asked for');
  // RFC 9110, 15.2: HTTP/1.0 knows no interim responses.
  if (httpMinor === 0) throw new MalformedMessage('an interim response in HTTP/1.0');
  if (count > MAX_INTERIM) throw new MalformedMessage('too many interim responses');
}
