import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHART, INSTALLATIONS, Rendered, VALUES_FILES } from '../../chart/chart.ts';
import { HELM_VERSIONS, helmCommand } from '../../chart/helm-fetched.ts';
import { CUSTOM_KINDS } from '../../chart/strict-schemas.ts';
import { waitFor } from '../../support/wait.ts';
import { ApiServer, type Finished } from './api-server.ts';
import { crdFiles } from './crds.ts';

const [HELM = ''] = HELM_VERSIONS.slice(-1);

let server: ApiServer;

beforeAll(async () => {
  server = await ApiServer.start();
  server.startControllers('deployment-controller', 'replicaset-controller', 'garbage-collector-controller');
});

afterAll(() => server?.close());

/** Runs one command of a Helm in a namespace. */
function helm(version: string, namespace: string, ...args: readonly string[]): Promise<Finished> {
  return server.run(helmCommand(version), [...args, '--namespace', namespace]);
}

/** A namespace that admits only pods of the restricted profile, and warns of others at once. */
async function restricted(name: string): Promise<string> {
  const label = (mode: string) => `pod-security.kubernetes.io/${mode}=restricted`;
  await server.kubectl('create', 'namespace', name);
  await server.kubectl('label', 'namespace', name, label('enforce'), label('warn'));
  return name;
}

/** Success, without a word of warning. */
function expectQuiet({ code, err }: Finished): void {
  expect({ code, err }).toEqual({ code: 0, err: '' });
}

describe('an API server without the Gateway API', () => {
  it('names the kind that is missing when values ask for it', async () => {
    const namespace = await restricted('without-crds');
    const route = { enabled: true, parentRefs: [{ name: 'public' }] };
    const args = ['install', 'weir', CHART, '-f', valuesFile('minimal-values.yaml')];
    const { code, err } = await helm(
      HELM,
      namespace,
      ...args,
      '--set-json',
      `httpRoute=${JSON.stringify(route)}`,
    );
    expect(code).not.toBe(0);
    expect(err).toContain('no matches for kind "HTTPRoute"');
  });
});

describe('with the kinds of the Gateway API and of the Prometheus operator', () => {
  beforeAll(async () => {
    const files = crdFiles().flatMap(file => ['-f', file]);
    expectQuiet(await server.kubectl('apply', '--server-side', ...files));
    await server.kubectl('wait', '--for=condition=Established', 'crd', '--all');
  });

  it.each(INSTALLATIONS)(
    'Helm $helm installs, upgrades, rolls back and uninstalls $file without one warning',
    async ({ helm: version, file }) => {
      const namespace = await restricted(
        `${file.replace('-values.yaml', '')}-${version.replaceAll('.', '-')}`,
      );
      const run = (...args: readonly string[]) => helm(version, namespace, ...args);
      const values = ['-f', valuesFile(file)];
      expectQuiet(await run('install', 'weir', CHART, ...values));
      await waitFor('its pods are admitted', () => hasPods(namespace));
      expectQuiet(
        await run('upgrade', 'weir', CHART, ...values, '--set', 'image.repository=example.com/next'),
      );
      expect(await imageOf(namespace)).toContain('example.com/next');
      expectQuiet(await run('rollback', 'weir', '1'));
      expect(await imageOf(namespace)).not.toContain('example.com/next');
      expectQuiet(await run('uninstall', 'weir'));
      expect(await leftIn(namespace)).toEqual([]);
    },
  );

  it('admits the pod of helm test', async () => {
    const namespace = await restricted('helm-test');
    expectQuiet(
      await helm(HELM, namespace, 'install', 'weir', CHART, '-f', valuesFile('minimal-values.yaml')),
    );
    const { out } = await helm(HELM, namespace, 'get', 'hooks', 'weir');
    const admitted = await server.apply(out, namespace);
    expectQuiet(admitted);
    expect(admitted.out).toMatch(/^pod\/weir-\S+ created$/m);
  });

  it.each(VALUES_FILES)('knows every field of every object of %s', async file => {
    const { out } = await helm(HELM, 'default', 'template', 'weir', CHART, '-f', valuesFile(file));
    expectQuiet(await server.apply(out, 'default', '--dry-run=server'));
  });

  // As Argo CD compares: of custom resources it knows no defaults, and of lists in them no parts. Ingress
  // and NetworkPolicy are such lists as well.
  const COMPLETE = [...CUSTOM_KINDS, 'Ingress', 'NetworkPolicy', 'PodDisruptionBudget'];
  it.each(VALUES_FILES)(
    'adds nothing to custom resources and lists of %s, and changes nothing of others',
    async file => {
      const { out } = await helm(HELM, 'default', 'template', 'weir', CHART, '-f', valuesFile(file));
      const applied = await server.apply(out, 'default', '--dry-run=server', '--output=json');
      expectQuiet(applied);
      const live: readonly Listed[] = JSON.parse(applied.out).items;
      for (const manifest of new Rendered(out).manifests) {
        const same = live.find(
          ({ kind, metadata }) => kind === manifest.kind && metadata.name === manifest.name,
        );
        if (COMPLETE.includes(String(manifest.kind))) expect(same?.spec).toEqual(manifest.at('spec'));
        else expect(same).toMatchObject(Object(manifest.toJSON()));
      }
    },
  );

  it('takes a DaemonSet on the network of the nodes', async () => {
    const values = {
      kind: 'DaemonSet',
      hostNetwork: true,
      limitsPerReplica: true,
      strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
    };
    const sets = Object.entries(values).flatMap(([key, value]) => [
      '--set-json',
      `${key}=${JSON.stringify(value)}`,
    ]);
    const args = ['template', 'weir', CHART, '-f', valuesFile('minimal-values.yaml'), ...sets];
    const { out } = await helm(HELM, 'default', ...args);
    expectQuiet(await server.apply(out, 'default', '--dry-run=server'));
  });
});

