import { ConfigFile, type Environment, formatDiagnostic, Readings } from './file/index.ts';
import { holdsLimits } from './holds-limits.ts';
import type { HostPort } from './model/index.ts';
import { gatewaySecrecy, listenSchema } from './schema/index.ts';

/** Where the admin listener of a configuration is. */
export type AdminPlace =
  | { readonly kind: 'listens'; readonly address: HostPort; readonly tls: boolean }
  | { readonly kind: 'off' }
  /** `message`: what is wrong with the file, a line each. */
  | { readonly kind: 'unknown'; readonly message: string };

/**
 * Reads `listen.admin` and nothing else: mistakes in other places of the file, which a running gateway does not follow, change
 * nothing. Never throws because of a file's content.
 */
export async function readAdmin(path: string, env: Environment): Promise<AdminPlace> {
  const file = await ConfigFile.read(path, env, new Readings(), gatewaySecrecy);
  if (file.value === undefined && !file.has(['listen', 'admin']) && file.hasErrors)
    return { kind: 'unknown', message: file.diagnostics.map(formatDiagnostic).join('\n') };
  if (holdsLimits(file.value))
    return {
      kind: 'unknown',
      message: `${path}: this is a limits file: name the gateway.yaml that refers to it`,
    };
  const admin = listenSchema.shape.admin.safeParse(file.valueAt(['listen', 'admin']));
  if (!admin.success) return { kind: 'unknown', message: `${path}: listen.admin is not an address` };
  if (admin.data === null) return { kind: 'off' };
  return { kind: 'listens', address: admin.data.address, tls: admin.data.tls !== undefined };
}
