import { type Diagnostic, formatDiagnostic, type LoadedConfig } from '../config/index.ts';
import type { ReloadListener } from '../core/index.ts';
import type { Generations } from '../runtime/index.ts';

/** Reports what the watcher finds, and hands valid configurations to the generations. Keeps nothing that was loaded: it is large. */
export function reloadSink(generations: Generations, reloads: ReloadListener) {
  return {
    take: (loaded: LoadedConfig) => {
      reloads.warned(loaded.warnings.map(formatDiagnostic));
      generations.take(loaded.snapshot);
    },
    refuse: (errors: readonly Diagnostic[]) => reloads.refused(worstFirst(errors).map(formatDiagnostic)),
    unchanged: () => reloads.unchanged(),
    unwatched: (cause: unknown) => reloads.unwatched(cause),
  };
}

/** The status page shows the first one alone, which has to be what refuses the files. */
function worstFirst(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const isError = ({ severity }: Diagnostic) => severity === 'error';
  return [...diagnostics.filter(isError), ...diagnostics.filter(diagnostic => !isError(diagnostic))];
}
