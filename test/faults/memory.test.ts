import { onTestFinished, test } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { MemoryGroup } from '../support/memory-group.ts';
import { Account } from './account.ts';
import { expectAtRest, seenBy, underFault, waitFor } from './fault.ts';
import { front } from './front.ts';
import { Load } from './load.ts';
import { frontOf, startService } from './service.ts';
import { tell } from './table.ts';

const MIB = 1_048_576;

function newGroup(): MemoryGroup {
  const group = new MemoryGroup(512 * MIB);
  onTestFinished(() => waitFor('its processes are gone', () => group.remove()));
  return group;
}

/** Starts a gateway again whenever it has died, as a supervisor does. */
class Supervisor {
  gateway: GatewayProcess | null = null;
  readonly #start: () => Promise<GatewayProcess>;
  readonly #started: (port: number) => void;
  readonly #stop = () => {
    this.#stopped = true;
  };
  #stopped = false;

  constructor(start: () => Promise<GatewayProcess>, started: (port: number) => void) {
    this.#start = start;
    this.#started = started;
    onTestFinished(this.#stop);
  }

  async run(): Promise<void> {
    while (!this.#stopped) {
      this.gateway = await this.#start().catch(() => null);
      if (this.gateway === null) continue;
      // Comes before its gateway is killed, which is not to be replaced.
      onTestFinished(this.#stop);
      this.#started(this.gateway.port);
      await this.gateway.exit;
    }
  }

  get isUp(): boolean {
    return this.gateway?.running === true;
  }
}

test('The heap may hold 48 MiB', async () => {
  const { gateway, load } = await front(
    { before: 'export NODE_OPTIONS=--max-old-space-size=48' },
    { http1: 30, http2: 10 },
  );
  await load.passes(2_000);
  const until = load.account.firstOpen;
  await expectAtRest(load, [gateway]);
  tell('The heap may hold 48 MiB', seenBy(load, 0, until));
});

test('The cgroup has 4 MiB left, and ten times as many clients come', async context => {
  let group: MemoryGroup;
  try {
    group = newGroup();
  } catch (error) {
    context.skip(`no limit of memory can be set here: ${error}`);
    return;
  }
  const account = new Account();
  const config = { ...frontOf([await startService(account)]), log: { level: 'info', access: false } };
  const before = group.joinCommand;
  const ports: number[][] = [];
  const supervisor = new Supervisor(
    () => startGatewayProcess({ upstreamPort: 0, config }, { h2c: true, before }),
    port => {
      for (const each of ports) each.splice(0, 1, port);
    },
  );
  void supervisor.run();
  await waitFor('the gateway is up', () => supervisor.isUp);
  const load = new Load(account, [supervisor.gateway?.port ?? 0]);
  ports.push(load.ports);
  const mayEnd = ['broken', 'cut', 'unconnected', '502', '503', 'UNAVAILABLE'] as const;
  const seen = await underFault(load, {
    begin: () => group.limit(group.usedBytes + 4 * MIB),
    async meanwhile() {
      const others = new Load(account, load.ports, { http1: 100, http2: 30, webSockets: 30 });
      ports.push(others.ports);
      await load.passes(3_000);
      await others.stop();
    },
    end: () => group.limit(1_024 * MIB),
    isHealed: () => supervisor.isUp,
    mayEnd,
  });
  await expectAtRest(load, supervisor.gateway === null ? [] : [supervisor.gateway]);
  tell('The cgroup has 4 MiB left, and ten times as many clients come', seen, mayEnd);
});
