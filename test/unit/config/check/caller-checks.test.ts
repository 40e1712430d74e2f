import { describe, expect, it } from 'vitest';
import { diagnosticsOf, loadFiles } from '../../../support/config-text.ts';

const gatewayWith = (classes: string) => `limits: limits.yaml
identity_provider: { issuer: "https://id.example.com" }
access_tokens:
  audience: any
  classes: ${classes}
upstreams: { api: { url: "http://api:3000" } }
routes: [{ path: /**, upstream: api }]
`;

const NOTHING = 'buckets: {}';
const PARTNER = '{ partner: { claim: plan } }';

function load(limits: string, classes = PARTNER) {
  return loadFiles({ 'gateway.yaml': gatewayWith(classes), 'limits.yaml': limits });
}

/** What is reported, without the places. */
async function errorsIn(limits: string, classes = PARTNER): Promise<string[]> {
  return withoutPlaces(diagnosticsOf(await load(limits, classes)));
}

function withoutPlaces(diagnostics: readonly string[]): string[] {
  return diagnostics.map(each => each.replace(/^[^:]*:\d+:\d+: /, ''));
}

async function hintsIn(limits: string): Promise<string[]> {
  const result = await load(limits);
  if (!result.ok) throw new Error(diagnosticsOf(result).join('\n'));
  return result.hints.map(({ message }) => message).filter(message => message.includes('no class'));
}

const bucketWith = (keys: string) => `buckets: { b: { ${keys} } }\nroutes: { GET /b: b }\n`;

describe('classes of gateway.yaml', () => {
  it.each([
    [
      '{ user: { claim: plan } }',
      'access_tokens.classes: "user" has a meaning of its own in limits.yaml and in metrics: choose another name',
    ],
    [
      '{ group: { claim: plan } }',
      'access_tokens.classes: "group" has a meaning of its own in limits.yaml and in metrics: choose another name',
    ],
    [
      '{ "7": { claim: plan } }',
      'access_tokens.classes: "7" is a number, which has no place in the order of the file: add a letter',
    ],
    [
      '{ a b: { claim: plan } }',
      'access_tokens.classes: "a b" is not a valid name: use 1 to 63 letters, digits, ".", "_" or "-", starting with a letter or digit',
    ],
    [
      '{ gold: {} }',
      'access_tokens.classes.gold: nobody belongs to it: write the claim of its tokens, or a list of callers',
    ],
    [
      '{ gold: { callers: [{ client: web, subject: a }], value: x } }',
      'access_tokens.classes.gold.value: a value needs its claim: { claim: plan, value: partner }',
    ],
    [
      '{ gold: { callers: [] } }',
      'access_tokens.classes.gold.callers: an empty list names nobody: name a caller, or leave it out',
    ],
    [
      '{ gold: { callers: [{ client: web }] } }',
      'access_tokens.classes.gold.callers[0]: a caller is listed by the claims that identify it in gateway.yaml: { client, subject } for a user',
    ],
  ])('are refused as %s', async (classes, message) => {
    expect(await errorsIn(NOTHING, classes)).toEqual([message]);
  });

  it('are at most eight', async () => {
    const names = (count: number) =>
      `{ ${Array.from({ length: count }, (_, i) => `c${i}: { claim: c }`).join(', ')} }`;
    expect(await errorsIn(NOTHING, names(8))).toEqual([]);
    expect(await errorsIn(NOTHING, names(9))).toEqual([
      'access_tokens.classes: at most 8 classes: each multiplies the series of metrics',
    ]);
  });

  it('are at most eight of all providers together', async () => {
    const entry = (name: string, from: number) =>
      `  - { name: ${name}, issuer: "https://${name}.example.com", audience: any, classes: { ${Array.from({ length: 5 }, (_, i) => `c${from + i}: { claim: c }`).join(', ')} } }`;
    const of = async (from: number) =>
      withoutPlaces(
        diagnosticsOf(
          await loadFiles({
            'gateway.yaml': `identity_providers:\n${entry('a', 0)}\n${entry('b', from)}\nupstreams: { api: { url: "http://api:3000" } }\nroutes: [{ path: /**, upstream: api }]\n`,
          }),
        ),
      );
    expect(await of(3)).toEqual([]);
    expect(await of(4)).toEqual([
      expect.stringContaining(
        'identity_providers[1]: the providers have 9 classes together, and at most 8 are possible: give those that mean the same one name',
      ),
    ]);
  });
});

describe('classes and groups of limits.yaml', () => {
  it('may name classes that another gateway has, with a hint', async () => {
    const limits = `global: { classes: { partner: 9/1s, partnr: off } }\n${bucketWith('user: 5/1s, classes: { gold: 9/1s }, shadow: { classes: { silver: 1/1s } }')}`;
    expect(await hintsIn(limits)).toEqual([
      'global.classes: "partnr" has no effect: no class of gateway.yaml has this name, did you mean "partner"?',
      'buckets.b.classes: "gold" has no effect: no class of gateway.yaml has this name',
      'buckets.b.shadow.classes: "silver" has no effect: no class of gateway.yaml has this name',
    ]);
  });

  it.each([
    ['classes: { partner: 5/1s }'],
    ['group: { claim: org, limit: 5/1s }'],
    ['shadow: { group: { claim: org, limit: 5/1s } }'],
    ['user: { claim: rate, max: 500/10s, otherwise: 50/10s }'],
  ])('make a bucket by themselves: %s', async keys => {
    expect(await errorsIn(bucketWith(keys))).toEqual([]);
  });

  it.each([
    [
      'user: { claim: rate, max: 500/10s, otherwise: 50/1m }',
      'buckets.b.user.otherwise: its period must be that of max: write 50/10s',
    ],
    [
      'user: { claim: rate, max: 5/10s, otherwise: 50/10s }',
      'buckets.b.user.otherwise: a token without the claim would have more than max allows any other: write at most 5/10s, or raise max',
    ],
    [
      'user: { claim: rate, max: 500/10s }',
      'buckets.b.user: missing key "otherwise": expected a number and a period such as 20/5s',
    ],
    [
      'address: { claim: rate, max: 5/1s, otherwise: 5/1s }',
      'buckets.b.address: expected a number and a period such as 20/5s, or a map such as { limit: 200000/day, unit: cost }, found a map',
    ],
    ['user: 5/1s, classes: { bot: 5/1s }', 'buckets.b.classes: "bot" has its own key next to "classes"'],
    [
      'group: 500/1m',
      'buckets.b.group: expected a map such as { claim: organization, limit: 500/1m }, found text',
    ],
    [
      'group: { claim: org, limit: { claim: n, max: 5/1s, otherwise: 1/1s } }',
      'buckets.b.group.limit: expected a number and a period such as 20/5s, or a map such as { limit: 200000/day, unit: cost }, found a map',
    ],
    [
      'group: { claim: org, limit: 5/1s }, shadow: { group: { claim: team, limit: 5/1s } }',
      'buckets.b.shadow.group.claim: the groups of a bucket are distinguished by one claim: write "org", as in line 1',
    ],
  ])('are refused as %s', async (keys, message) => {
    expect(await errorsIn(bucketWith(keys))).toEqual([message]);
  });

  it('take no number from a claim in "global"', async () => {
    const [error] = await errorsIn('global: { user: { claim: rate, max: 5/1s, otherwise: 1/1s } }');
    expect(error).toBe('global.user: expected off, or a number and a period such as 1000/1m, found a map');
  });
});
