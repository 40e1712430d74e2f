import { describe, expect, it } from 'vitest';
import { type Manifest, Rendered } from './chart.ts';

const deploymentWith = async (values: object): Promise<Manifest> =>
  (await Rendered.of(values)).one('Deployment');

describe('the pods', () => {
  it('check the configuration before they serve it', async () => {
    const deployment = await deploymentWith({});
    const [check] = deployment.parts('spec.template.spec.initContainers');
    const [weir] = deployment.parts('spec.template.spec.containers');
    expect(check?.at('args')).toEqual(['check', '/etc/weir/gateway.yaml']);
    expect(weir?.at('args')).toEqual(['serve', '/etc/weir/gateway.yaml']);
    for (const key of ['image', 'env', 'envFrom', 'volumeMounts'])
      expect(check?.at(key)).toEqual(weir?.at(key));
  });

  it('hold to the restricted profile', async () => {
    const pod = await deploymentWith({});
    expect(pod.at('spec.template.spec.automountServiceAccountToken')).toBe(false);
    expect(pod.at('spec.template.spec.securityContext')).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 65532,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    for (const container of ['initContainers', 'containers'].flatMap(key =>
      pod.parts(`spec.template.spec.${key}`),
    )) {
      expect(container.at('securityContext')).toEqual({
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        readOnlyRootFilesystem: true,
      });
    }
  });
});
