import { z } from 'zod';
import { anyMap, anyMaps, flag, texts, wholeNumber, words } from './values-parts.ts';

// Values of the Deployment, its pods and what belongs to them.

function probe(periodSeconds: number, timeoutSeconds: number, failureThreshold: number) {
  return z.strictObject({
    periodSeconds: wholeNumber(1, periodSeconds).describe('Time between two probes.'),
    timeoutSeconds: wholeNumber(1, timeoutSeconds).describe('How long one may take.'),
    failureThreshold: wholeNumber(1, failureThreshold).describe('How many must fail in a row.'),
  });
}

const spread = z.enum(['ScheduleAnyway', 'DoNotSchedule', 'none']).default('ScheduleAnyway');

export const podValues = {
  resources: anyMap({
    requests: { cpu: '500m', memory: '256Mi' },
    limits: { memory: '1Gi' },
  }).describe('What a pod requests and may use. A limit on CPU would add latency.'),
  heapPercent: z
    .int()
    .min(10)
    .max(90)
    .default(60)
    .describe('Share of the memory limit for the JavaScript heap. The rest is for buffers, TLS and code.'),
  nodeOptions: words('').describe('Additional NODE_OPTIONS.'),
  env: anyMaps().describe(
    'Additional environment variables. config may name them. NODE_OPTIONS goes into nodeOptions.',
  ),
  envFrom: anyMaps().describe('ConfigMaps and Secrets whose keys become environment variables.'),
  volumes: anyMaps().describe('Additional volumes.'),
  volumeMounts: anyMaps().describe('Where they are mounted.'),
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
    .optional()
    .describe('Left out: shutdown.delay + shutdown.drain + preStopSleepSeconds + 5.'),
  strategy: anyMap({ type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }).describe(
    'How the Deployment replaces pods.',
  ),
  podDisruptionBudget: z
    .strictObject({
      enabled: flag(true).describe('Whether to create one.'),
      maxUnavailable: z
        .union([z.int().min(0), z.string().regex(/^\d+%$/)])
        .default(1)
        .describe('How many pods may be evicted at a time.'),
    })
    .describe('Protects from evicting too many pods at once.'),
  topologySpread: z
    .strictObject({
      zones: spread.describe('Over zones.'),
      nodes: spread.describe('Over nodes.'),
    })
    .describe('Whether pods are spread: ScheduleAnyway if possible, DoNotSchedule always, or none.'),
  nodeSelector: texts().describe('Labels of the nodes to run on.'),
  tolerations: anyMaps().describe('Taints to tolerate.'),
  affinity: anyMap().describe('Affinity of the pods.'),
  priorityClassName: words('').describe('The priority class of the pods.'),
  serviceAccount: z
    .strictObject({
      create: flag(true).describe('Whether to create one, without rights and without a token.'),
      name: words('').describe("Its name. Empty: the objects' name, or default if none is created."),
      annotations: texts().describe('Its annotations.'),
    })
    .describe('The account of the pods. No token is mounted: the gateway does not talk to Kubernetes.'),
  podSecurityContext: anyMap({
    runAsNonRoot: true,
    runAsUser: 65532,
    runAsGroup: 65532,
    fsGroup: 65532,
    seccompProfile: { type: 'RuntimeDefault' },
  }).describe('Security of the pods: the restricted profile. On OpenShift set the three numbers to null.'),
  securityContext: anyMap({
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    readOnlyRootFilesystem: true,
  }).describe('Security of the containers: the restricted profile, and a read-only root.'),
  podLabels: texts().describe('Labels of the pods.'),
  podAnnotations: texts().describe('Annotations of the pods.'),
  commonLabels: texts().describe('Labels of every object.'),
  commonAnnotations: texts().describe('Annotations of every object.'),
};
