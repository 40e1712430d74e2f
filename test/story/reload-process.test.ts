import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { changeConfig, refusals, serves } from '../support/edit-config.ts';
import { startGateway } from '../support/gateway.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { head } from '../support/requests.ts';
import { dear } from '../support/runs.ts';
import { waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';

async function running(config = {}): Promise<GatewayProcess> {
  const upstream = await startUpstream();
  return startGatewayProcess({
    upstreamPort: upstream.port,
    config: { log: { level: 'info', access: false }, ...config },
  });
}

function logged(gateway: GatewayProcess, message: string): Promise<void> {
  return waitFor(`the log says "${message}"`, () => gateway.output.includes(`"msg":"${message}`));
}

describe('weir serve', () => {
  it('reads its files again on SIGHUP, lives on after SIGUSR1 and SIGUSR2, and opens no debugger', async () => {
    const gateway = await running();
    gateway.signal('SIGHUP');
    await logged(gateway, 'the configuration is unchanged');
    await writeFile(gateway.configFile, 'upstreams: {}\nroutes: none\n');
    gateway.signal('SIGHUP');
    await logged(gateway, 'the new configuration has errors; the current one stays in use');
    // By these other servers open their logs again.
    for (const name of ['SIGUSR1', 'SIGUSR2'] as const) {
      gateway.signal(name);
      await waitFor(name, () =>
        gateway.output.includes(`"signal":"${name}","msg":"this signal does nothing`),
      );
    }
    expect((await gateway.ask(head('GET /a'))).status).toBe(200);
    expect(gateway.output).not.toContain('Debugger');
    gateway.signal('SIGTERM');
    expect(await gateway.exit).toBe(0);
  });

  dear('takes a SIGHUP that comes while it starts for one that comes then', async () => {
    const upstream = await startUpstream();
    // Begins to signal when the script of the command runs, and ends where `serve` waits to be stopped.
    const early = `
      const { enableCompileCache } = process.getBuiltinModule('module');
      process.getBuiltinModule('module').enableCompileCache = folder => {
        const signals = setInterval(() => process.kill(process.pid, 'SIGHUP'), 1);
        process.kill(process.pid, 'SIGHUP');
        process.on('newListener', name => name === 'SIGTERM' && clearInterval(signals));
        return enableCompileCache(folder);
      };`;
    const preload = `data:text/javascript,${encodeURIComponent(early)}`;
    const gateway = await startGatewayProcess(
      { upstreamPort: upstream.port, config: { log: { level: 'info', access: false } } },
      { before: `export NODE_OPTIONS="--import=${preload}"` },
    );
    await logged(gateway, 'the configuration is unchanged');
    expect((await gateway.ask(head('GET /a'))).status).toBe(200);
  });

  it('takes each swap of a folder that Kubernetes mounts', async () => {
    const gateway = await startGateway({ upstreamPort: (await startUpstream()).port });
    const folder = join(dirname(gateway.configFile), 'limits');
    const swap = async (version: number, units: number) => {
      await mkdir(join(folder, `..v${version}`), { recursive: true });
      await writeFile(join(folder, `..v${version}`, 'limits.yaml'), `global: { address: ${units}/10m }\n`);
      await symlink(`..v${version}`, join(folder, '..data_tmp'));
      await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    await swap(2, 1);
    await symlink('..data/limits.yaml', join(folder, 'limits.yaml'));
    await changeConfig(gateway, { limits: 'limits' });
    await serves(gateway, 2);
    expect([(await gateway.ask(head('GET /a'))).status, (await gateway.ask(head('GET /a'))).status]).toEqual([
      200, 429,
    ]);
    await swap(3, 3);
    await serves(gateway, 3);
    expect((await gateway.ask(head('GET /a'))).status).toBe(200);
    await swap(4, 5);
    await serves(gateway, 4);
    expect((await gateway.ask(head('GET /a'))).status).toBe(200);
  });
});

describe('the status', () => {
  it('is a page for people and JSON for programs', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port });
    const get = (path: string, accept: string) =>
      fetch(`http://127.0.0.1:${gateway.adminPort}${path}`, { headers: { accept } });
    const page = await get('/status', 'text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8');
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = page.headers.get('content-security-policy');
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; connect-src 'self';/,
    );
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(await page.text()).toContain('class="well">ready</p>');
    for (const [path, accept] of [
      ['/status', 'application/json'],
      ['/status.json', 'text/html'],
    ] as const) {
      const json = await get(path, accept);
      expect(json.headers.get('content-type')).toBe('application/json');
      expect(await json.json()).toMatchObject({
        notReady: null,
        configuration: { generation: 1, reload: 'watch', waiting: null, lastFailure: null },
        provider: null,
        store: { kind: 'memory', state: 'ok' },
        upstreams: [{ name: 'api', address: `127.0.0.1:${upstream.port}` }],
      });
    }
  });

  it('shows an error as written, without its becoming a part of the page', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port });
    await changeConfig(gateway, { '<script>alert(1)</script>': {} });
    await refusals(gateway, 1);
    const { text } = await gateway.admin('/status');
    expect(text).not.toContain('<script>alert');
    expect(text).toContain('unknown key &quot;&lt;script&gt;alert(1)&lt;/script&gt;&quot;');
    expect(text).toContain('class="ill">ready; the configuration files have errors</p>');
  });

  it('knows the hash of what runs, which a secret changes and does not give away', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port });
    const key = join(dirname(gateway.configFile), 'key');
    await writeFile(key, 'k'.repeat(40));
    await changeConfig(gateway, { log: { level: 'silent', access: false, pseudonym_key_file: key } });
    const first = (await serves(gateway, 2)).configuration.hash;
    await writeFile(key, 'l'.repeat(40));
    const second = (await serves(gateway, 3)).configuration.hash;
    expect(second.slice(0, 14)).toBe(first.slice(0, 14));
  });
});
