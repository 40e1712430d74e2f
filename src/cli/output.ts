import { type Diagnostic, formatDiagnostic, type Snapshot, signInProvider } from '../config/index.ts';
import type { ExplainedRow } from '../explain/index.ts';
import { type CommandOutput, ExitCode } from './command.ts';

export function asJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

export function asLines(diagnostics: readonly Diagnostic[]): string {
  return diagnostics.map(diagnostic => `${formatDiagnostic(diagnostic)}\n`).join('');
}

/** Reports why a configuration cannot be used. Returns the exit code. */
export function reportErrors({ err }: CommandOutput, diagnostics: readonly Diagnostic[]): number {
  err(asLines(diagnostics));
  return ExitCode.configuration;
}

/** Formats rows as two columns. Shows a repeated label once. */
export function formatRows(rows: readonly ExplainedRow[]): string {
  const width = Math.max(...rows.map(([label]) => label.length));
  let before = '';
  const lines = rows.map(([label, text]) => {
    const shown = label === before ? '' : label;
    before = label;
    return `  ${shown.padEnd(width)}  ${text}\n`;
  });
  return lines.join('');
}

/** Shown by `weir check` and at startup if the gateway only verifies tokens: `redirect_uri` may have been forgotten. */
export const SIGN_IN_OFF = 'sign-in is off: no redirect_uri';

export function isSignInOff({ identity }: Snapshot): boolean {
  return identity !== null && identity.providers.length > 0 && signInProvider(identity) === null;
}
