import { createRequire } from 'node:module';

/** The packages that an operator who exports spans installs beside the gateway. */
const PACKAGES = [
  '@opentelemetry/api',
  '@opentelemetry/sdk-trace',
  '@opentelemetry/resources',
  '@opentelemetry/exporter-trace-otlp-http',
] as const;

const NEEDS = `needs packages that are not installed: npm install ${PACKAGES.join(' ')}`;

/** The parts of OpenTelemetry's SDK. */
export type Sdk = Awaited<ReturnType<typeof loadSdk>>;

/** Loads the SDK, which is optional. Rejects with `MissingPackages` if it is not installed. */
export async function loadSdk() {
  try {
    const [api, trace, resources, otlp] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ]);
    return { api, trace, resources, otlp };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new MissingPackages(`tracing.export ${NEEDS}`);
  }
}

/** What an operator has to do before the SDK can be loaded; null: nothing. Loads nothing. */
export function missingSdk(): string | null {
  return PACKAGES.every(isInstalled) ? null : NEEDS;
}

function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** Packages are not installed. The message says which, and how to install them. */
export class MissingPackages extends Error {}
