import { AddressSet, foldName } from '../../http/index.ts';
import { asMap, type ConfigFile } from '../file/index.ts';
import { network, RULES_BY_DEFAULT } from '../schema/index.ts';

/** The names under `forwarding_headers` as written, since validation may have failed elsewhere. */
export interface ListedHeaders {
  readonly remove: readonly string[];
  readonly keep: readonly string[];
}

export function listedHeaders(file: ConfigFile): ListedHeaders {
  const value = asMap(file.value).forwarding_headers;
  if (Array.isArray(value)) return { remove: value.filter(isText), keep: [] };
  const { remove, keep } = asMap(value);
  return { remove: textsOf(remove), keep: textsOf(keep) };
}

/** Checks the two lists against each other, and against what is removed anyway. */
export function checkForwardingHeaders(file: ConfigFile): void {
  const { remove, keep } = listedHeaders(file);
  const removed = new Set(remove.map(foldName));
  for (const [index, name] of keep.entries()) {
    const path = ['forwarding_headers', 'keep', index];
    if (removed.has(foldName(name)))
      file.add(path, `${file.shown(path)} is also listed under "remove": keep one of the two`);
    else if (RULES_BY_DEFAULT.get(name) === undefined)
      file.add(path, 'nothing removes this field: leave it out', { severity: 'warning' });
  }
}

/** One address in each IPv4 /8 and in each registry's part of IPv6: no organisation's network contains two of them. */
const FAR_APART = [
  ...Array.from({ length: 223 }, (_, index) => `${index + 1}.0.0.1`),
  ...['2001::1', '2400::1', '2600::1', '2800::1', '2a00::1', '2c00::1'],
];

const sound = network();

/** Warns about networks that span unrelated owners: a trusted address can claim to be any client. */
export function checkTrustedProxies(file: ConfigFile): void {
  for (const [index, text] of textsOf(asMap(file.value).trusted_proxies).entries()) {
    if (!sound.safeParse(text).success) continue;
    const listed = new AddressSet([text]);
    if (FAR_APART.filter(address => listed.has(address)).length < 2) continue;
    const message =
      'this network includes strangers, who could then claim to be any client: list only your own proxies';
    file.add(['trusted_proxies', index], message, { severity: 'warning' });
  }
}

/** Reports a listener that could serve no one: it requires PROXY headers, but no proxy is trusted to send them. */
export function checkProxyProtocol(file: ConfigFile): void {
  const { listen, trusted_proxies } = asMap(file.value);
  if (Array.isArray(trusted_proxies) && trusted_proxies.length > 0) return;
  for (const [name, listener] of Object.entries(asMap(listen))) {
    if (name === 'admin' || asMap(listener).proxy_protocol !== true) continue;
    const message = 'no proxy is trusted to send its header: list your load balancers under trusted_proxies';
    file.add(['listen', name, 'proxy_protocol'], message);
  }
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(isText) : [];
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
