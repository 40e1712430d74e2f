import { z } from 'zod';
import {
  anyMap,
  anyMaps,
  flag,
  kubernetesList,
  kubernetesMap,
  labels,
  list,
  namespace,
  objectName,
  texts,
  words,
} from './values-parts.ts';

// Values of what leads to the gateway, and of what watches it.

const port = () => z.int().min(1).max(65_535);

const service = z
  .strictObject({
    type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']).default('ClusterIP').describe('Its type.'),
    port: port().optional().describe('Port of config.listen.http. Left out: 80, or 443 with TLS.'),
    redirectPort: port().optional().describe('Port of config.listen.redirect. Left out: 80.'),
    grpcPort: port().optional().describe('Port of config.listen.grpc. Left out: the port it listens on.'),
    appProtocol: words('').describe(
      'What the http port speaks, such as kubernetes.io/h2c with "h2c: true". Empty: http, or https with TLS.',
    ),
    nodePort: port()
      .optional()
      .describe('Fixed port of the nodes for port, with the type NodePort or LoadBalancer.'),
    redirectNodePort: port().optional().describe('The same for redirectPort.'),
    grpcNodePort: port().optional().describe('The same for grpcPort.'),
    labels: labels().describe('Its labels.'),
    annotations: texts().describe('Its annotations.'),
    spec: kubernetesMap('core.v1.ServiceSpec').describe(
      'Further fields of its spec, such as externalTrafficPolicy or loadBalancerClass.',
    ),
  })
  .describe('The Service for clients.');

const adminService = z
  .strictObject({
    port: port().default(9090).describe('Its port.'),
    labels: labels().describe('Its labels.'),
    annotations: texts().describe('Its annotations.'),
    spec: kubernetesMap('core.v1.ServiceSpec').describe(
      'Further fields of its spec, such as ipFamilyPolicy, or clusterIP: None.',
    ),
  })
  .describe('The Service for the platform: metrics, health and status. Only inside the cluster.');

const parentRefs = () =>
  list(
    z.strictObject({
      name: z.string().min(1),
      namespace: z.string().optional(),
      sectionName: z.string().optional(),
      port: port().optional(),
      group: z.string().optional(),
      kind: z.string().optional(),
    }),
  ).describe(
    'The Gateways to attach to, such as [{ name: public, namespace: gateways, sectionName: https }].',
  );
