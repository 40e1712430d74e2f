import { describe, expect, test } from 'vitest';
import { ForwardingRules, RequestHead } from '../../../../src/wire/http/index.ts';
import { requestFraming } from '../../../../src/wire/http1/request-framing.ts';

const rules = new ForwardingRules({ remove: ['X-Corp-User'] });
const untrusted = (...fields: string[]) => headOf(fields, rules, false);
const trusted = (...fields: string[]) => headOf(fields, rules, true);

function headOf(fields: readonly string[], by: ForwardingRules, isTrusted: boolean): RequestHead {
  return new RequestHead(fields, by, isTrusted, requestFraming(fields, 1).hopFields);
}

describe('what goes to the upstream', () => {
  test('fields without a rule pass unchanged in letter case, order and number', () => {
    const fields = ['Accept', '*/*', 'x-A', '1', 'X-a', '2', 'Cookie', 'a=b', 'X-Under_score', 'ok'];
    expect(untrusted(...fields).kept).toEqual(fields);
  });

  test('hop-by-hop fields are dropped', () => {
    const hop = [
      ...['Keep-Alive', 'Proxy-Connection', 'Proxy-Authorization'],
      ...['TE', 'Trailer', 'Upgrade', 'HTTP2-Settings', 'Expect'],
    ];
    expect(untrusted(...hop.flatMap(name => [name, 'x'])).kept).toEqual([]);
  });

  test('fields that override the method or path are dropped', () => {
    const overrides = [
      ...['X-HTTP-Method-Override', 'X-Method-Override', 'X-HTTP-Method', 'X-Original-URL', 'x_rewrite_url'],
    ];
    expect(trusted(...overrides.flatMap(name => [name, 'x'])).kept).toEqual([]);
  });

  // Where each of the fields cost a copy of what the others named, this would take minutes.
  test('fields that a hundred thousand Connection fields name are dropped', () => {
    const names = Array.from({ length: 100_000 }, (_, i) => `x-${i}`);
    const fields = names.flatMap(name => ['Connection', name, name, '1']);
    const head = headOf([...fields, 'Accept', '*/*'], rules, false);
    expect(head.kept).toEqual(['Accept', '*/*']);
  });

  test('fields that Connection names are dropped, in every spelling', () => {
    const head = untrusted(
      'X-Secret',
      '1',
      'Accept',
      '*/*',
      'Connection',
      'close, x-SECRET',
      'connection',
      'X-Two',
      'x-two',
      '2',
    );
    expect(head.kept).toEqual(['Accept', '*/*']);
  });

  test('Authorization is dropped when Connection names it', () => {
    const head = untrusted('Authorization', 'Bearer t', 'Connection', 'authorization');
    expect(head).toMatchObject({ authorization: 'Bearer t', authorizationForHop: true });
    expect(untrusted('Authorization', 'Bearer t').authorizationForHop).toBe(false);
    expect(untrusted('Authorization', 'Bearer t', 'Connection', 'x-a').authorizationForHop).toBe(false);
  });

  test('claims about the origin pass only from a trusted proxy', () => {
    const claims = [
      ...['Forwarded', 'for=1.2.3.4', 'X-Real-IP', '1.2.3.4'],
      ...['X-Forwarded-Port', '1', 'X-Corp-User', 'root', 'Proxy', 'p'],
    ];
    expect(untrusted(...claims).kept).toEqual([]);
    expect(untrusted(...claims).untrustedClaims).toBe(true);
    expect(trusted(...claims).kept).toEqual(claims);
    expect(trusted(...claims).untrustedClaims).toBe(false);
  });

  test('fields that only the gateway writes are dropped from everybody, whatever else is said of them', () => {
    const names = ['X-User', 'Remote-User', 'X-Real-IP'];
    const own = new ForwardingRules({ own: names, keep: names, remove: names });
    for (const isTrusted of [true, false])
      expect(headOf(['x-user', 'a', 'REMOTE-USER', 'b', 'X_Real_IP', 'c'], own, isTrusted).kept).toEqual([]);
  });

  test('other spellings of fields that the gateway writes or believes are always dropped', () => {
    const spelt = [
      ...['X_Forwarded_For', 'X_Real_IP', 'X_Request_Id', 'Content_Length', 'X_Corp_User'],
      ...['X-Forwarded_Host', 'X.Forwarded~For', "X'Real'IP", 'X!HTTP!Method!Override'],
      ...['Transfer.Encoding', 'Keep|Alive', 'X-Forwarded.Port'],
    ];
    expect(trusted(...spelt.flatMap(name => [name, '1'])).kept).toEqual([]);
    expect(untrusted(...spelt.flatMap(name => [name, '1'])).kept).toEqual([]);
  });
});

