import { expect } from 'vitest';
import type { LocalGateway } from './gateway.ts';

/** Shorter texts may appear in a log by chance. */
const SHORTEST = 8;

const secrets = new Set<string>();

/** Before each test (`setup.ts`): forgets the secrets of the test before. */
export function forgetSecrets(): void {
  secrets.clear();
}

/**
 * Says of a text that it is a secret, and returns it: to the end of the running test no gateway may write it anywhere. Of a
 * compact JWS its payload and its signature count by themselves.
 */
export function secret(text: string): string {
  const segments = text.split('.');
  for (const part of segments.length === 3 ? segments.slice(1) : [text]) {
    if (part.length >= SHORTEST) secrets.add(part);
  }
  return text;
}

/** That every line of the gateway's log is a JSON object, and that neither the log nor a metric holds a secret. */
export async function expectSecretsKept(gateway: LocalGateway): Promise<void> {
  for (const line of gateway.logLines) expect(JSON.parse(line), line).toBeTypeOf('object');
  expectNoSecretIn('the log', gateway.logLines.join(''));
  expectNoSecretIn('the metrics', (await gateway.admin('/metrics')).text);
}

export function expectNoSecretIn(what: string, text: string): void {
  expect(
    [...secrets].filter(each => text.includes(each)),
    `secrets in ${what}:\n${text.slice(0, 20_000)}`,
  ).toEqual([]);
}
