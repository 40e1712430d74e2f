import { describe, expect, it } from 'vitest';
import type { BucketModel, LimitsModel, Snapshot } from '../../../../src/config/index.ts';
import { type Limit, limitsIn } from '../../../../src/limits/index.ts';
import { diagnosticsOf, loadFiles, NEEDED } from '../../../support/config-text.ts';

const GATEWAY = `limits: limits.yaml
identity_provider: { issuer: "https://id.example.com", client_id: gateway, client_authentication: none, redirect_uri: "https://app.example.com/cb" }
access_tokens: { audience: any, bots: { claim: client_id } }
upstreams: { api: { url: "http://api:3000" } }
routes: [{ path: /**, upstream: api, authentication: optional }]
`;

async function snapshotOf(limits: string): Promise<Snapshot> {
  const result = await loadFiles({ 'gateway.yaml': GATEWAY, 'limits.yaml': limits });
  if (!result.ok) throw new Error(diagnosticsOf(result).join('\n'));
  return result.snapshot;
}

async function modelOf(limits: string): Promise<LimitsModel> {
  return (await snapshotOf(limits)).limits;
}

/** The bucket `b` with these keys, on one line that has the parameter `id`. */
async function bucketOf(keys: string, more = ''): Promise<BucketModel> {
  const model = await modelOf(`buckets: { b: { ${keys} } }\nroutes: { "GET /{id}": b }\n${more}`);
  const bucket = model.routes.find('GET', '', '/7')?.value.bucket;
  if (bucket === undefined) throw new Error('no bucket');
  return bucket;
}

/** `5/5s`, as quotas are written. */
function quotaOf(limit: Limit | null): string | null {
  return limit === null ? null : `${limit.units}/${limit.periodMs / 1_000}s`;
}

function quotasOf(sets: BucketModel['sets'], role: 'global' | 'caller' | 'resource'): (string | null)[] {
  return [sets.bot, sets.user, sets.address].map(set => quotaOf(set[role]));
}

describe('limits without a file', () => {
  it('have every default in the reference', async () => {
    const result = await loadFiles({ 'gateway.yaml': NEEDED });
    if (!result.ok) throw new Error('errors');
    const { limits } = result.snapshot;
    expect(quotasOf(limits.global, 'global')).toEqual(['50/1s', '50/1s', '50/1s']);
    expect(quotasOf(limits.global, 'caller')).toEqual([null, null, null]);
    expect(limits).toMatchObject({
      invalidRequests: { quota: { units: 10_000, periodMs: 600_000 }, restrictForMs: 600_000 },
      webhookNotFound: { quota: { units: 10, periodMs: 600_000 }, restrictForMs: 600_000 },
      ignoredRefusals: {
        quota: { units: 1_000, periodMs: 600_000 },
        restrictForMs: 600_000,
        addresses: false,
      },
      keysPerCaller: 4_096,
    });
    expect(limits.neverRestrict.addresses.has('127.0.0.1')).toBe(false);
    expect(limits.routes.find('GET', '', '/')).toBeNull();
    expect(result.snapshot.outline.places.of(['global'])).toBeNull();
  });
});

it('the time zone is that of every day, week and month', async () => {
  const lists =
    'user: [5/day, 9/week], group: { claim: org, limit: 9/month }, resource: 9/day, shadow: { user: 3/day }';
  const zone = 'time_zone: Europe/Berlin\nglobal: { user: [50/1s, 1000/day], shadow: { user: 9/week } }';
  const set = (await bucketOf(`main: id, ${lists}`, zone)).sets.user;
  const limits = [set, ...(set.shadow === null ? [] : [set.shadow])].flatMap(limitsIn);
  const zones = limits.map(({ calendar, period }) => `${period} ${calendar?.timeZone ?? 'nowhere'}`);
  const berlin = (...periods: string[]) => periods.map(period => `${period} Europe/Berlin`);
  expect(zones).toEqual(['1s nowhere', ...berlin('day', 'day', 'week', 'month', 'day', 'week', 'day')]);
});

describe('the global limit', () => {
  it('is a number for each class, and what is left out has its default', async () => {
    const { global } = await modelOf('global: { bot: 7/1s, address: 3/2s }');
    expect(quotasOf(global, 'global')).toEqual(['7/1s', '50/1s', '3/2s']);
    expect(global.bot.global).toMatchObject({ role: 'global', algorithm: 'window', slackMs: 20 });
  });

  it('can be off, for all or for one class', async () => {
    expect(quotasOf((await modelOf('global: off')).global, 'global')).toEqual([null, null, null]);
    const { global } = await modelOf('global: { user: off }');
    expect(quotasOf(global, 'global')).toEqual(['50/1s', null, '50/1s']);
  });

  it('is in the sets of a bucket, and not in those for routes that are exempt', async () => {
    const { sets, exemptSets } = await bucketOf('user: 5/5s', 'global: { bot: 7/1s, user: off }\n');
    expect(quotasOf(sets, 'global')).toEqual(['7/1s', null, '50/1s']);
    expect(quotasOf(exemptSets, 'global')).toEqual([null, null, null]);
    expect(quotasOf(exemptSets, 'caller')).toEqual(['5/5s', '5/5s', '5/5s']);
  });
});

