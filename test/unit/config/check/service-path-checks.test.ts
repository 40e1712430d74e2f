import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../../../src/config/index.ts';
import { loadText } from '../../../support/config-text.ts';

const UPSTREAMS =
  'upstreams: { api: { url: "http://api" }, other: { url: "http://other" }, base: { url: "http://base/api" } }\n';

/** The warnings and hints about these routes, of which the first stands in line 3. */
async function found(...routes: string[]): Promise<string[]> {
  const others = ['/unused/a', '/unused/b'].map(
    (path, i) => `path: ${path}, upstream: ${i === 0 ? 'other' : 'base'}, authentication: none`,
  );
  const loaded = await loadText(
    `${UPSTREAMS}routes:\n${[...routes, ...others].map(route => `  - { ${route} }\n`).join('')}${IDENTITY}`,
  );
  if (!loaded.ok) return loaded.diagnostics.map(formatDiagnostic);
  return [...loaded.warnings, ...loaded.hints].map(each =>
    formatDiagnostic(each).replace(/^.*gateway\.yaml:/, ''),
  );
}

const IDENTITY = 'identity_provider: { issuer: "https://id.test" }\naccess_tokens: { audience: api }\n';
const OPEN = 'authentication: none';

describe('a route whose prefix the service may not know', () => {
  it('is told where another route takes the prefix away', async () => {
    expect(
      await found(
        'path: /api/**, strip_prefix: /api, upstream: api',
        'path: "/API/admin/{id}", upstream: api',
        'path: /api/free, upstream: other',
      ),
    ).toEqual([
      '4:13: hint: routes[1].path: the service gets these paths with /API, but those of the route in line 3 without it: if it does not know /API, add strip_prefix: /API',
    ]);
  });

  it('is told where another route serves the same paths without it', async () => {
    expect(
      await found('path: "/orders/{id}", upstream: api', 'path: "/shop/orders/{order}", upstream: api'),
    ).toEqual([
      '4:13: hint: routes[1].path: the service gets these paths with /shop, but those of the route in line 3 without it: if it does not know /shop, add strip_prefix: /shop',
    ]);
  });

  it('is told where the URL of the service has the same path', async () => {
    expect(
      await found(
        'path: /api/**, upstream: base',
        'path: /y, upstream: api',
        'path: /api/x, strip_prefix: /api, upstream: base',
      ),
    ).toEqual([
      '3:13: hint: routes[0].path: the url of "base" has the path /api as well, so the service gets /api/api: take it out of the url, or add it to strip_prefix',
    ]);
  });

  it.each([
    ['of another service', ['path: /orders, upstream: api', 'path: /shop/orders, upstream: other']],
    ['that only says a version', ['path: /orders, upstream: api', 'path: /v1/orders, upstream: api']],
    ['in front of everything', ['path: /**, upstream: api', 'path: /api/**, upstream: api']],
    ['in front of any one segment', ['path: "/{a}", upstream: api', 'path: "/api/{b}", upstream: api']],
    [
      'that only begins alike',
      ['path: /api/**, strip_prefix: /api, upstream: api', 'path: /apis/x, upstream: api'],
    ],
  ])('is not one %s', async (_, routes) => {
    expect(await found(...routes)).toEqual([]);
  });
});

