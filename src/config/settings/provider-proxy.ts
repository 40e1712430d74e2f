import { PROXY_VARIABLES, type ProxyVariables } from '../../identity/signin/index.ts';
import type { ConfigFile, Section } from '../file/index.ts';

const IN_ENVIRONMENT = PROXY_VARIABLES.flatMap(name => [name, name.toLowerCase()]);

/** Reads `proxy` of a provider, with the variables that it may mean. Returns null if there is none, or, reported, an unusable one. */
export function readProxy(section: Section, written: string | undefined): ProxyVariables | null {
  const variables = variablesIn(section.file);
  const proxies = Object.entries(variables).filter(([name]) => !/^no_/i.test(name));
  if (written === undefined) {
    const names = proxies.map(([name]) => name).join(' and ');
    const message = `${names} in the environment is not used: the provider is asked without a proxy unless "proxy: environment" says so`;
    if (proxies.length > 0) section.hint([], message);
    return null;
  }
  if (written === 'environment') {
    for (const [name, value] of proxies) {
      const error = proxyError(value);
      if (error !== null) section.add('proxy', `the variable ${name} of the environment ${error}`);
    }
    return proxies.every(([, value]) => proxyError(value) === null) ? variables : null;
  }
  const error = proxyError(written) ?? passwordError(section, written);
  if (error !== null) section.add('proxy', error);
  return error === null ? { HTTPS_PROXY: written, HTTP_PROXY: written } : null;
}

function variablesIn({ environment }: ConfigFile): ProxyVariables {
  const found = IN_ENVIRONMENT.map(name => [name, environment[name] ?? ''] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== ''));
}

/** What is wrong with the address of a proxy; `null` if nothing. Never repeats it, since it may have a password. */
function proxyError(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:\/\//i.test(text))
    return 'is not the address of a proxy: it must begin with http:// or https://';
  return url.pathname === '/' && url.search === '' && url.hash === ''
    ? null
    : 'must be the address of a proxy alone, without a path';
}

function passwordError({ file, path }: Section, text: string): string | null {
  const { username, password } = new URL(text);
  if ((username === '' && password === '') || file.isVariable([...path, 'proxy'])) return null;
  return `this file must not contain secrets: write "\${NAME}" to read the address with its password from an environment variable`;
}