describe('the number of a class in a bucket', () => {
  it.each([
    ['user: 5/5s', ['5/5s', '5/5s', '5/5s']],
    ['user: 5/5s, bot: 10/5s', ['10/5s', '5/5s', '5/5s']],
    ['user: 5/5s, address: 2/5s', ['5/5s', '5/5s', '2/5s']],
    ['user: 5/5s, bot: 10/5s, address: 2/5s', ['10/5s', '5/5s', '2/5s']],
    ['bot: 10/5s', ['10/5s', null, null]],
    ['address: 2/5s', [null, null, '2/5s']],
    ['main: id, resource: 9/5s', [null, null, null]],
  ])('with { %s } is for bots, users and addresses %j', async (keys, expected) => {
    const { sets } = await bucketOf(keys);
    expect(quotasOf(sets, 'caller')).toEqual(expected);
  });

  it('does not touch the resource limit, which all callers share', async () => {
    const { sets } = await bucketOf('main: id, user: 5/5s, resource: 30/10s');
    expect(quotasOf(sets, 'resource')).toEqual(['30/10s', '30/10s', '30/10s']);
    expect(sets.bot.resource?.role).toBe('resource');
    expect(sets.bot.resource?.identity).toBe(sets.address.resource?.identity);
    expect(sets.bot.caller?.identity).not.toBe(sets.bot.resource?.identity);
  });
});

/** What a set in a bucket would refuse without doing so. */
function shadowsOf(sets: BucketModel['sets'], role: 'global' | 'caller' | 'resource'): (string | null)[] {
  return [sets.bot, sets.user, sets.address].map(({ shadow }) => shadow && quotaOf(shadow[role]));
}

describe('a bucket that is tried', () => {
  it('refuses no one while it is in shadow, and keeps its counters', async () => {
    const keys = 'main: id, user: 5/5s, bot: 9/5s, resource: 50/5s';
    const { sets, exemptSets, rollout } = await bucketOf(`${keys}, shadow: true`);
    expect(quotasOf(sets, 'caller')).toEqual([null, null, null]);
    expect(quotasOf(sets, 'resource')).toEqual([null, null, null]);
    expect(quotasOf(sets, 'global')).toEqual(['50/1s', '50/1s', '50/1s']);
    expect(shadowsOf(sets, 'caller')).toEqual(['9/5s', '5/5s', '5/5s']);
    expect(shadowsOf(exemptSets, 'resource')).toEqual(['50/5s', '50/5s', '50/5s']);
    expect(rollout).toBeNull();
    const whole = await bucketOf(keys);
    expect(sets.user.shadow?.caller?.identity).toBe(whole.sets.user.caller?.identity);
    expect(sets.user.shadow?.resource?.identity).toBe(whole.sets.user.resource?.identity);
  });

  it('has other numbers beside those that hold, with counters of their own', async () => {
    const { sets } = await bucketOf(
      'main: id, user: 20/5s, bot: 50/5s, shadow: { user: 10/5s, resource: 9/5s }',
    );
    expect(quotasOf(sets, 'caller')).toEqual(['50/5s', '20/5s', '20/5s']);
    // In place of 20/5s, 10/5s would be for addresses too, but not for bots.
    expect(shadowsOf(sets, 'caller')).toEqual([null, '10/5s', '10/5s']);
    expect(shadowsOf(sets, 'resource')).toEqual(['9/5s', '9/5s', '9/5s']);
    expect(sets.user.shadow?.caller?.identity).not.toBe(sets.user.caller?.identity);
  });

  it('has the tried numbers for a share of callers, and those that hold for the others', async () => {
    const { sets, rollout } = await bucketOf(
      'main: id, user: 20/5s, bot: 50/5s, resource: 90/5s, shadow: { user: 10/5s, resource: 60/5s }, enforce: 10%',
    );
    expect(quotasOf(sets, 'caller')).toEqual(['50/5s', '10/5s', '10/5s']);
    expect(quotasOf(sets, 'resource')).toEqual(['60/5s', '60/5s', '60/5s']);
    expect(sets.user.shadow).toBeNull();
    expect(rollout).toMatchObject({ triesNumbers: true, share: { percent: 10 } });
    const others = rollout?.others.sets;
    expect(others && [quotasOf(others, 'caller'), shadowsOf(others, 'caller')]).toEqual([
      ['50/5s', '20/5s', '20/5s'],
      [null, '10/5s', '10/5s'],
    ]);
    // A caller that joins the share keeps what it has drawn.
    expect(sets.user.caller?.identity).toBe(others?.user.caller?.identity);
    expect(sets.user.resource?.identity).toBe(others?.user.resource?.identity);
  });

  it('holds for a share of callers, and is in shadow for the others', async () => {
    const { sets, rollout } = await bucketOf('user: 5/5s, enforce: 10%');
    expect(quotasOf(sets, 'caller')).toEqual(['5/5s', '5/5s', '5/5s']);
    expect(sets.user.shadow).toBeNull();
    expect(rollout?.share.percent).toBe(10);
    const others = rollout?.others.sets;
    expect(others && [quotasOf(others, 'caller'), shadowsOf(others, 'caller')]).toEqual([
      [null, null, null],
      ['5/5s', '5/5s', '5/5s'],
    ]);
    expect(others?.user.shadow?.caller?.identity).toBe(sets.user.caller?.identity);
  });

  it('costs nothing where it is off', async () => {
    for (const keys of [
      'user: 5/5s',
      'user: 5/5s, shadow: false',
      'user: 5/5s, bot: 9/5s, shadow: { bot: 3/5s }',
    ]) {
      expect((await bucketOf(keys)).sets.user.shadow, keys).toBeNull();
    }
  });
});