describe('a route that leads around another', () => {
  const AROUND = (line: number, through: string, rest: string) =>
    `this route bypasses the one in line ${line}, which demands more of callers: ${through} is sent as ${rest}. Add a route for those paths that demands as much`;

  it('sends without its prefix what another guards', async () => {
    const admin = 'path: /admin/**, upstream: api, require: { roles: [admin] }';
    const pub = 'path: /pub/**, strip_prefix: /pub, upstream: api';
    expect(await found(admin, pub)).toEqual([
      `4:36: warning: routes[1].strip_prefix: ${AROUND(3, '/pub/admin/**', '/admin/**')}`,
    ]);
    expect(await found(admin, `${pub}, ${OPEN}`)).toHaveLength(1);
    expect(await found(admin, `${pub}, require: { roles: [admin] }`)).toEqual([]);
    expect(
      await found(admin, `${pub}, require: { roles: [admin] }, ${OPEN.replace('none', 'optional')}`),
    ).toHaveLength(1);
    expect(await found(admin, 'path: /pub/**, strip_prefix: /pub, upstream: other')).toEqual([]);
  });

  it('sends everything, while another does so behind a prefix', async () => {
    expect(
      await found('path: /api/**, strip_prefix: /api, upstream: api', `path: /**, upstream: api, ${OPEN}`),
    ).toEqual([
      `4:13: warning: routes[1].path: this route bypasses the one in line 3, which demands more of callers: it sends /** as well. Add a route for those paths that demands as much`,
    ]);
  });

  it('is none where a more specific route demands as much', async () => {
    expect(
      await found(
        'path: /admin/**, upstream: api, require: { roles: [admin] }',
        `path: /pub/**, strip_prefix: /pub, upstream: api, ${OPEN}`,
        'path: /pub/admin/**, strip_prefix: /pub, upstream: api, require: { roles: [admin] }',
      ),
    ).toEqual([]);
  });

  it('is none where only a path of its own is open, on purpose', async () => {
    expect(
      await found(
        'path: /api/**, strip_prefix: /api, upstream: api',
        `path: /healthz, upstream: api, ${OPEN}`,
      ),
    ).toEqual([]);
  });

  it('is none where the same demands stand behind two prefixes', async () => {
    expect(
      await found(
        'path: /api/**, strip_prefix: /api, upstream: api',
        'path: /old/**, strip_prefix: /old, upstream: api',
      ),
    ).toEqual([]);
  });

  it('does so on another host, too', async () => {
    const admin = 'path: /admin/**, hosts: [admin.test], upstream: api, require: { roles: [admin] }';
    expect(
      await found(admin, 'path: /pub/**, hosts: [www.test, w3.test], strip_prefix: /pub, upstream: api'),
    ).toEqual([`4:64: warning: routes[1].strip_prefix: ${AROUND(3, '/pub/admin/**', '/admin/**')}`]);
  });

  it('takes the methods into account', async () => {
    const guarded = 'path: /a, methods: [POST], upstream: api';
    expect(
      await found(guarded, `path: /p/a, methods: [GET], strip_prefix: /p, upstream: api, ${OPEN}`),
    ).toEqual([]);
    expect(await found(guarded, `path: /p/a, strip_prefix: /p, upstream: api, ${OPEN}`)).toHaveLength(1);
  });

  describe('by its hosts', () => {
    const secret = 'path: /secret/**, upstream: api, require: { roles: [admin] }';
    const open = `path: /**, hosts: ["*.example.com", "*.example.net"], upstream: api, ${OPEN}`;
    const other = (line: number, takes: string) =>
      `this route bypasses the one in line ${line}, which demands more of callers: it takes ${takes}. Add a route for those paths that demands as much`;

    it('takes the paths that a route without hosts guards', async () => {
      expect(await found(secret, open)).toEqual([
        `4:25: warning: routes[1].hosts: ${other(3, '*.example.com/secret/**')}`,
      ]);
    });

    it('takes what a route of one host guards, on the names beside it', async () => {
      const admin =
        'path: /admin/**, hosts: [admin.example.com], methods: [GET], upstream: api, require: { roles: [admin] }';
      expect(await found(admin, open)).toEqual([
        `4:25: warning: routes[1].hosts: ${other(3, '*.example.com/admin/**')}`,
      ]);
      expect(await found(admin, `path: /**, upstream: api, ${OPEN}`)).toEqual([
        `4:13: warning: routes[1].path: ${other(3, '/admin/** on all other hosts')}`,
      ]);
    });

    it('takes by other methods what nobody may send on the host of the other', async () => {
      const admin =
        'path: /admin/**, hosts: [admin.example.com], methods: [GET], upstream: api, require: { roles: [admin] }';
      const posts = `path: /**, hosts: [www.example.com], methods: [POST], upstream: api, ${OPEN}`;
      expect(await found(admin, posts)).toEqual([
        `4:25: warning: routes[1].hosts: ${other(3, 'www.example.com/admin/** by other methods')}`,
      ]);
      const there = posts.replace('www.example.com', 'admin.example.com');
      expect(await found(admin, posts, there)).toEqual([]);
      expect(await found(admin, posts, there.replace(OPEN, 'require: { roles: [admin] }'))).toHaveLength(1);
      const guarded = posts.replace('/**', '/admin/**').replace(OPEN, 'require: { roles: [admin] }');
      expect(await found(admin, posts, guarded)).toEqual([]);
    });

    it.each([
      ['to another service', [secret, open.replace('api', 'other')]],
      ['that demands as much', [secret, open.replace(OPEN, 'require: { roles: [admin] }')]],
      ['that demands something else', [secret, open.replace(OPEN, 'require: { scopes: [a] }')]],
      ['for the very same path', [secret, open.replace('/**', '/secret/**')]],
      ['for a path of its own', [secret, open.replace('/**', '/secret/healthz')]],
      [
        'beside one that guards there',
        [secret, open, secret.replace(',', ', hosts: ["*.example.com", "*.example.net"],')],
      ],
    ])('leads around nothing: one %s', async (_, routes) => {
      expect(await found(...routes)).toEqual([]);
    });
  });
});

