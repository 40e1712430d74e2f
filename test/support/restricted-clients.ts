import { type AnonymousRestriction, KnownClient } from '../../src/limits/index.ts';

export function anAddress(key: string): KnownClient {
  return new KnownClient('address', key);
}

export function aPrincipal(key: string): KnownClient {
  return new KnownClient('principal', key);
}

/** What other processes hear of a restriction: it does not name its client. */
export function beyond({ whom: _, ...told }: AnonymousRestriction): AnonymousRestriction {
  return told;
}