describe('the global limit in shadow', () => {
  it('is in the sets of buckets and in those without one, but not in those of exempt routes', async () => {
    const { sets, exemptSets } = await bucketOf('user: 5/5s', 'global: { bot: off, shadow: true }\n');
    expect(quotasOf(sets, 'global')).toEqual([null, null, null]);
    expect(shadowsOf(sets, 'global')).toEqual([null, '50/1s', '50/1s']);
    expect(exemptSets.user.shadow).toBeNull();
    const { global } = await modelOf('global: { user: 50/1s, shadow: { user: 30/1s } }');
    expect([quotasOf(global, 'global'), shadowsOf(global, 'global')]).toEqual([
      ['50/1s', '50/1s', '50/1s'],
      [null, '30/1s', null],
    ]);
  });
});

describe('a bucket', () => {
  it('counts in fixed windows unless it says smooth', async () => {
    expect((await bucketOf('user: 5/5s')).sets.user.caller?.algorithm).toBe('window');
    expect((await bucketOf('user: 5/5s, algorithm: fixed')).sets.user.caller?.algorithm).toBe('window');
    const { sets } = await bucketOf('main: id, user: 5/5s, resource: 9/5s, algorithm: smooth');
    expect(sets.user.caller?.algorithm).toBe('smooth');
    expect(sets.user.resource?.algorithm).toBe('smooth');
  });

  it('is divided by its main parameter, wherever in the path of a line that is', async () => {
    const text =
      'buckets: { b: { main: id, user: 5/5s }, c: { user: 1/1s } }\nroutes: { "GET /{id}": b, "POST /x/{a}/{id}": b, "/c/{id}": c }';
    const { routes } = await modelOf(text);
    expect(routes.find('GET', '', '/7')?.value.mainAt).toBe(0);
    expect(routes.find('POST', '', '/x/1/7')?.value.mainAt).toBe(1);
    expect(routes.find('GET', '', '/c/7')?.value.mainAt).toBeNull();
    const [b, c] = [routes.find('GET', '', '/7'), routes.find('GET', '', '/c/7')].map(
      match => match?.value.bucket,
    );
    expect(b?.sets.user.caller?.identity).toContain('"id"');
    expect(c?.sets.user.caller?.identity).not.toContain('"id"');
  });

  it('is one for all lines that lead to it', async () => {
    const { routes } = await modelOf('buckets: { b: { user: 5/5s } }\nroutes: { GET /a: b, /b/**: b }');
    const [a, b] = [routes.find('GET', '', '/a'), routes.find('PUT', '', '/b/c')].map(
      match => match?.value.bucket,
    );
    expect(a).toBeDefined();
    expect(a).toBe(b);
    expect(routes.find('POST', '', '/a')).toBeNull();
  });

  it.each([
    ['one line', 'user: 5/5s', ['/a'], 'user'],
    ['several lines', 'user: 5/5s', ['/a', '/b'], 'shared'],
    ['several lines and a scope of its own', 'user: 5/5s, scope: user', ['/a', '/b'], 'user'],
    ['one line and a scope of its own', 'user: 5/5s, scope: shared', ['/a'], 'shared'],
    ['one line that covers several routes', 'user: 5/5s', ['/a/**'], 'shared'],
    ['such a line and a scope of its own', 'user: 5/5s, scope: user', ['/a/**'], 'user'],
    ['one line with a parameter, which is one route', 'user: 5/5s', ['"/{id}"'], 'user'],
  ])('with %s has the scope of those', async (_, keys, paths, scope) => {
    const lines = paths.map(path => `  ${path}: b\n`).join('');
    const { routes } = await modelOf(
      `buckets: { b: { ${keys} }, c: { user: 1/1s } }\nroutes:\n${lines}  /c: c\n`,
    );
    expect(routes.find('GET', '', '/a')?.value.bucket.scope).toBe(scope);
    expect(routes.find('GET', '', '/c')?.value.bucket.scope).toBe('user');
  });

  it.each([
    ['GRPC a.B/*', 'shared'],
    ['GRPC a.B/C', 'user'],
  ])('of gRPC calls by the line %s has the scope %s', async (line, scope) => {
    const { routes } = await modelOf(`buckets: { b: { user: 5/5s } }\nroutes: { ${line}: b }\n`);
    expect(routes.find('GRPC', '', '/a.B/C')?.value.bucket.scope).toBe(scope);
  });

  it('has a hash for each main value, or one for all with bucket_hash: route', async () => {
    const { hash } = await bucketOf('main: id, user: 5/5s');
    expect(hash.of('7')).not.toBe(hash.of('8'));
    const { hash: ofRoute } = await bucketOf('main: id, user: 5/5s', 'bucket_hash: route\n');
    expect(ofRoute.of('7')).toBe(ofRoute.of('8'));
    expect(ofRoute.of('7')).toBe(hash.of(''));
  });
});

