import { asMap, type ConfigFile } from '../file/index.ts';
import { tokenRules } from '../schema/index.ts';

/** Checks the entries of `identity_providers` against each other and against access_tokens. */
export function checkProviders(file: ConfigFile): void {
  const { identity_providers: several, access_tokens: tokens } = asMap(file.value);
  const entries: readonly unknown[] = Array.isArray(several) ? several : [];
  checkUnique(file, entries, 'name');
  checkUnique(file, entries, 'issuer');
  checkSignIn(file, entries);
  checkClaims(file, entries);
  for (const key of Object.keys(tokenRules)) {
    if (asMap(tokens)[key] === undefined) continue;
    file.add(
      ['access_tokens', key],
      `"${key}" belongs to each provider: move it to the entries of identity_providers`,
      {
        about: 'key',
      },
    );
  }
}

/** A token is matched by its issuer to one provider, and a name means one. */
function checkUnique(file: ConfigFile, entries: readonly unknown[], key: 'name' | 'issuer'): void {
  const first = new Map<unknown, number>();
  for (const [index, entry] of entries.entries()) {
    const value = asMap(entry)[key];
    if (value === undefined) continue;
    const twin = first.get(value);
    if (twin === undefined) first.set(value, index);
    else {
      const { line } = file.place(['identity_providers', twin, key]);
      file.add(['identity_providers', index, key], `the provider in line ${line} has this ${key} already`);
    }
  }
}

/** The two anonymous endpoints have one provider behind them. */
function checkSignIn(file: ConfigFile, entries: readonly unknown[]): void {
  const [first, ...others] = [...entries.keys()].filter(
    index => asMap(entries[index]).redirect_uri !== undefined,
  );
  for (const index of others) {
    const { line } = file.place(['identity_providers', first ?? 0, 'redirect_uri'], 'key');
    const message = `users sign in at the provider of line ${line} already: only one may have "redirect_uri"`;
    file.add(['identity_providers', index, 'redirect_uri'], message, { about: 'key' });
  }
}

/** limits.yaml lists callers by their claims, and by `provider`. */
function checkClaims(file: ConfigFile, entries: readonly unknown[]): void {
  for (const [index, entry] of entries.entries()) {
    const { principal, bots } = asMap(entry);
    const add = (path: readonly string[], list: unknown) => {
      const at = Array.isArray(list) ? list.indexOf('provider') : -1;
      if (at === -1) return;
      const message =
        'in limits.yaml "provider" names the provider: no caller can be identified by this claim';
      file.add(['identity_providers', index, ...path, at], message);
    };
    add(['principal'], principal);
    add(['bots', 'principal'], asMap(bots).principal);
  }
}
