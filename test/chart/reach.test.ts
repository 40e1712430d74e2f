import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CHART, notes, Rendered } from './chart.ts';

const GATEWAY = {
  'app.kubernetes.io/name': 'weir',
  'app.kubernetes.io/instance': 'weir',
  'app.kubernetes.io/component': 'gateway',
};
const TEST = { podSelector: { matchLabels: { ...GATEWAY, 'app.kubernetes.io/component': 'test' } } };
const PEER = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };

const policyWith = async (networkPolicy: object) =>
  (await Rendered.of({ networkPolicy })).one('NetworkPolicy');

describe('the Services', () => {
  it('select the pods of the gateway, and not the one of "helm test"', async () => {
    const rendered = await Rendered.of({});
    expect(rendered.one('Deployment').at('spec.template.metadata.labels')).toMatchObject(GATEWAY);
    expect(rendered.one('Deployment').at('spec.selector.matchLabels')).toEqual(GATEWAY);
    for (const service of rendered.all('Service')) expect(service.at('spec.selector')).toEqual(GATEWAY);
    expect(rendered.one('Pod').at('metadata.labels')).not.toMatchObject(GATEWAY);
  });

  it('keep the admin port away from clients', async () => {
    const rendered = await Rendered.of({}, { file: 'tls-values.yaml' });
    expect(rendered.one('Service', 'weir').at('spec.type')).toBe('LoadBalancer');
    expect(JSON.stringify(rendered.one('Service', 'weir'))).not.toContain('"admin"');
    const admin = rendered.one('Service', 'weir-admin');
    expect(admin.at('spec.type')).toBe('ClusterIP');
    expect(admin.at('spec.ports')).toEqual([
      { name: 'admin', port: 9090, targetPort: 'admin', protocol: 'TCP', appProtocol: 'https' },
    ]);
  });

  it.each([
    ['minimal', [['http', 80, 'http', 'http']]],
    [
      'grpc',
      [
        ['http', 80, 'http', 'kubernetes.io/h2c'],
        ['grpc', 8081, 'grpc', 'kubernetes.io/h2c'],
      ],
    ],
    [
      'tls',
      [
        ['https', 443, 'http', 'https'],
        ['redirect', 80, 'redirect', 'http'],
      ],
    ],
    [
      'full',
      [
        ['http', 8000, 'http', 'http'],
        ['grpc', 8001, 'grpc', 'kubernetes.io/h2c'],
      ],
    ],
  ])('say what each port speaks: ci/%s-values.yaml', async (name, ports) => {
    const rendered = await Rendered.of({}, { file: `${name}-values.yaml` });
    const [service] = rendered.all('Service').filter(({ name }) => !String(name).endsWith('-admin'));
    const keys = ['name', 'port', 'targetPort', 'appProtocol'];
    expect(service?.parts('spec.ports').map(port => keys.map(key => port.at(key)))).toEqual(ports);
  });

  it.each(['minimal', 'grpc', 'tls', 'full'])('lead to ports that listen: ci/%s-values.yaml', async name => {
    const rendered = await Rendered.of({}, { file: `${name}-values.yaml` });
    const ports = rendered.one('Deployment').parts('spec.template.spec.containers.0.ports');
    const targets = rendered.all('Service').flatMap(service => service.parts('spec.ports'));
    expect(targets.map(port => port.at('targetPort')).toSorted()).toEqual(
      ports.map(port => port.at('name')).toSorted(),
    );
  });
});

describe('the NetworkPolicy', () => {
  it('admits everyone to the client ports and only "helm test" to the admin port', async () => {
    expect((await policyWith({})).at('spec')).toEqual({
      podSelector: { matchLabels: GATEWAY },
      policyTypes: ['Ingress'],
      ingress: [
        { ports: [{ port: 'http', protocol: 'TCP' }] },
        { ports: [{ port: 'admin', protocol: 'TCP' }], from: [TEST] },
      ],
    });
  });

  it('admits only the peers that the values name', async () => {
    const policy = await policyWith({ clients: [PEER], admin: [PEER] });
    expect(policy.parts('spec.ingress').map(rule => rule.at('from'))).toEqual([
      [PEER, TEST],
      [TEST, PEER],
    ]);
  });

  it('restricts where the gateway connects only where the values name peers, and leaves DNS open', async () => {
    const rule = { to: [PEER], ports: [{ port: 3000, protocol: 'TCP' }] };
    const policy = await policyWith({ egress: [rule] });
    expect(policy.at('spec.policyTypes')).toEqual(['Ingress', 'Egress']);
    expect(policy.at('spec.egress')).toEqual([
      {
        ports: [
          { port: 53, protocol: 'UDP' },
          { port: 53, protocol: 'TCP' },
        ],
      },
      rule,
    ]);
  });
});

