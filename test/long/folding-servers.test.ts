import { beforeAll, describe, expect, test } from 'vitest';
import { startGatewayOf } from '../support/identity-gateway.ts';
import { installLighttpd, PAGES, startLighttpd } from '../support/lighttpd.ts';
import { head } from '../support/requests.ts';
import { startIssuer } from '../support/test-issuer.ts';

// RFC 3875, 4.1.18: a server that runs programs by CGI hands them `X-Real-IP` as HTTP_X_REAL_IP. What it does with the other
// characters that a name may hold is its own choice: lighttpd folds all of them, so that two fields become one variable.

/** Every character of a field's name that is no letter or digit (RFC 9110, 5.6.2), but for the hyphen. */
const PUNCTUATION = [..."!#$%&'*+.^_`|~"];

/** Fields that the gateway writes, guards or believes, and what they hold when the client is 127.0.0.1. */
const GUARDED: Readonly<Record<string, string | null>> = {
  'X-Auth-Subject': 'alice',
  'X-Auth-Client': 'app',
  'X-Forwarded-For': '127.0.0.1',
  'X-Forwarded-Proto': 'http',
  'X-Forwarded-Host': 'gateway.test',
  'X-Request-Id': 'ours',
  'X-Real-IP': null,
  'Client-IP': null,
  'X-Remote-User': null,
  'Script-Name': null,
  'True-Client-IP': null,
  'X-Forwarded-Port': null,
  'X-HTTP-Method-Override': null,
  'X-Original-URL': null,
  'Content-Length': null,
  'Transfer-Encoding': null,
  'Keep-Alive': null,
};

beforeAll(installLighttpd);

describe.each(Object.entries(PAGES))('behind a server that folds names (%s)', (_, page) => {
  test('what the gateway says is all that programs hear, however a client spells it', async () => {
    const [issuer, port] = [await startIssuer(), await startLighttpd()];
    const { gateway } = await startGatewayOf(issuer, { api: { url: `http://127.0.0.1:${port}` } });
    const client = await gateway.connect();
    const bearer = issuer.bearer();
    for (const character of PUNCTUATION) {
      const names = Object.keys(GUARDED).map(name => name.replaceAll('-', character));
      const response = await client.ask(head(`GET ${page}`, bearer, ...names.map(name => `${name}: forged`)));
      expect(response.status).toBe(200);
      const variables = variablesOf(response.body.toString('latin1'));
      for (const [name, value] of Object.entries(GUARDED)) {
        const heard = variables.filter(([variable]) => variable === variableOf(name)).map(([, text]) => text);
        const ours = heard.map(text => (name === 'X-Request-Id' && text !== 'forged' ? 'ours' : text));
        expect([character, name, ours]).toEqual([character, name, value === null ? [] : [value]]);
      }
    }
  });

  test('a name that only they fold still reaches them', async () => {
    const [issuer, port] = [await startIssuer(), await startLighttpd()];
    const { gateway } = await startGatewayOf(issuer, { api: { url: `http://127.0.0.1:${port}` } });
    const response = await gateway.ask(head(`GET ${page}`, issuer.bearer(), 'X~Mine.Own: a'));
    expect(variablesOf(response.body.toString('latin1'))).toContainEqual(['HTTP_X_MINE_OWN', 'a']);
  });
});

function variableOf(name: string): string {
  return `HTTP_${name.toUpperCase().replaceAll('-', '_')}`;
}

function variablesOf(page: string): [name: string, value: string][] {
  return page.split('\n').map(line => {
    const equals = line.indexOf('=');
    return [line.slice(0, equals), line.slice(equals + 1)];
  });
}