describe('what it says', () => {
  const install = async (name: string, ...sets: readonly string[]): Promise<Finished> => {
    const args = ['install', 'weir', CHART, '-f', valuesFile('minimal-values.yaml')];
    return helm(HELM, await restricted(name), ...args, ...sets);
  };

  it('warns of a setting that the restricted profile forbids', async () => {
    const { err } = await install('too-much', '--set', 'securityContext.allowPrivilegeEscalation=true');
    expect(err).toContain('allowPrivilegeEscalation != false');
  });

  it('refuses a value that fits the schema of the chart but not the API', async () => {
    const { code, err } = await install('too-little', '--set', 'service.spec.sessionAffinity=Sometimes');
    expect(code).not.toBe(0);
    expect(err).toContain('Unsupported value: "Sometimes"');
  });

  it('names the oldest Kubernetes that the chart supports on an older one', async () => {
    const args = [
      'template',
      'weir',
      CHART,
      '-f',
      valuesFile('minimal-values.yaml'),
      '--kube-version',
      '1.30.0',
    ];
    const { code, err } = await helm(HELM, 'default', ...args);
    expect(code).not.toBe(0);
    expect(err).toMatch(/chart requires kubeVersion: >=1\.31\.0.* incompatible with Kubernetes v1\.30\.0/);
  });

  it('refuses an object of a version that the API no longer has', async () => {
    const { out } = await helm(
      HELM,
      'default',
      'template',
      'weir',
      CHART,
      '-f',
      valuesFile('full-values.yaml'),
    );
    const { code, err } = await server.apply(
      out.replace('autoscaling/v2', 'autoscaling/v2beta2'),
      'default',
      '--dry-run=server',
    );
    expect(code).not.toBe(0);
    expect(err).toContain('no matches for kind "HorizontalPodAutoscaler" in version "autoscaling/v2beta2"');
  });

  it('accepts a Secret that does not exist yet: the pods wait for it', async () => {
    expectQuiet(await install('no-secret', '--set', 'secrets.oidc.secretName=weir-oidc'));
    await waitFor('its pods are admitted', () => hasPods('no-secret'));
  });
});

function valuesFile(name: string): string {
  return join(CHART, 'ci', name);
}

/** What the tests look at of an object. */
interface Listed {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly ownerReferences?: unknown;
  };
  readonly spec: {
    readonly replicas: number;
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
  };
}

async function listed(namespace: string, kinds: string): Promise<readonly Listed[]> {
  const { out } = await server.kubectl('get', kinds, '--namespace', namespace, '--output', 'json');
  return JSON.parse(out).items;
}

/** Every replica has its pod: the namespace has refused none. */
async function hasPods(namespace: string): Promise<boolean> {
  const [deployment] = await listed(namespace, 'deployments');
  const pods = await listed(namespace, 'pods');
  return pods.length > 0 && pods.length === deployment?.spec.replicas;
}

async function imageOf(namespace: string): Promise<string> {
  const [deployment] = await listed(namespace, 'deployments');
  return deployment?.spec.template.spec.containers[0]?.image ?? '';
}

/** What an installation may leave behind, by kind and name. */
async function leftIn(namespace: string): Promise<string[]> {
  const { out } = await server.kubectl('api-resources', '--namespaced', '--verbs=list', '--output=name');
  const kinds = out
    .trim()
    .split('\n')
    .filter(kind => !kind.startsWith('events'))
    .join(',');
  const left = await listed(namespace, kinds);
  return left
    .filter(
      ({ metadata }) => metadata.labels?.['app.kubernetes.io/name'] === 'weir' && !isDependent(metadata),
    )
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
}

/** Goes by itself, some time after what it belongs to. */
function isDependent(metadata: Listed['metadata']): boolean {
  return metadata.ownerReferences !== undefined;
}
