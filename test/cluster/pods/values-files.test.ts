import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { VALUES_FILES } from '../../chart/chart.ts';
import { TestAuthority } from '../../support/certificates.ts';
import { type RedisServer, startRedis } from '../../support/redis.ts';
import { tempFolder } from '../../support/temp.ts';
import type { FilesManifest } from '../kubelet/manifests.ts';
import { NODE_ADDRESS } from '../kubelet/network.ts';
import { Gateways } from './gateways.ts';

/** They name a provider on the Internet, without whose keys no pod gets ready; and the pod runner has no envFrom. */
const LEFT_OUT: readonly string[] = ['full-values.yaml', 'restricted-values.yaml'];

/** They count in a Redis without a password. */
const PLAIN_REDIS: readonly string[] = ['argocd-values.yaml', 'istio-values.yaml'];

const REDIS_PASSWORD = 'of the Redis in this test';

const authority = new TestAuthority();

/** The Secrets that a values file refers to. */
const SECRETS: Readonly<Record<string, () => FilesManifest[]>> = {
  'tls-values.yaml': () => [
    certificateFor('api-example-com', 'api.example.com'),
    certificateFor('weir-admin', 'admin'),
  ],
  'tls-routes-values.yaml': () => [certificateFor('api-example-com', 'api.example.com')],
  'redis-values.yaml': () => [
    secret('redis-for-weir', { password: REDIS_PASSWORD, 'ca.crt': authority.certificate }),
  ],
};

it.each(VALUES_FILES.filter(file => !LEFT_OUT.includes(file)))(
  'the pods of %s get ready and pass helm test',
  async file => {
    const gateways = await Gateways.open();
    onTestFinished(() => gateways.close());
    if (file === 'redis-values.yaml') await startTlsRedis(6_379);
    if (PLAIN_REDIS.includes(file)) await (await startNodeRedis()).client.config('SET', 'port', '6379');
    gateways.cluster.addHost('redis.data.svc', NODE_ADDRESS);
    await gateways.cluster.apply(SECRETS[file]?.() ?? []);
    await gateways.install({}, file);
    await gateways.rolledOut();
    const [test] = await gateways.test();
    expect(await test?.containers[0]?.exit, test?.containers[0]?.output).toBe(0);
  },
);

function secret(name: string, stringData: Readonly<Record<string, string>>): FilesManifest {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData };
}

function certificateFor(name: string, host: string): FilesManifest {
  const { certificate, key } = authority.forHosts(host);
  return secret(name, { 'tls.crt': certificate, 'tls.key': key, 'ca.crt': authority.certificate });
}

/** A Redis that pods reach at the address of the node. */
async function startNodeRedis(): Promise<RedisServer> {
  const redis = await startRedis('--bind', '127.0.0.1', NODE_ADDRESS, '--protected-mode', 'no');
  onTestFinished(() => redis.close());
  return redis;
}

/** A Redis that speaks TLS on this port and knows the user `weir`. */
async function startTlsRedis(port: number): Promise<void> {
  const { certificate, key } = authority.forHosts('redis.data.svc');
  const folder = await tempFolder();
  const [certificateFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  await writeFile(certificateFile, certificate);
  await writeFile(keyFile, key);
  const redis = await startNodeRedis();
  await redis.client.call('acl', 'setuser', 'weir', 'on', `>${REDIS_PASSWORD}`, '~*', '&*', '+@all');
  for (const [name, value] of Object.entries({
    'tls-cert-file': certificateFile,
    'tls-key-file': keyFile,
    'tls-auth-clients': 'no',
    'tls-port': String(port),
  }))
    await redis.client.config('SET', name, value);
}