const hostname = () =>
  z
    .string()
    .max(253)
    .regex(/^(\*\.)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
const hostnames = () => list(hostname()).describe('The host names to serve. Empty: those of the Gateway.');

const rules = () =>
  anyMaps().describe(
    'Its rules, instead of one of the values above. One without backendRefs leads to the gateway, unless it redirects.',
  );

const httpRoute = z
  .strictObject({
    enabled: flag(false).describe('Whether to create one.'),
    parentRefs: parentRefs(),
    hostnames: hostnames(),
    matches: anyMaps().describe(
      'The requests of its rule, such as [{ path: { type: PathPrefix, value: /v1 } }]. Empty: all.',
    ),
    filters: anyMaps().describe('Filters of its rule.'),
    timeouts: z
      .partialRecord(z.enum(['request', 'backendRequest']), z.string().regex(/^([0-9]{1,5}(h|m|s|ms)){1,4}$/))
      .default({})
      .describe(
        'Timeouts of its rule. Many Gateways cut requests off after a default; { request: 0s } turns that off for streams.',
      ),
    rules: rules(),
    labels: labels().describe('Its labels.'),
    annotations: texts().describe('Its annotations.'),
  })
  .describe('An HTTPRoute of the Gateway API to the http port.');

const grpcRoute = z
  .strictObject({
    enabled: flag(false).describe('Whether to create one.'),
    parentRefs: parentRefs(),
    hostnames: hostnames(),
    matches: anyMaps().describe(
      'The calls of its rule, such as [{ method: { service: service.v1.Interactions } }]. Empty: all.',
    ),
    filters: anyMaps().describe('Filters of its rule.'),
    rules: rules(),
    labels: labels().describe('Its labels.'),
    annotations: texts().describe('Its annotations.'),
  })
  .describe('A GRPCRoute of the Gateway API to the grpc port.');

const tlsRoute = z
  .strictObject({
    enabled: flag(false).describe('Whether to create one.'),
    parentRefs: parentRefs(),
    hostnames: list(hostname()).describe('The host names to serve, by the SNI of the handshake. Required.'),
    labels: labels().describe('Its labels.'),
    annotations: texts().describe('Its annotations.'),
  })
  .describe(
    'A TLSRoute of the Gateway API to the http port: the Gateway relays TLS, which config.listen.http ends.',
  );

const backendTLSPolicy = z
  .strictObject({
    enabled: flag(false).describe('Whether to create one.'),
    hostname: words('').describe('The name that the certificates of the gateway are for. Required.'),
    caCertificateRefs: list(
      z.strictObject({
        name: z.string().min(1),
        kind: z.string().default('ConfigMap'),
        group: z.string().default(''),
      }),
    ).describe('The authorities: [{ name: internal-ca }] is a ConfigMap with the key ca.crt.'),
    wellKnownCACertificates: z
      .enum(['', 'System'])
      .default('')
      .describe('System: the authorities that the Gateway knows, instead of caCertificateRefs.'),
    subjectAltNames: anyMaps().describe('Names that the certificates must have instead of hostname.'),
    labels: labels().describe('Its labels.'),
    annotations: texts().describe('Its annotations.'),
  })
  .describe(
    'A BackendTLSPolicy of the Gateway API: it makes the Gateway speak TLS to the ports of the Service that have it.',
  );

const pathType = () => z.enum(['Prefix', 'ImplementationSpecific', 'Exact']);
const ingressHost = z.strictObject({
  host: hostname().optional(),
  paths: z
    .array(z.strictObject({ path: z.string().startsWith('/'), pathType: pathType().optional() }))
    .min(1),
});

const ingress = z
  .strictObject({
    enabled: flag(false).describe('Whether to create one.'),
    className: objectName().describe('The class of the controller.'),
    hosts: list(z.union([hostname(), ingressHost])).describe(
      'The host names to serve, each a text or { host: api.example.com, paths: [{ path: /v1 }, { path: /callback, pathType: Exact }] }. Empty: every host.',
    ),
    path: words('/').describe(
      'The path to serve, and everything below, of hosts without paths of their own.',
    ),
    pathType: pathType()
      .default('Prefix')
      .describe('How the controller reads it. Some need ImplementationSpecific.'),
    tls: list(z.strictObject({ secretName: z.string().min(1), hosts: list(hostname()) })).describe(
      'Certificates: [{ secretName: api-tls, hosts: [api.example.com] }].',
    ),
    labels: labels().describe('Its labels.'),
    annotations: texts().describe('Its annotations, such as the timeouts of the controller.'),
  })
  .describe('An Ingress to the http port.');

const networkPolicy = z
  .strictObject({
    enabled: flag(true).describe('Whether to create one.'),
    clients: z
      .union([
        z.literal('any'),
        z
          .array(z.record(z.string(), z.unknown()).meta({ kubernetes: 'networking.v1.NetworkPolicyPeer' }))
          .min(1),
      ])
      .default('any')
      .describe('Who may reach the client ports: any, or a list of peers as in a NetworkPolicy.'),
    admin: kubernetesList('networking.v1.NetworkPolicyPeer').describe(
      'Who may reach the admin port, besides the kubelet on the node and "helm test": peers, such as the namespace of Prometheus.',
    ),
    egress: kubernetesList('networking.v1.NetworkPolicyEgressRule').describe(
      'Where the gateway may connect, as egress rules. DNS is added. Empty: anywhere, since a NetworkPolicy knows no host names.',
    ),
  })
  .describe('Who may connect to the pods.');

export const accessValues = {
  service,
  adminService,
  httpRoute,
  grpcRoute,
  tlsRoute,
  backendTLSPolicy,
  ingress,
  networkPolicy,
};

const share = (byDefault: number) => z.number().gt(0).lt(1).default(byDefault);
const more = (byDefault: number) => z.number().gt(0).default(byDefault);

const thresholds = z
  .strictObject({
    failedRequests: share(0.001).describe('The share of requests that may fail in a month.'),
    slowResponses: share(0.01).describe('The share of responses that may take over a second to begin.'),
    upstreamFailures: share(0.05).describe('The share of the requests to an upstream that may fail.'),
    providerFailures: share(0.2).describe(
      'The share of sign-ins, refreshes, introspections and notices that may fail.',
    ),
    restrictions: more(20).describe('How many restrictions may begin within ten minutes.'),
    refusals: share(0.1).describe(
      'The share that limits, tokens or restrictions may refuse, if it is three times as much as in the last hours.',
    ),
    refusalsAfterReload: share(0.2).describe('The share that a new configuration may refuse in addition.'),
    decisionsWithoutRedis: share(0.05).describe('The share of decisions that may be made without Redis.'),
    nearLimit: share(0.5).describe('The share of requests that may come close to a limit.'),
    eventLoopDelaySeconds: more(0.1).describe('How long work may wait in the event loop, on average.'),
    certificateDays: more(14).describe('When an expiring certificate is a warning.'),
    certificateDaysSoon: more(3).describe('When it is critical.'),
  })
  .describe('The numbers in the alerts.');

export const observationValues = {
  metrics: z
    .strictObject({
      monitor: z
        .enum(['none', 'ServiceMonitor', 'PodMonitor'])
        .default('none')
        .describe('What to create for the Prometheus operator. networkPolicy.admin must admit Prometheus.'),
      interval: z
        .string()
        .regex(/^([0-9]+(d|h|m|s|ms))+$/)
        .default('30s')
        .describe('Time between two scrapes.'),
      namespace: namespace().describe('Its namespace. Empty: that of the other objects.'),
      labels: labels().describe('Its labels, by which Prometheus selects it.'),
      endpoint: anyMap().describe(
        'Further fields of its endpoint, such as tlsConfig or relabelings. They win over those of the chart.',
      ),
    })
    .describe('How Prometheus finds the metrics.'),
  alerts: z
    .strictObject({
      enabled: flag(false).describe(
        'Whether to create a PrometheusRule with the alerts of files/alerts.yaml.',
      ),
      namespace: namespace().describe('Its namespace. Empty: that of the other objects.'),
      labels: labels().describe('Its labels, by which Prometheus selects it.'),
      thresholds,
      ruleLabels: texts().describe('Labels of every alert, such as { team: edge }.'),
      ruleAnnotations: texts().describe('Annotations of every alert.'),
      rules: z
        .record(
          z.string(),
          z.strictObject({
            labels: texts(),
            annotations: texts(),
            for: z
              .string()
              .regex(/^([0-9]+(d|h|m|s|ms))+$/)
              .optional(),
          }),
        )
        .default({})
        .describe(
          'What single alerts have instead, by their names: { WeirNearLimits: { labels: { severity: info }, annotations: {}, for: 1h } }.',
        ),
      runbookUrl: z
        .string()
        .regex(/^(https?:\/\/.+)?$/)
        .default('')
        .describe(
          'Where the documents of this version are, such as https://git.example.com/weir/blob/v0.1.0: each alert gets a runbook_url. Empty: none.',
        ),
      disabled: list(z.string()).describe('The names of alerts to leave out, such as [WeirNearLimits].'),
      groups: anyMaps().describe(
        'Further groups of rules of your own, as Prometheus reads them. An alert with other words or another expression goes here, and its name into disabled.',
      ),
    })
    .describe('The alerts.'),
  dashboard: z
    .strictObject({
      enabled: flag(false).describe('Whether to create a ConfigMap with the Grafana dashboard.'),
      namespace: namespace().describe('Its namespace. Empty: that of the other objects.'),
      labels: labels({ grafana_dashboard: '1' }).describe(
        "Its labels, by which Grafana's sidecar selects it.",
      ),
      annotations: texts().describe('Its annotations, such as the folder.'),
    })
    .describe('The Grafana dashboard.'),
};
