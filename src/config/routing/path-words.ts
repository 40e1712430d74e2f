import { atOnce, type Steps } from '../../core/index.ts';
import type { RoutePattern } from './table.ts';
import { EVERY_HOST, foldSegment, isGrpcPattern, wildcardOf, withoutParameters } from './table.ts';

/** Maximum segments that are examined. The rest counts as one, so that a long path costs no more. */
const MAX_SEGMENTS = 16;
/** Matches a segment that needs no escape. */
const PLAIN = /^[A-Za-z0-9\-._~!$&'()+,=:@]*$/;

/** The literals for each position in a path: from the form used for comparison to the written one. */
type Words = Map<string, string>[];

/**
 * Distinguishes words of a path that the configuration names, as literals of its patterns, from those chosen by clients. A word
 * counts only at its own position in the path. A client may choose the same word, which then reveals no more than the
 * configuration does.
 */
export class PathWords {
  readonly #http: Words = [];
  readonly #grpc: Words = [];

  constructor(patterns: Iterable<RoutePattern>) {
    atOnce(this.#read(patterns));
  }

  static *inSteps(patterns: Iterable<RoutePattern>): Steps<PathWords> {
    const words = new PathWords([]);
    yield* words.#read(patterns);
    return words;
  }

  *#read(patterns: Iterable<RoutePattern>): Steps<void> {
    for (const pattern of patterns) {
      const words = isGrpcPattern(pattern) ? this.#grpc : this.#http;
      pattern.segments.forEach((segment, place) => {
        words[place] ??= new Map();
        if (segment.kind === 'literal')
          words[place].set(
            segment.folded,
            PLAIN.test(segment.folded) ? segment.folded : encodeURIComponent(segment.folded),
          );
      });
      yield;
    }
  }

  /** Writes a canonical path with its configured words unchanged, and `{name}` for each other segment. */
  rewrite(path: string, isCall: boolean, name: (segment: string) => string): string {
    const words = isCall ? this.#grpc : this.#http;
    let written = '';
    let start = 1;
    for (let place = 0; start <= path.length; place++) {
      const slash = place === MAX_SEGMENTS ? -1 : path.indexOf('/', start);
      const segment = path.slice(start, slash === -1 ? path.length : slash);
      const word = segment === '' ? '' : words[place]?.get(isCall ? segment : foldedForm(segment));
      written += `/${word ?? `{${name(segment)}}`}`;
      if (slash === -1) break;
      start = slash + 1;
    }
    return written;
  }
}

function foldedForm(segment: string): string {
  return foldSegment(withoutParameters(segment)) ?? '';
}

/** Distinguishes hosts that the configuration names from those that only clients write. */
export class HostNames {
  readonly #names: ReadonlySet<string>;

  private constructor(names: ReadonlySet<string>) {
    this.#names = names;
  }

  /** The hosts that these patterns name; `null` if they name none. */
  static in(entries: Iterable<{ readonly pattern: RoutePattern }>): HostNames | null {
    const names = new Set<string>();
    for (const { pattern } of entries)
      if (pattern.host !== null && pattern.host !== EVERY_HOST) names.add(pattern.host);
    return names.size === 0 ? null : new HostNames(names);
  }

  /** Returns the host itself if a pattern names it, or else the wildcard that matches it; `null` if there is none. */
  nameOf(host: string): string | null {
    if (this.#names.has(host)) return host;
    const wildcard = wildcardOf(host);
    return wildcard !== null && this.#names.has(wildcard) ? wildcard : null;
  }
}
