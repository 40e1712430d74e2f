import { z } from 'zod';
import {
  flag,
  kubernetesList,
  kubernetesMap,
  labels,
  MOST,
  objectName,
  texts,
  wholeNumber,
  words,
} from './values-parts.ts';

// Values of the Deployment, its pods and what belongs to them.

function probe(periodSeconds: number, timeoutSeconds: number, failureThreshold: number) {
  return z.strictObject({
    periodSeconds: wholeNumber(1, periodSeconds).describe('Time between two probes.'),
    timeoutSeconds: wholeNumber(1, timeoutSeconds).describe('How long one may take.'),
    failureThreshold: wholeNumber(1, failureThreshold).describe('How many must fail in a row.'),
  });
}

/** A number of pods, or a share of them. */
const amount = () => z.union([z.int().min(0).max(MOST), z.string().regex(/^(100|[0-9]{1,2})%$/)]);
const share = (byDefault: number) => amount().default(byDefault);

const spread = z.enum(['ScheduleAnyway', 'DoNotSchedule', 'none']).default('ScheduleAnyway');

export const podValues = {
  resources: kubernetesMap('core.v1.ResourceRequirements', {
    requests: { cpu: '500m', memory: '256Mi' },
    limits: { memory: '1Gi' },
  }).describe('What a pod requests and may use. A limit on CPU would add latency.'),
  checkResources: kubernetesMap('core.v1.ResourceRequirements').describe(
    'What the init container requests and may use that checks the configuration. Empty: as resources.',
  ),
  heapPercent: z
    .int()
    .min(10)
    .max(90)
    .default(60)
    .describe('Share of the memory limit for the JavaScript heap. The rest is for buffers, TLS and code.'),
  nodeOptions: words('').describe('Additional NODE_OPTIONS.'),
  env: kubernetesList('core.v1.EnvVar').describe(
    'Additional environment variables. config may name them. NODE_OPTIONS goes into nodeOptions.',
  ),
  envFrom: kubernetesList('core.v1.EnvFromSource').describe(
    'ConfigMaps and Secrets whose keys become environment variables.',
  ),
  volumes: kubernetesList('core.v1.Volume').describe('Additional volumes.'),
  volumeMounts: kubernetesList('core.v1.VolumeMount').describe('Where they are mounted.'),
  initContainers: kubernetesList('core.v1.Container').describe(
    'Additional init containers. They run before the one that checks the configuration.',
  ),
  lifecycle: kubernetesMap('core.v1.Lifecycle').describe(
    'What the kubelet does after the start of the gateway, and before SIGTERM.',
  ),
  sidecars: kubernetesList('core.v1.Container').describe('Additional containers next to the gateway.'),
  hostNetwork: flag(false).describe(
    'Whether the pods use the network of their node, with its ports. The restricted profile and most NetworkPolicies do not apply then.',
  ),
  hostAliases: kubernetesList('core.v1.HostAlias').describe('Additional names in /etc/hosts.'),
  dnsPolicy: z
    .enum(['', 'ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'])
    .default('')
    .describe('How names are resolved. Empty: ClusterFirst, or ClusterFirstWithHostNet with hostNetwork.'),
  dnsConfig: kubernetesMap('core.v1.PodDNSConfig').describe('Name servers, search domains and options.'),
  runtimeClassName: objectName().describe('The runtime class of the pods.'),
  probes: z
    .strictObject({
      startup: probe(1, 2, 60).describe('Until the process responds.'),
      readiness: probe(5, 2, 3).describe('Whether the pod gets requests: /readyz.'),
      liveness: probe(10, 5, 6).describe(
        'Whether the process responds: /healthz. Otherwise the container is restarted.',
      ),
    })
    .describe('How the kubelet asks for health.'),
  preStopSleepSeconds: wholeNumber(0, 0).describe(
    'Sleep before SIGTERM, by the kubelet. Rarely needed: config.shutdown.delay does the same and reports not ready meanwhile.',
  ),
  terminationGracePeriodSeconds: z
    .int()
    .min(1)
    .max(MOST)
    .optional()
    .describe('Left out: shutdown.delay + shutdown.drain + preStopSleepSeconds + 5.'),
  strategy: z
    .strictObject({
      type: z
        .enum(['RollingUpdate', 'Recreate', 'OnDelete'])
        .default('RollingUpdate')
        .describe('RollingUpdate, or Recreate for a Deployment and OnDelete for a DaemonSet.'),
      rollingUpdate: z
        .strictObject({
          maxSurge: share(1).describe(
            'How many pods more than replicas says may exist meanwhile. In a DaemonSet, on how many nodes a second one.',
          ),
          maxUnavailable: share(0).describe('How many fewer may be ready.'),
        })
        .describe('With RollingUpdate.'),
    })
    .describe('How the Deployment or DaemonSet replaces pods.'),
  minReadySeconds: wholeNumber(0, 0).describe('How long a new pod must be ready before it counts.'),
  revisionHistoryLimit: wholeNumber(0, 10).describe('How many old ReplicaSets are kept.'),
  deploymentAnnotations: texts().describe('Annotations of the Deployment or DaemonSet.'),
  podDisruptionBudget: z
    .strictObject({
      enabled: flag(true).describe('Whether to create one.'),
      maxUnavailable: share(1).describe('How many pods may be evicted at a time.'),
      minAvailable: amount()
        .optional()
        .describe(
          'How many pods must stay, instead of maxUnavailable. As many as replicas says keep every node from being drained.',
        ),
    })
    .describe('Protects from evicting too many pods at once.'),
  topologySpread: z
    .strictObject({
      zones: spread.describe('Over zones.'),
      nodes: spread.describe('Over nodes.'),
    })
    .describe('Whether pods are spread: ScheduleAnyway if possible, DoNotSchedule always, or none.'),
  topologySpreadConstraints: kubernetesList('core.v1.TopologySpreadConstraint').describe(
    'Instead of topologySpread. The labelSelector left out: the pods of the gateway, those of one revision.',
  ),
  nodeSelector: labels().describe('Labels of the nodes to run on.'),
  tolerations: kubernetesList('core.v1.Toleration').describe('Taints to tolerate.'),
  affinity: kubernetesMap('core.v1.Affinity').describe('Affinity of the pods.'),
  priorityClassName: objectName().describe('The priority class of the pods.'),
  schedulerName: objectName().describe('What places the pods. Empty: the default scheduler.'),
  serviceAccount: z
    .strictObject({
      create: flag(true).describe('Whether to create one, without rights.'),
      name: objectName().describe("Its name. Empty: the objects' name, or default if none is created."),
      annotations: texts().describe('Its annotations.'),
      automountServiceAccountToken: flag(false).describe(
        'Whether the pods get its token. The gateway needs none; a sidecar may.',
      ),
    })
    .describe('The account of the pods. The gateway does not talk to Kubernetes.'),
  podSecurityContext: kubernetesMap('core.v1.PodSecurityContext', {
    runAsNonRoot: true,
    runAsUser: 65532,
    runAsGroup: 65532,
    fsGroup: 65532,
    seccompProfile: { type: 'RuntimeDefault' },
  }).describe('Security of the pods: the restricted profile. On OpenShift set the three numbers to null.'),
  securityContext: kubernetesMap('core.v1.SecurityContext', {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    readOnlyRootFilesystem: true,
  }).describe('Security of the containers: the restricted profile, and a read-only root.'),
  podLabels: labels().describe('Labels of the pods.'),
  podAnnotations: texts().describe('Annotations of the pods.'),
  commonLabels: labels().describe('Labels of every object.'),
  commonAnnotations: texts().describe('Annotations of every object.'),
};
