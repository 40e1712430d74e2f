import { isIPv4 } from 'node:net';

/**
 * Why an address of the provider may not be used, or undefined: https is fine anywhere, http on loopback, and http
 * elsewhere only if the operator allowed it.
 */
export function addressError(text: string, allowHttp: boolean): string | undefined {
  const url = URL.parse(text);
  if (url === null) return 'is not an absolute URL';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  if (url.hash !== '') return 'must not have a fragment';
  if (url.protocol === 'https:') return undefined;
  if (url.protocol !== 'http:') return 'must begin with https://';
  if (allowHttp || isLoopback(url.hostname)) return undefined;
  return 'is plain http and not on loopback: use https, or set allow_http: true';
}

/** `hostname` as `URL` writes it: lower case, IPv4 in four decimal parts, IPv6 in brackets. */
function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
  );
}
