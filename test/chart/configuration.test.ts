import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type LoadResult, loadConfig } from '../../src/config/index.ts';
import { tempFolder } from '../support/temp.ts';
import { Rendered, VALUES_FILES } from './chart.ts';

/** Loads the files as the gateway in the pod would, which mounts both ConfigMaps in one folder. */
async function loaded(rendered: Rendered, env = {}): Promise<LoadResult> {
  const folder = join(await tempFolder(), 'weir');
  await mkdir(folder);
  const files = rendered.all('ConfigMap').flatMap(map => Object.entries(Object(map.at('data'))));
  for (const [name, text] of files) await writeFile(join(folder, name), String(text));
  return loadConfig(join(folder, 'gateway.yaml'), { env, generation: 1 });
}

describe('the configuration of the pods', () => {
  it.each(VALUES_FILES)('has no errors but files of Secrets that are not here: ci/%s', async file => {
    const result = await loaded(await Rendered.of({}, { file }), { REDIS_PASSWORD: 'secret' });
    const errors = result.ok ? [] : result.diagnostics.filter(({ severity }) => severity === 'error');
    expect(errors.filter(({ message }) => !/cannot read|does not exist|no such file/i.test(message))).toEqual(
      [],
    );
  });

  it('survives YAML 1.1, in which off is false', async () => {
    const result = await loaded(
      await Rendered.of(
        'config: { cors: off, listen: { redirect: off, grpc: off } }\nlimits: { global: off }',
      ),
    );
    expect(result).toMatchObject({ ok: true });
  });

  it('keeps large numbers, texts that look like others, and variables', async () => {
    const rendered = await Rendered.of({
      config: {
        caps: { limit_keys: 2_000_000, connections_per_address: 1_000_000 },
        log: { level: `\${LEVEL}` },
      },
      limits: { never_restrict: ['1.2.3.4'], keys_per_caller: 100_000 },
    });
    const result = await loaded(rendered, { LEVEL: 'warn' });
    expect(result).toMatchObject({
      ok: true,
      snapshot: { caps: { limitKeys: 2_000_000, connectionsPerAddress: 1_000_000 } },
    });
  });

  it('says not ready for 5 s, warms up and listens for probes, unless the values say otherwise', async () => {
    const byDefault = await loaded(await Rendered.of({}));
    expect(byDefault).toMatchObject({
      ok: true,
      snapshot: {
        listen: { admin: { address: { host: '::', port: 9090 } } },
        shutdown: { delayMs: 5000 },
        warmUpMs: 500,
      },
    });
    const config = { listen: { admin: '0.0.0.0:9000' }, shutdown: { delay: '0s' }, warm_up: '1s' };
    expect(await loaded(await Rendered.of({ config }))).toMatchObject({
      ok: true,
      snapshot: { listen: { admin: { address: { port: 9000 } } }, shutdown: { delayMs: 0 }, warmUpMs: 1_000 },
    });
  });
});
