import { ExitCode } from './exit-code.ts';

type StopSignal = 'SIGINT' | 'SIGTERM';

/**
 * Resolves to the first SIGINT or SIGTERM from now on. A second one ends the process at once: whoever sends it does not
 * want to wait.
 *
 * @param beforeExit what still has to be done then; it must not take long.
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
