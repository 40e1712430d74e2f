import { asMap, type ConfigFile, type Path } from '../file/index.ts';

/** A provider as the file has it. */
interface Section {
  readonly path: Path;
  readonly raw: Readonly<Record<string, unknown>>;
}

/**
 * Checks that every provider can be asked about tokens, where a route asks (RFC 7662): as which client, and at which address. Reads
 * the raw value, as all cross-checks do.
 */
export function checkIntrospection(file: ConfigFile): void {
  const { routes, identity_provider: one, identity_providers: several } = asMap(file.value);
  const all: readonly unknown[] = Array.isArray(routes) ? routes : [];
  const asking = [...all.keys()].filter(index => asks(all[index]));
  for (const index of asking) {
    if (asMap(all[index]).authentication !== 'none') continue;
    const message = 'has no effect with "authentication: none", which ignores tokens';
    file.add(['routes', index, 'introspection'], message);
  }
  const [first] = asking;
  if (first === undefined) return;
  const entries: readonly unknown[] = Array.isArray(several) ? several : [];
  const sections: Section[] = [
    ...(one === undefined ? [] : [{ path: ['identity_provider'], raw: asMap(one) }]),
    ...entries.map((raw, index) => ({ path: ['identity_providers', index], raw: asMap(raw) })),
  ];
  const { line } = file.place(['routes', first, 'introspection']);
  for (const section of sections) checkSection(file, section, `the route in line ${line}`);
}

function asks(route: unknown): boolean {
  const { introspection } = asMap(route);
  return introspection !== undefined && introspection !== false;
}

function checkSection(file: ConfigFile, { path, raw }: Section, route: string): void {
  const asksAs = 'asks this provider about its tokens, for which the gateway has to authenticate there';
  if (raw.client_id === undefined) file.add(path, `${route} ${asksAs}: add "client_id" and a secret`);
  else if (raw.client_authentication === 'none')
    file.add([...path, 'client_authentication'], `${route} ${asksAs}: none is not enough`);
  const { authorization, token, key_set: keySet, introspection } = asMap(raw.endpoints);
  const readsNoDocument =
    keySet !== undefined &&
    (raw.redirect_uri === undefined || (authorization !== undefined && token !== undefined));
  if (!readsNoDocument || introspection !== undefined) return;
  const message = `${route} asks this provider about its tokens, and with these addresses the discovery document is not read: add "introspection"`;
  file.add([...path, 'endpoints'], message);
}
