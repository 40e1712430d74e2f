import { hash } from 'node:crypto';

/**
 * The thumbprint of a client's certificate (SHA-256 of its DER form, base64url: RFC 8705, 3.1), from a field in which a proxy
 * reports the certificate; `null` if it contains none. Reads the formats of common proxies:
 *
 * - RFC 9440, and Google's load balancers: base64 between colons
 * - nginx, and AWS: PEM, percent-encoded; the first of several
 * - HAProxy, and Traefik: base64 alone; the first of several
 * - Envoy: `Hash=...;Cert="..."`; nothing if there are several elements, since it is unknown which one is the client's
 */
export function thumbprintIn(value: string): string | null {
  const text = value.trim();
  if (text.startsWith(':')) return text.endsWith(':') ? ofBase64(text.slice(1, -1)) : null;
  if (/^[A-Za-z]+=/.test(text)) return ofElement(text);
  const decoded = decodePercent(text);
  const pem = PEM.exec(decoded)?.[1];
  return ofBase64(pem === undefined ? (text.split(',', 1)[0] ?? '') : pem.replace(/\s+/g, ''));
}

const PEM = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/;

function ofBase64(text: string): string | null {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  return hash('sha256', Buffer.from(text, 'base64'), 'base64url');
}

/** AWS and nginx do not escape `+`, so it never means a blank. */
function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** A pair of Envoy's `X-Forwarded-Client-Cert`, whose value may be quoted. */
const PAIR = /([A-Za-z]+)=("(?:[^"\\]|\\.)*"|[^";,]*)(;|$)/y;

/**
 * The thumbprint in one element of `X-Forwarded-Client-Cert`: Envoy always writes the hash, and the certificate if configured to.
 */
function ofElement(text: string): string | null {
  let found: string | null = null;
  PAIR.lastIndex = 0;
  while (PAIR.lastIndex < text.length) {
    const [, key = '', value = ''] = PAIR.exec(text) ?? [];
    // Not a list of pairs, or a comma before another element.
    if (key === '') return null;
    if (key.toLowerCase() !== 'hash') continue;
    if (found !== null || !/^[0-9a-f]{64}$/i.test(value)) return null;
    found = Buffer.from(value, 'hex').toString('base64url');
  }
  return found;
}
