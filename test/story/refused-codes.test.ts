import { describe, expect, test } from 'vitest';
import { startDemoProvider } from '../support/demo-provider.ts';
import { expectError } from '../support/error-object.ts';
import { type IdentityGateway, startGatewayOf, startIdentityGateway } from '../support/identity-gateway.ts';
import { scripts } from '../support/scripted-provider.ts';
import { redeeming } from '../support/sign-in-client.ts';
import { startIssuer } from '../support/test-issuer.ts';

/** Texts that the provider's response or the gateway's own words hold as well. */
const CODES = [
  'a',
  '_',
  'grant',
  'invalid_grant',
  'n',
  'error',
  ' ',
  '*',
  '[...]',
  '400',
  '"',
  '\u0000',
  '\\',
];

/** The lines of the log of everything but its start, and but what a busy machine adds. */
function lines({ gateway }: IdentityGateway): Record<string, unknown>[] {
  return gateway.logLines
    .map(line => JSON.parse(line))
    .filter(line => !['provider', 'reload', 'overload', 'admission'].includes(line.type));
}

/** That it was an everyday event: a line of the access log, and the metric of refused codes. */
async function expectNoFault(front: IdentityGateway, refusals: number): Promise<void> {
  await expect.poll(() => lines(front).length).toBe(refusals);
  for (const line of lines(front)) {
    expect(line).toMatchObject({ type: 'access', level: 'info', status: 400, side: 'client' });
    expect(line['cause']).toMatch(/^the token endpoint answered 400 invalid_(grant|request)/);
    expect(line['cause']).not.toMatch(/\n|\.ts:|Error/);
  }
  expect(await front.gateway.counted('weir_sign_ins_total')).toEqual(
    new Map([['{outcome="code_refused"}', refusals]]),
  );
  expect(await front.gateway.counted('weir_errors_total')).toEqual(
    new Map([['{side="client",upstream="none"}', refusals]]),
  );
}

describe('a refused code is the client’s to mend, and no fault', () => {
  test('at a provider that has its say, whatever code and redirect URI were sent', async () => {
    const provider = await startDemoProvider();
    const front = await startIdentityGateway({
      issuer: provider.issuer,
      redirectUri: provider.callbackUri,
    });
    await front.gateway.ready();
    for (const code of CODES) {
      for (const redirectUri of [provider.callbackUri, code])
        expectError(await front.gateway.ask(redeeming({ code, redirectUri })), 400, 3);
    }
    await expectNoFault(front, 2 * CODES.length);
  });
});

test('no code makes a fault of the gateway or of the provider look like the client’s', async () => {
  const issuer = await startIssuer();
  const { gateway } = await startGatewayOf(issuer);
  for (const [status, error, answered, code] of [
    [401, 'invalid_client', 500, 13],
    [400, 'temporarily_unavailable', 503, 14],
  ] as const) {
    issuer.provider.token = scripts.json(status, { error });
    for (const sent of [error, 'a', '_', 'client', 'invalid_grant'])
      expectError(await gateway.ask(redeeming({ code: sent, redirectUri: sent })), answered, code);
  }
  const faults = gateway.logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'fault');
  expect(new Set(faults.map(({ status }) => status))).toEqual(new Set([500, 503]));
  // Both are expected ones: where they were made says nothing.
  for (const { cause } of faults) expect(cause).not.toMatch(/\n|\.ts:/);
});
