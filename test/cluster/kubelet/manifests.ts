import { parseAllDocuments } from 'yaml';

/** The parts of Kubernetes' objects that the pod runner follows. What it cannot follow, it refuses where it meets it. */

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface DeploymentManifest extends Manifest {
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly strategy?: {
      readonly type?: string;
      readonly rollingUpdate?: {
        readonly maxSurge?: number | string;
        readonly maxUnavailable?: number | string;
      };
    };
    readonly template: PodTemplate;
  };
}

export interface PodManifest extends Manifest {
  readonly spec: PodSpec;
}

export interface PodTemplate {
  readonly metadata?: Partial<ObjectMeta>;
  readonly spec: PodSpec;
}

export interface PodSpec {
  readonly initContainers?: readonly ContainerSpec[];
  readonly containers: readonly ContainerSpec[];
  readonly volumes?: readonly VolumeSpec[];
  readonly securityContext?: PodSecurity;
  readonly terminationGracePeriodSeconds?: number;
  readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never';
}

export interface PodSecurity {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly fsGroup?: number;
}

export interface ContainerSpec {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly unknown[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly VolumeMount[];
  readonly resources?: { readonly limits?: Resources; readonly requests?: Resources };
  readonly securityContext?: PodSecurity & {
    readonly readOnlyRootFilesystem?: boolean;
    readonly allowPrivilegeEscalation?: boolean;
  };
  readonly startupProbe?: ProbeSpec;
  readonly readinessProbe?: ProbeSpec;
  readonly livenessProbe?: ProbeSpec;
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } };
  readonly workingDir?: string;
}

type Resources = Readonly<Record<string, string | number>>;

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly resourceFieldRef?: { readonly resource: string; readonly divisor?: string | number };
    readonly secretKeyRef?: KeyRef;
    readonly configMapKeyRef?: KeyRef;
  };
}

interface KeyRef {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
  readonly subPath?: string;
}

export interface KeyItem {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

export interface FilesSource {
  readonly name?: string;
  readonly secretName?: string;
  readonly items?: readonly KeyItem[];
  readonly optional?: boolean;
  readonly defaultMode?: number;
}

export interface VolumeSpec {
  readonly name: string;
  readonly configMap?: FilesSource;
  readonly secret?: FilesSource;
  readonly emptyDir?: object;
  readonly projected?: {
    readonly defaultMode?: number;
    readonly sources: readonly { readonly configMap?: FilesSource; readonly secret?: FilesSource }[];
  };
}

export interface ProbeSpec {
  readonly httpGet?: { readonly path?: string; readonly port: number | string; readonly scheme?: string };
  readonly tcpSocket?: { readonly port: number | string };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
  readonly successThreshold?: number;
}

/** A ConfigMap or a Secret. */
export interface FilesManifest extends Manifest {
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

export interface ServiceManifest extends Manifest {
  readonly spec: {
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports: readonly ServicePort[];
  };
}

export interface ServicePort {
  readonly name?: string;
  readonly port: number;
  readonly targetPort?: number | string;
}

/** All objects of a file with several documents, as `helm template` prints them. */
export function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text)
    .map(document => {
      const [error] = document.errors;
      if (error !== undefined) throw error;
      return document.toJS() as Manifest | null;
    })
    .filter(manifest => manifest !== null);
}

export function isDeployment(manifest: Manifest): manifest is DeploymentManifest {
  return manifest.kind === 'Deployment';
}

export function holdsFiles(manifest: Manifest): manifest is FilesManifest {
  return manifest.kind === 'ConfigMap' || manifest.kind === 'Secret';
}

export function isService(manifest: Manifest): manifest is ServiceManifest {
  return manifest.kind === 'Service';
}

export function isPod(manifest: Manifest): manifest is PodManifest {
  return manifest.kind === 'Pod';
}
