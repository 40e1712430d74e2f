import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import {
  type DemoProvider,
  type DemoProviderOptions,
  newKey,
  startProvider,
} from '../../src/cli/demo/provider/demo-provider.ts';

/** The first keys of all providers in this process, which are expensive to make. */
const keys: ReturnType<typeof newKey>[] = [];

/** Starts the provider of the demo. The end of the running test closes it. */
export async function startDemoProvider(options: DemoProviderOptions = {}): Promise<DemoProvider> {
  let made = 0;
  const makeKey = () => {
    const key = keys[made] ?? newKey();
    keys[made++] = key;
    return { ...key, kid: randomUUID() };
  };
  const provider = await startProvider({ ...options, makeKey });
  onTestFinished(() => provider.close());
  return provider;
}
