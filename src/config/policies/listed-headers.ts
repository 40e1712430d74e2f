import { ForwardingRules } from '../../wire/http/index.ts';
import { asMap, type ConfigFile, textsIn } from '../file/index.ts';

/** The rules for header fields that apply in every configuration. */
export const RULES_BY_DEFAULT = new ForwardingRules({ own: ['via'] }).table;

/** The names under `forwarding_headers` as written, since validation may have failed elsewhere. */
export function listedHeaders(file: ConfigFile) {
  const value = asMap(file.value).forwarding_headers;
  if (Array.isArray(value)) return { remove: textsIn(value), keep: [], send: [] };
  const { remove, keep, send } = asMap(value);
  return { remove: textsIn(remove), keep: textsIn(keep), send: textsIn(send) };
}
