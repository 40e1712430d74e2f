import { KnownClient } from '../../src/limits/index.ts';

export function anAddress(key: string): KnownClient {
  return new KnownClient('address', key);
}

export function aPrincipal(key: string): KnownClient {
  return new KnownClient('principal', key);
}