describe('restrictions', () => {
  it('have the numbers of the file', async () => {
    const text = `
invalid_requests: { limit: 1/2s, restrict_for: 3s }
webhook_not_found: { restrict_for: 65535s }
ignored_refusals: { addresses: true }
never_restrict: [192.0.2.0/24]
keys_per_caller: 5
`;
    const model = await modelOf(text);
    expect(model).toMatchObject({
      invalidRequests: { quota: { units: 1, periodMs: 2_000 }, restrictForMs: 3_000 },
      webhookNotFound: { quota: { units: 10, periodMs: 600_000 }, restrictForMs: 65_535_000 },
      ignoredRefusals: {
        quota: { units: 1_000, periodMs: 600_000 },
        restrictForMs: 600_000,
        addresses: true,
      },
      keysPerCaller: 5,
    });
    expect(model.neverRestrict.addresses.has('192.0.2.7')).toBe(true);
  });

  it('can each be off', async () => {
    expect(
      await modelOf('invalid_requests: off\nwebhook_not_found: off\nignored_refusals: off\n'),
    ).toMatchObject({
      invalidRequests: null,
      webhookNotFound: null,
      ignoredRefusals: null,
    });
  });
});

describe('window_slack', () => {
  it('holds for every limit, up to what its period allows', async () => {
    const { sets } = await bucketOf('main: id, user: 5/1s, resource: 5/10s', 'window_slack: 100ms\n');
    expect([sets.user.global, sets.user.caller, sets.user.resource].map(limit => limit?.slackMs)).toEqual([
      20, 20, 100,
    ]);
    const { sets: strict } = await bucketOf('user: 5/1s', 'window_slack: 0ms\n');
    expect(strict.user.global?.slackMs).toBe(0);
    expect(strict.user.caller?.slackMs).toBe(0);
  });
});

it('the file of limits is another file than the one that names it', async () => {
  const files = { 'gateway.yaml': `${NEEDED}limits: ./gateway.yaml\n` };
  expect(diagnosticsOf(await loadFiles(files))).toEqual([
    'gateway.yaml:3:9: limits: this names the file itself: put limits into a file of their own',
  ]);
});

describe('callers that are listed', () => {
  it('are known by their principals, as users and as bots', async () => {
    const { blocked, neverRestrict } = await modelOf(
      'blocked: { addresses: [192.0.2.7], callers: [{ subject: "a b", client: web }] }\nnever_restrict: [{ client: robot }, 10.0.0.0/8]\n',
    );
    expect([...(blocked?.callers ?? [])]).toEqual(['user:web a%20b']);
    expect(blocked?.addresses.has('192.0.2.7')).toBe(true);
    expect([...neverRestrict.callers]).toEqual(['bot:robot']);
    expect(neverRestrict.addresses.has('10.1.2.3')).toBe(true);
    expect((await modelOf('global: off')).blocked).toBeNull();
  });
});
