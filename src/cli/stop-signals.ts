import { ExitCode } from './exit-code.ts';

type StopSignal = 'SIGINT' | 'SIGTERM';

/**
 * Resolves to the first SIGINT or SIGTERM from now on. A second one ends the process immediately.
 *
 * @param beforeExit runs before that immediate exit; it must be quick.
 */
export function listenForStop(beforeExit: () => Promise<void>): Promise<StopSignal> {
  return new Promise(resolve => {
    let stopping = false;
    const onSignal = (signal: StopSignal) => {
      if (stopping) {
        const code = signal === 'SIGINT' ? ExitCode.interrupted : ExitCode.terminated;
        void beforeExit().finally(() => process.exit(code));
        return;
      }
      stopping = true;
      resolve(signal);
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}