describe('monitors', () => {
  it.each(['ServiceMonitor', 'PodMonitor'])('select the admin port and nothing else: %s', async kind => {
    const rendered = await Rendered.of({ metrics: { monitor: kind }, networkPolicy: { admin: [PEER] } });
    const selected = rendered.one(kind).at('spec.selector.matchLabels');
    const candidates = [
      ...rendered.all('Service').map(service => [service.name, service.at('metadata.labels')] as const),
      ['pods', rendered.one('Deployment').at('spec.template.metadata.labels')] as const,
      ['test', rendered.one('Pod').at('metadata.labels')] as const,
    ];
    const matched = candidates.filter(([, labels]) => isWithin(Object(selected), Object(labels)));
    expect(matched.map(([name]) => name)).toEqual(kind === 'PodMonitor' ? ['pods'] : ['weir-admin']);
    const endpoints = kind === 'PodMonitor' ? 'podMetricsEndpoints' : 'endpoints';
    expect(rendered.one(kind).at(`spec.${endpoints}.0.port`)).toBe('admin');
  });

  it('scrape as metrics.endpoint says', async () => {
    const metrics = {
      monitor: 'ServiceMonitor',
      endpoint: { interval: '5s', scheme: 'https', honorLabels: false },
    };
    const rendered = await Rendered.of({ metrics, networkPolicy: { admin: [PEER] } });
    expect(rendered.one('ServiceMonitor').at('spec.endpoints')).toEqual([
      { port: 'admin', path: '/metrics', interval: '5s', scheme: 'https', honorLabels: false },
    ]);
  });
});

function isWithin(part: object, whole: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(part).every(([key, value]) => whole[key] === value);
}

describe('routes and Ingress', () => {
  it('lead to the ports of the Service', async () => {
    const rendered = await Rendered.of({}, { file: 'full-values.yaml' });
    const backend = (port: number) => [{ group: '', kind: 'Service', name: 'edge', port, weight: 1 }];
    expect(rendered.one('HTTPRoute').at('spec.rules.0.backendRefs')).toEqual(backend(8000));
    expect(rendered.one('GRPCRoute').at('spec.rules.0.backendRefs')).toEqual(backend(8001));
    expect(rendered.one('Ingress').at('spec.rules.0.http.paths.0.backend.service')).toEqual({
      name: 'edge',
      port: { number: 8000 },
    });
  });
});

describe('what watches the gateway', () => {
  const fileOf = (name: string) => readFileSync(join(CHART, 'files', name), 'utf8');

  it('has the alerts of files/alerts.yaml, with their templates', async () => {
    const rule = (await Rendered.of({ alerts: { enabled: true, labels: { release: 'prometheus' } } })).one(
      'PrometheusRule',
    );
    expect(rule.at('spec')).toEqual(parse(fileOf('alerts.yaml')));
    expect(rule.at('metadata.labels')).toMatchObject({ release: 'prometheus' });
  });

  it('has the dashboard of files/dashboard.json, found by its label', async () => {
    const map = (await Rendered.of({}, { file: 'full-values.yaml' })).one('ConfigMap', 'edge-dashboard');
    expect(JSON.parse(String(Object(map.at('data'))['weir.json']))).toEqual(
      JSON.parse(fileOf('dashboard.json')),
    );
    expect(map.at('metadata.labels')).toMatchObject({ grafana_dashboard: '1' });
    expect(map.at('metadata.annotations')).toMatchObject({ grafana_folder: 'Gateways' });
  });
});

describe('the notes after an installation', () => {
  it('name the next commands', async () => {
    const text = await notes({});
    expect(text).toContain('kubectl -n gateways rollout status deployment/weir');
    expect(text).toContain('helm test -n gateways weir');
  });

  it('say what is still missing, and nothing that is there', async () => {
    const missing = [
      'One pod serves everything',
      'No identity_provider',
      'Nothing leads here',
      'Only the kubelet',
    ];
    const text = await notes({});
    expect(missing.filter(words => !text.includes(words))).toEqual([]);
    const identity = {
      identity_provider: {
        issuer: 'https://id.example.com',
        client_id: 'gateway',
        redirect_uri: 'https://app.example.com/callback',
      },
      access_tokens: { audience: 'api' },
    };
    const listed = {
      identity_providers: [{ name: 'main', issuer: 'https://id.example.com', audience: 'api' }],
    };
    expect(await notes({ config: listed })).not.toContain('No identity_provider is configured');
    const full = await notes({
      replicas: 2,
      config: { store: { redis: 'redis://redis:6379' }, ...identity },
      ingress: { enabled: true },
      networkPolicy: { admin: [PEER] },
    });
    expect(full).toContain('Next:');
    expect(missing.filter(words => full.includes(words))).toEqual([]);
  });
});
