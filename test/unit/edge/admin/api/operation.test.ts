import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../../../src/core/index.ts';
import { queryObject, readBy } from '../../../../../src/edge/admin/api/operation.ts';
import { explainSchema, listSchema, newRestrictionSchema } from '../../../../../src/edge/admin/api/shapes.ts';

const wrong = (schema: Parameters<typeof readBy>[0], value: unknown) => {
  const read = readBy(schema, value);
  return read instanceof GatewayError ? read.message : null;
};

describe('a request to the admin API', () => {
  it.each<[string, unknown, string]>([
    [
      'a missing parameter, and what it says',
      { address: '192.0.2.7' },
      'for is missing: How long, at most 24h, as in limits.yaml.',
    ],
    ['a number in place of text', { address: '192.0.2.7', for: 10 }, 'for: expected text in quotes'],
    ['null in place of text', { address: null, for: '10m' }, 'address: expected text in quotes'],
    [
      'a misspelt parameter',
      { adress: '192.0.2.7' },
      'There is no parameter "adress", did you mean "address"?',
    ],
    [
      'an unknown parameter',
      { reason: 'x', for: '1m' },
      'There is no parameter "reason": known are address, provider, client, subject, claims, key, as, for.',
    ],
    [
      'no name of a parameter',
      { 'a\u0085<b>': 'x', for: '1m' },
      'There is no parameter of this name: known are address, provider, client, subject, claims, key, as, for.',
    ],
    ['one of few words', { as: 'robot', for: '1m' }, 'as: expected user or bot'],
    ['a claim that is no text', { claims: { oid: 7 }, for: '1m' }, 'claims["oid"]: expected text in quotes'],
    [
      'text in place of claims',
      { claims: 'sub', for: '1m' },
      'claims: expected an object of names and texts',
    ],
    ['a list in place of an object', [], 'Send a JSON object of parameters: see /openapi.json.'],
    ['nothing', undefined, 'Send a JSON object of parameters: see /openapi.json.'],
  ])('is told about %s', (_, value, message) => {
    expect(wrong(newRestrictionSchema, value)).toBe(message);
  });

  it.each([
    ['limit=0', 'limit: expected at least 1'],
    ['limit=9999', 'limit: expected at most 1000'],
    ['limit=many', 'limit: expected a whole number'],
  ])('is told about a number in its query: %s', (query, message) => {
    expect(wrong(listSchema, queryObject(new URLSearchParams(query)))).toBe(message);
  });

  it.each([
    ['', 'method is missing: GET, POST, ..., or GRPC for a gRPC call.'],
    ['method=get&path=/', 'method: expected a method such as GET, or GRPC'],
    ['method=GET&path=', 'path: must not be empty'],
  ])('is told what to explain: %s', (query, message) => {
    expect(wrong(explainSchema, queryObject(new URLSearchParams(query)))).toBe(message);
  });
});
