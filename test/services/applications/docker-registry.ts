import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { buildGo } from '../../support/go.ts';
import { ensureInstalled } from '../../support/installed.ts';
import { Random } from '../../support/random.ts';
import { type Application, run, startProgram } from '../application.ts';

const SUITE = 'github.com/opencontainers/distribution-spec/conformance';

let suite = '';

/** Uploads in chunks to where a Location led, which the registry makes of the host that it was asked. */
export const dockerRegistry: Application = {
  name: 'docker-registry 2.8 (Distribution)',
  usedBy:
    '`skopeo copy` there, back and between repositories, `inspect`, `list-tags`, `delete`; the conformance suite of OCI 1.1, test by test (some fail direct as well)',
  nginx: ['a layer of 5 MiB is refused: 413', /413/],
  fetch() {
    ensureInstalled({
      command: 'docker-registry',
      versionArgs: ['--version'],
      packages: ['docker-registry'],
    });
    ensureInstalled({ command: 'skopeo', versionArgs: ['--version'], packages: ['skopeo'] });
    suite = buildGo(join(import.meta.dirname, '../conformance'), SUITE);
  },
  async start(folder) {
    const port = await freePort();
    const config = {
      version: '0.1',
      log: { level: 'error', accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: join(folder, 'data') }, delete: { enabled: true } },
      http: { addr: `127.0.0.1:${port}` },
    };
    await writeFile(join(folder, 'registry.yml'), JSON.stringify(config));
    await writeImage(join(folder, 'image'));
    return startProgram(folder, port, 'docker-registry', 'serve', 'registry.yml');
  },
  async use(url, folder, name) {
    const host = url.replace('http://', '');
    const seen: string[] = [];
    const skopeo = async (...args: string[]) =>
      void seen.push(await run(folder, 'skopeo', '--insecure-policy', ...args));
    const at = `docker://${host}/${name}`;
    const [from, to] = ['--src-tls-verify=false', '--dest-tls-verify=false'];
    await skopeo('copy', to, 'oci:image:one', `${at}/a:one`);
    await skopeo('copy', from, to, `${at}/a:one`, `${at}/b/c:two`);
    await skopeo('copy', from, `${at}/b/c:two`, `oci:${name}-back:one`);
    await skopeo('inspect', '--tls-verify=false', `${at}/b/c:two`);
    await skopeo('list-tags', '--tls-verify=false', `${at}/a`);
    await skopeo('delete', '--tls-verify=false', `${at}/a:one`);
    const vars = { REGISTRY: host, TLS: 'disabled', REPO1: `${name}/d/e`, REPO2: `${name}/f` };
    const words = Object.entries(vars).map(([key, value]) => `OCI_${key}=${value}`);
    // It ends badly where a test fails: this registry does not know all of OCI 1.1.
    const results = await run(folder, 'env', ...words, 'sh', '-c', '"$1" || true', 'sh', suite);
    // What it pushes is drawn by chance, and so is the order of some tests.
    const lines = [...results.matchAll(/^ *OCI Conformance Test\/.*: \w+$/gm)];
    seen.push(...lines.map(([line]) => line.trim()).sort());
    return seen.join('\n').replaceAll(host, 'HOST').replaceAll(name, 'NAME');
  },
};

/** A folder with an image of one layer of 5 MiB. */
async function writeImage(folder: string): Promise<void> {
  await mkdir(join(folder, 'blobs/sha256'), { recursive: true });
  const blob = async (mediaType: string, bytes: Buffer) => {
    const sum = createHash('sha256').update(bytes).digest('hex');
    await writeFile(join(folder, 'blobs/sha256', sum), bytes);
    return {
      mediaType: `application/vnd.oci.image.${mediaType}`,
      digest: `sha256:${sum}`,
      size: bytes.length,
    };
  };
  const json = (value: object) => Buffer.from(JSON.stringify(value));
  const layer = await blob('layer.v1.tar', new Random(1).bytes(5 * 1024 ** 2));
  const rootfs = { type: 'layers', diff_ids: [layer.digest] };
  const config = await blob('config.v1+json', json({ architecture: 'amd64', os: 'linux', rootfs }));
  const head = { schemaVersion: 2, mediaType: 'application/vnd.oci.image.manifest.v1+json' };
  const manifest = await blob('manifest.v1+json', json({ ...head, config, layers: [layer] }));
  const annotations = { 'org.opencontainers.image.ref.name': 'one' };
  await writeFile(join(folder, 'oci-layout'), json({ imageLayoutVersion: '1.0.0' }));
  await writeFile(
    join(folder, 'index.json'),
    json({ schemaVersion: 2, manifests: [{ ...manifest, annotations }] }),
  );
}