describe('a route that passes escaped slashes', () => {
  const warning = (line: number) =>
    `warning: routes[0].encoded_slashes: a service that decodes "%2F" is led to the route in line ${line}, which demands more of callers: let this route demand as much, or see that the service does not decode`;

  it.each([
    ['/files/**', '/files/admin/**', true],
    ['/files/{name}', '/files/{name}/admin', true],
    ['/**', '/admin', true],
    ['/files/**', '/admin/**', false],
    ['/files', '/files/admin', false],
  ])(
    'is warned of a guarded sibling that a decoding service reaches: %s beside %s: %s',
    async (open, guarded, isReached) => {
      const all = await found(
        `path: "${open}", upstream: api, ${OPEN}, encoded_slashes: pass`,
        `path: "${guarded}", upstream: api`,
      );
      expect(all.some(line => line.includes(warning(4)))).toBe(isReached);
    },
  );

  it('is not warned where it demands as much, or leads to another service', async () => {
    const all = [
      ...(await found(
        'path: /files/**, upstream: api, encoded_slashes: pass',
        'path: /files/admin/**, upstream: api',
      )),
      ...(await found(
        `path: /files/**, upstream: other, ${OPEN}, encoded_slashes: pass`,
        'path: /files/admin/**, upstream: api',
      )),
    ];
    expect(all.join()).not.toContain('encoded_slashes');
  });
});

describe('a route that passes empty segments', () => {
  it('cannot stand beside a guarded sibling of the same upstream', async () => {
    const beside = (keys: string, guarded: string) =>
      found(`path: /files/**, upstream: api, ${keys}`, `path: /admin/**, ${guarded}`);
    const error =
      '3:51: routes[0].empty_segments: a service may read such paths as those of the route in line 4, which demands more of callers: write merge';
    expect((await beside(`${OPEN}, empty_segments: pass`, 'upstream: api')).join()).toContain(
      error.replace(/^3:51: /, ''),
    );
    for (const [keys, guarded] of [
      [`${OPEN}, empty_segments: merge`, 'upstream: api'],
      [`${OPEN}, empty_segments: pass`, 'upstream: other'],
      ['empty_segments: pass', 'upstream: api'],
    ] as const)
      expect((await beside(keys, guarded)).join()).not.toContain('empty_segments');
  });
});