test('a name configured with punctuation passes from a trusted proxy as spelt', () => {
  const own = new ForwardingRules({ remove: ['X_Corp.User'] });
  const fields = ['x_corp.user', 'a', 'X-Corp-User', 'forged'];
  expect(headOf(fields, own, true).kept).toEqual(['x_corp.user', 'a']);
  expect(headOf(fields, own, false).kept).toEqual([]);
});

describe('what the gateway reads', () => {
  test('a trusted proxy is believed, line by line', () => {
    const head = trusted(
      'X-Forwarded-For',
      '1.1.1.1',
      'X-Forwarded-For',
      '2.2.2.2',
      'X-Forwarded-Proto',
      'https',
      'X-Forwarded-Host',
      'h',
      'X-Request-Id',
      'id',
    );
    expect(head).toMatchObject({
      forwardedFor: ['1.1.1.1', '2.2.2.2'],
      forwardedProto: 'https',
      forwardedHost: 'h',
      requestId: 'id',
    });
  });

  test('anyone else is not', () => {
    const head = untrusted(
      'X-Forwarded-For',
      '1.1.1.1',
      'X-Forwarded-Proto',
      'https',
      'X-Forwarded-Host',
      'h',
      'X-Request-Id',
      'id',
    );
    expect(head).toMatchObject({
      forwardedFor: null,
      forwardedProto: null,
      forwardedHost: null,
      requestId: null,
    });
  });

  test('of several request ids of a trusted proxy none is believed', () => {
    expect(trusted('X-Request-Id', 'a', 'x-request-id', 'b', 'x-request-id', 'b').requestId).toBe('');
  });

  test('a trusted proxy alone tells the certificate of its client, and one alone', () => {
    const certificates = new ForwardingRules({ certificate: 'Client-Cert' });
    const told = (isTrusted: boolean, ...values: string[]) =>
      headOf(
        values.flatMap(value => ['client-cert', value]),
        certificates,
        isTrusted,
      );
    expect(told(true, 'a').certificate).toBe('a');
    for (const values of [[], ['a', 'b'], ['a', 'a', 'a']])
      expect(told(true, ...values).certificate).toBe('');
    expect(told(false, 'a')).toMatchObject({ certificate: null, kept: [], untrustedClaims: true });
    expect(trusted('Client-Cert', 'a').certificate).toBeNull();
  });

  test('only a trusted proxy begins a trace, with one parent', () => {
    const traces = new ForwardingRules({ traces: true });
    const fields = ['traceparent', 'p', 'tracestate', 'a=1', 'Tracestate', 'b=2'];
    const ofTrusted = headOf(fields, traces, true);
    expect(ofTrusted).toMatchObject({ traceParent: 'p', traceState: 'a=1,b=2', kept: [] });
    expect(headOf(['traceparent', 'q', ...fields], traces, true).traceParent).toBe('');
    const ofOthers = headOf(fields, traces, false);
    expect(ofOthers).toMatchObject({ traceParent: null, traceState: null, untrustedClaims: false });
  });

  test('a request id alone is not a claim about the origin', () => {
    expect(untrusted('X-Request-Id', 'id').untrustedClaims).toBe(false);
  });

  test.each(['Host', 'Authorization'])('%s twice is noticed, even with one value', name => {
    expect(untrusted(name, 'x').doubled).toBeNull();
    expect(untrusted(name, 'x', name.toLowerCase(), 'x').doubled).toBe(name.toLowerCase());
  });
});

test.each([
  ['trailers', true],
  ['Trailers', true],
  ['deflate;q=0.5, trailers', true],
  ['trailers, deflate', true],
  ['deflate', false],
  ['x-trailers', false],
  ['trailersx', false],
  ['', false],
])('a head knows from TE: %s whether the client takes trailers: %s', (value, takes) => {
  const head = untrusted('TE', value);
  expect(head.takesTrailers).toBe(takes);
  expect(head.kept).toEqual([]);
});
