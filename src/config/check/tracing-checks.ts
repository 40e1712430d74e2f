import { missingSdk } from '../../observe/index.ts';
import { asMap, type ConfigFile, isMap } from '../file/index.ts';

/** Warns where spans cannot be exported from here. No error: the gateway may run elsewhere. */
export function checkSpanExport(file: ConfigFile): void {
  const path = ['tracing', 'export'];
  if (!isMap(asMap(asMap(file.value).tracing).export)) return;
  const missing = missingSdk();
  if (missing !== null) file.add(path, missing, { severity: 'warning' });
}
