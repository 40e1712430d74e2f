import { z } from 'zod';
import { accessValues, observationValues } from './values-around.ts';
import {
  anyMap,
  flag,
  kubernetesList,
  kubernetesMap,
  list,
  MOST,
  namespace,
  objectName,
  wholeNumber,
  words,
} from './values-parts.ts';
import { podValues } from './values-pod.ts';

// The one definition of the chart's values. scripts/chart.ts makes values.schema.json and README.md in helm/weir of it;
// values.yaml there repeats its defaults, which test/chart/values.test.ts compares.

const image = z
  .strictObject({
    registry: z
      .string()
      .regex(/^([A-Za-z0-9.-]+(:[0-9]+)?(\/[a-z0-9._-]+)*)?$/)
      .default('')
      .describe('Put before repository, such as a mirror: registry.example.com.'),
    repository: words('').describe(
      'Where the image is, such as registry.example.com/weir. Required: none is published.',
    ),
    tag: z
      .string()
      .regex(/^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$/)
      .default('')
      .describe("Its tag. Empty: the chart's appVersion."),
    digest: z
      .string()
      .regex(/^(sha256:[0-9a-f]{64})?$/)
      .default('')
      .describe('Pins the image instead of the tag: sha256:...'),
    pullPolicy: z
      .enum(['IfNotPresent', 'Always', 'Never'])
      .default('IfNotPresent')
      .describe('When it is pulled.'),
  })
  .describe('The image of the gateway.');

/** Services have the strictest names: letters, digits and hyphens, and a letter first. */
const partOfNames = () =>
  z
    .string()
    .max(50)
    .regex(/^([a-z]([-a-z0-9]*[a-z0-9])?)?$/)
    .default('');

const secret = z.strictObject({
  secretName: z
    .string()
    .max(253)
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/)
    .describe('The name of the Secret.'),
  items: list(z.strictObject({ key: z.string(), path: z.string() })).describe(
    'The keys to mount, each with its file name. Empty: all keys.',
  ),
});

const existingConfigMaps = z
  .strictObject({
    gateway: objectName().describe(
      'Has the key gateway.yaml, with limits: limits.yaml and listen: { admin: "[::]:9090" }. config then only says what the chart has to know of it: listen, shutdown and store.',
    ),
    limits: objectName().describe('Has the key limits.yaml, in place of the value limits.'),
  })
  .describe('Existing ConfigMaps in place of those that the chart makes of config and limits.');

const autoscaling = z
  .strictObject({
    enabled: flag(false).describe('Whether a HorizontalPodAutoscaler sets the number of pods.'),
    minReplicas: wholeNumber(1, 2).describe('Fewest pods.'),
    maxReplicas: wholeNumber(1, 10).describe('Most pods.'),
    cpuPercent: z
      .int()
      .min(1)
      .max(MOST)
      .nullable()
      .default(70)
      .describe(
        'Average use of the requested CPU to hold, in percent, of all containers of a pod together. null: none, where other metrics say it.',
      ),
    requestsInFlight: z
      .int()
      .min(1)
      .max(MOST)
      .optional()
      .describe(
        'Average number of requests in flight per pod to hold as well. Needs a metrics adapter that serves weir_requests_in_flight of pods.',
      ),
    metrics: kubernetesList('autoscaling.v2.MetricSpec').describe(
      'Further metrics, as in the HorizontalPodAutoscaler. The one that asks for most pods wins.',
    ),
    behavior: kubernetesMap('autoscaling.v2.HorizontalPodAutoscalerBehavior').describe(
      'How fast to scale, as in the HorizontalPodAutoscaler.',
    ),
    scaler: words('').describe(
      'What sets the number of pods instead of that autoscaler, such as KEDA. Then replicas stays out of the Deployment.',
    ),
  })
  .describe('Scaling by load.');

/** Everything that an installation may set. */
export const valuesSchema = z.strictObject({
  image,
  imagePullSecrets: list(z.strictObject({ name: z.string().min(1) })).describe(
    'Secrets for pulling the image.',
  ),
  nameOverride: partOfNames().describe("The chart's part of the objects' names. Empty: weir."),
  fullnameOverride: partOfNames().describe(
    "The objects' name. Empty: the name of the release, with the chart's.",
  ),
  namespaceOverride: namespace().describe("The objects' namespace. Empty: that of the release."),
  config: anyMap().describe(
    'gateway.yaml as a map, with the keys of config/gateway.yaml. Checked by its JSON Schema.',
  ),
  limits: anyMap().describe(
    'limits.yaml as a map, with the keys of config/limits.yaml. Checked by its JSON Schema. Changes take effect without a restart.',
  ),
  existingConfigMaps,
  limitsPerReplica: flag(false).describe(
    'Accept that each pod counts limits alone, so that N pods allow up to N times each limit. Only for more than one pod without Redis.',
  ),
  secrets: z
    .record(z.string().regex(/^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$/), secret)
    .default({})
    .describe(
      'Existing Secrets as files: oidc: { secretName: weir-oidc } mounts each key of weir-oidc as a file in /run/secrets/oidc.',
    ),
  kind: z
    .enum(['Deployment', 'DaemonSet'])
    .default('Deployment')
    .describe(
      'What keeps the pods: a Deployment, or a DaemonSet with a pod on each node. That has no replicas, autoscaling, topologySpread nor podDisruptionBudget.',
    ),
  replicas: z
    .int()
    .min(0)
    .max(MOST)
    .nullable()
    .default(1)
    .describe(
      'Number of pods. More than one needs config.store.redis. It stays out of the Deployment, so that an upgrade does not touch the number, with null, and with autoscaling.enabled or autoscaling.scaler.',
    ),
  autoscaling,
  ...podValues,
  ...accessValues,
  ...observationValues,
  extraObjects: list(z.union([z.record(z.string(), z.unknown()), z.string()])).describe(
    'Further objects to install: a map as it is, a text as a template of Helm.',
  ),
  global: anyMap().describe('Values of a parent chart. Unused.'),
});
