import { formatDuration, type Steps } from '../../core/index.ts';
import { ByClass } from '../../limits/index.ts';
import type { KeptModels } from '../kept-parts.ts';
import { compileLimits, readLines } from '../limits/index.ts';
import type { DefaultLimit, LimitsModel } from '../model/index.ts';
import { text } from '../values/index.ts';
import { claimsOf } from './callers.ts';
import { identity } from './identity.ts';
import { setting } from './setting.ts';

/** `limits`: the file with the rate limits; `null` for the defaults. limits/ has what the file says. */
export const limits = setting({
  keys: {
    limits: text('expected the word none, or the path of a file such as limits.yaml')
      .transform(path => (path === 'none' ? null : path))
      .prefault('none')
      .describe(
        'The file with the rate limits, limits.yaml, or a folder whose *.yaml files are read as one; relative to this file. none: the defaults.',
      ),
  },
  meaning: 'byLimit',
  *compile(_, { limits, written, before, namedGlobals }): Steps<LimitsPart> {
    const keptLines = yield* readLines(limits.routes, before?.keptLines);
    const claims = claimsOf(written(identity));
    const compiled = yield* compileLimits(limits, keptLines.part, claims, before?.keptLimits);
    return {
      limits: compiled.model,
      keptLines,
      keptLimits: compiled.kept,
      defaultLimits: defaultLimitsOf(compiled.model, namedGlobals),
    };
  },
  needsRestart: [
    {
      key: 'ipv6_prefix',
      value: ({ limits }) => limits.writtenKeying.ipv6Prefix,
      written: ({ limits }) => `${limits.writtenKeying.ipv6Prefix}`,
    },
    {
      key: 'nat64_prefixes',
      value: ({ limits }) => prefixesIn(limits).toSorted(),
      written: ({ limits }) => prefixesIn(limits).join(', ') || 'none',
    },
  ],
});

interface LimitsPart extends Pick<KeptModels, 'keptLines' | 'keptLimits'> {
  readonly limits: LimitsModel;
  /** The global limits that no limits file names; `null` where one does, or there is no limit. */
  readonly defaultLimits: ByClass<DefaultLimit | null>;
}

function prefixesIn({ writtenKeying: { translators } }: LimitsModel): string[] {
  return translators.map(({ text }) => text);
}

/**
 * The global limits that no limits file names, by class. A class of gateway.yaml without a number of its own has that of users.
 *
 * @param named the keys that a limits file has under `global`, and those under its `classes`
 */
function defaultLimitsOf(
  { global }: Pick<LimitsModel, 'global'>,
  named: readonly string[],
): ByClass<DefaultLimit | null> {
  return new ByClass(global.names, name => {
    const { global: limit } = global.of(name);
    if (limit === null || named.includes(name)) return null;
    return { key: name, quota: `${limit.units}/${formatDuration(limit.periodMs)}` };
  });
}
