import { asMap, type ConfigFile, isMap, type Path } from '../file/index.ts';
import { upstreamKeys } from '../schema/index.ts';

/** Reports upstreams without an address, or with addresses that cannot be combined. */
export function checkUpstreamUrls(file: ConfigFile): void {
  for (const [name, value] of Object.entries(asMap(asMap(file.value).upstreams))) {
    const { url, urls } = asMap(value);
    const path = ['upstreams', name];
    if (url !== undefined && urls !== undefined) {
      const message = 'an upstream has "url" or "urls", not both: move the address into "urls"';
      file.add([...path, 'url'], message, { about: 'key' });
    } else if (urls === undefined) checkPresence(file, path);
    else if (Array.isArray(urls)) checkList(file, [...path, 'urls'], urls);
  }
}

/** Returns the address; `undefined` if it is invalid: validation reports that. */
function readUrl(entry: unknown) {
  return upstreamKeys.url.safeParse(isMap(entry) ? entry.url : entry).data;
}

/** Reports a missing address, unless a misspelt key, which validation reports, may be it. */
function checkPresence(file: ConfigFile, path: Path): void {
  const upstream = file.valueAt(path);
  if (!isMap(upstream) || upstream.url !== undefined) return;
  if (Object.keys(upstream).every(key => Object.hasOwn(upstreamKeys, key)))
    file.add(path, 'missing key "url": expected a URL such as http://api.internal:3000');
}

/** Checks that all addresses have the same scheme and path, since any of them may get any request. */
function checkList(file: ConfigFile, path: Path, urls: readonly unknown[]): void {
  const listed = urls.map(entry => {
    const url = readUrl(entry);
    return url === undefined
      ? null
      : { ...url, place: `${url.lookup} ${url.host.toLowerCase()} ${url.port}` };
  });
  const lineOf = (index: number) => file.place([...path, index]).line;
  const baseAt = (index: number) => {
    const hidden = [[index], [index, 'url']].some(at => file.holdsVariable([...path, ...at]));
    return hidden ? 'another' : listed[index]?.base || 'none';
  };
  const first = listed.findIndex(url => url !== null);
  const scheme = schemeOf(listed[first]?.tls);
  for (const [index, url] of listed.entries()) {
    if (url === null) continue;
    const twin = listed.findIndex(other => other?.place === url.place);
    if (schemeOf(url.tls) !== scheme) {
      const message = `all addresses of an upstream have one scheme: this one has ${schemeOf(url.tls)}, the one in line ${lineOf(first)} has ${scheme}`;
      file.add([...path, index], message);
    } else if (url.base !== listed[first]?.base) {
      const message = `all addresses of an upstream have one path: this one has ${baseAt(index)}, the one in line ${lineOf(first)} has ${baseAt(first)}`;
      file.add([...path, index], message);
    } else if (twin < index) {
      const message = `this address is already in line ${lineOf(twin)}: give it a "weight" there instead`;
      file.add([...path, index], message);
    }
  }
}

function schemeOf(isTls: boolean | undefined): string {
  return isTls === true ? 'https' : 'http';
}

/** Reports health checks without a path, and those that would overlap. */
export function checkUpstreamHealth(file: ConfigFile): void {
  for (const [name, value] of Object.entries(asMap(asMap(file.value).upstreams))) {
    const { health, protocol } = asMap(value);
    if (!isMap(health)) continue;
    const path = ['upstreams', name, 'health'];
    // A gRPC check needs no name: without one it asks about the whole server.
    if (health.path === undefined && protocol !== 'grpc')
      file.add(path, 'missing key "path": expected a path such as /healthz');
    checkTimeout(file, path, health);
  }
}

function checkTimeout(file: ConfigFile, path: Path, health: object): void {
  // Validation reports invalid values.
  const { data } = upstreamKeys.health.safeParse(health);
  if (data === undefined || data.timeout < data.every) return;
  const message = `a check has to end before the next begins: "timeout" (${data.timeout / 1_000}s) must be less than "every" (${data.every / 1_000}s)`;
  file.add([...path, 'timeout' in health ? 'timeout' : 'every'], message);
}
