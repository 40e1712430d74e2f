import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from '../../bench/world/certificate.ts';
import { freePort } from '../../bench/world/part.ts';
import { GATEWAY_CLIENT } from '../../src/cli/demo/provider/demo-provider.ts';
import { scripts, startScriptedProvider } from '../../test/support/scripted-provider.ts';
import { issuerKey } from '../../test/support/token-issuer.ts';
import { type Launch, ProbedGateway } from '../soak/probed-gateway.ts';
import type { Closable, Target } from './fillings.ts';
import { startServices } from './services.ts';

const KEY = issuerKey('ES256', 'caps');

/** A gateway between stubborn services and the clients who fill its caps. */
export interface Stage {
  readonly folder: string;
  readonly target: Target;
  readonly gateway: ProbedGateway;
  /** What clients opened; ended with the stage. */
  readonly opened: Closable[];
  close(): Promise<void>;
}

/** The files of a gateway: the keys that are its own. */
interface Files {
  readonly config: { readonly workers: number };
  readonly limits: Readonly<Record<string, unknown>>;
}

export async function setStage(
  filesOf: (target: Target) => Files,
  launch: Pick<Launch, 'flags' | 'before'> = {},
): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-caps-'));
  const services = await startServices();
  const provider = await startScriptedProvider();
  provider.keys = scripts.json(200, { keys: [KEY.jwk] });
  const [port, tlsPort] = [await freePort(), await freePort()];
  const target = { port, tlsPort, services, issuer: provider.issuer, key: KEY };
  const { certificateFile, keyFile } = await makeCertificate(folder);
  const { config, limits } = filesOf(target);
  const off = { invalid_requests: 'off', failed_verifications: 'off' };
  await writeFile(join(folder, 'client-secret'), GATEWAY_CLIENT.secret);
  // JSON is YAML.
  await writeFile(join(folder, 'limits.yaml'), JSON.stringify({ ...off, ...limits }));
  const listen = {
    http: { address: `127.0.0.1:${port}`, h2c: true },
    grpc: {
      address: `127.0.0.1:${tlsPort}`,
      tls: { certificates: [{ certificate_file: certificateFile, key_file: keyFile }] },
    },
  };
  const common = { listen, limits: 'limits.yaml', shutdown: { drain: '0s' } };
  const gateway = await ProbedGateway.start({ folder, config: { ...common, ...config }, ...launch });
  const opened: Closable[] = [];
  const close = async () => {
    for (const one of opened) one.destroy();
    await gateway.stop();
    services.close();
    await provider.close();
    rmSync(folder, { recursive: true });
  };
  return { folder, target, gateway, opened, close };
}
