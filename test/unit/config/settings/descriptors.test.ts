import { describe, expect, it } from 'vitest';
import { descriptorsInWords, exceedsDescriptors, loadConfig } from '../../../../src/config/index.ts';
import { fitDescriptors } from '../../../../src/config/settings/index.ts';
import { diagnosticsOf, NEEDED, ROOMY } from '../../../support/config-text.ts';
import { tempText } from '../../../support/temp.ts';

const CAPS = { connections: 20_000, requests: 10_000, webSockets: 0 };

describe('caps and file descriptors', () => {
  it('stay as they are without a limit, or with a high one', () => {
    for (const limit of [Infinity, 65_536]) {
      const fitted = fitDescriptors(CAPS, 1, limit);
      expect(fitted).toMatchObject({ connections: 20_000, requests: 10_000 });
      expect(exceedsDescriptors(fitted)).toBe(false);
    }
    expect(fitDescriptors(CAPS, 1, Infinity)).toMatchObject({ limit: null, refusedConnections: 20_000 });
  });

  it.each([
    [220, 1],
    [220, 4],
    [1_024, 1],
    [4_096, 2],
    [20_000, 1],
  ])('leave what is kept back at a limit of %i with %i workers, whatever clients do', (limit, workers) => {
    for (const caps of [CAPS, { ...CAPS, webSockets: 10_000 }, { ...CAPS, requests: 50 }]) {
      const { connections, requests, refusedConnections, kept, needed } = fitDescriptors(
        caps,
        workers,
        limit,
      );
      const toServices = Math.min(requests, connections);
      expect(connections + refusedConnections + toServices + kept).toBeLessThanOrEqual(limit);
      expect(connections).toBeGreaterThan((limit - kept) * 0.44);
      expect(needed).toBeGreaterThan(caps.connections);
    }
  });

  it('leave connections what requests cannot take', () => {
    const fitted = fitDescriptors({ ...CAPS, requests: 100 }, 1, 4_096);
    expect(fitted).toMatchObject({ connections: 3_490, requests: 100 });
  });

  it('let one client in, however low the limit', () => {
    expect(fitDescriptors(CAPS, 1, 20)).toMatchObject({ connections: 1, requests: 1, refusedConnections: 1 });
  });

  it('are named with the limit', () => {
    expect(descriptorsInWords(fitDescriptors(CAPS, 1, 220))).toBe(
      '30119 of 220, so at most 50 connections and 51 requests at a time',
    );
    expect(descriptorsInWords(fitDescriptors(CAPS, 1, 65_536))).toBe('36650 of 65536');
    expect(descriptorsInWords(fitDescriptors(CAPS, 1, Infinity))).toMatch(/ of any number$/);
  });
});

describe('a configuration whose caps exceed the file descriptors', () => {
  const load = async (text: string, descriptorLimit: number) => {
    const path = await tempText('gateway.yaml', NEEDED + text);
    const loaded = await loadConfig(path, { env: {}, generation: 1, machine: { ...ROOMY, descriptorLimit } });
    if (!loaded.ok) throw new Error('invalid');
    return loaded;
  };

  it('is warned about at the number that is written, and serves as many as fit', async () => {
    const loaded = await load('caps: { connections: 30000 }\n', 20_000);
    expect(diagnosticsOf(loaded)).toEqual([
      expect.stringMatching(
        /^gateway\.yaml:3:22: warning: file descriptors with all caps full: 4\d{4} of 20000, so at most 8\d{3} connections and 8\d{3} requests at a time; raise the limit of the process \("ulimit -n", LimitNOFILE\) or lower the caps$/,
      ),
    ]);
    const { caps, descriptors, outline } = loaded.snapshot;
    expect(caps.connections).toBe(descriptors.connections);
    expect(caps.refusedConnections).toBe(descriptors.refusedConnections);
    const { gateway } = await outline.effective.read();
    expect(gateway).toMatchObject({ caps: { connections: 30_000 } });
  });

  it('is nothing to say where all numbers are defaults, and a warning where few connections are left', async () => {
    const defaults = await load('', 20_000);
    expect([...defaults.warnings, ...defaults.hints]).toEqual([]);
    expect(defaults.snapshot.caps.connections).toBeLessThan(10_000);
    expect((await load('', 1_024)).warnings).toMatchObject([{ line: null, severity: 'warning' }]);
  });

  it('counts WebSockets where a route serves them', async () => {
    const text = NEEDED.replace('none }', 'none, websocket: true }');
    const path = await tempText('gateway.yaml', text);
    const loaded = await loadConfig(path, { env: {}, generation: 1, machine: ROOMY });
    const plain = await load('', Infinity);
    expect(loaded.ok && loaded.snapshot.descriptors.needed).toBe(plain.snapshot.descriptors.needed + 10_000);
  });
});
