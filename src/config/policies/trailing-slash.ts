import { compareNeutral } from '../difference.ts';
import { choice } from '../values/index.ts';
import { routePolicy } from './policy.ts';

export const trailingSlash = routePolicy({
  keys: {
    trailing_slash: choice(['ignore', 'redirect']).describe(
      'What a slash at the end of a path means. ignore: nothing. redirect: GET and HEAD without the slash that the path of this route has, or with one that it lacks, get a 308 to the other.',
    ),
  },
  pathOnly: ['trailing_slash'],
  ruledOut: { trailing_slash: ({ route }) => /\*\*$|^\/$/.test(String(route.path)) },
  compile: ({ trailing_slash }, { id }): { readonly endsWithSlash: boolean | null } => ({
    /** Whether paths of GET and HEAD end with a slash; `null` if a slash makes no difference. */
    endsWithSlash: trailing_slash === 'ignore' ? null : id.endsWith('/'),
  }),
  check(route) {
    const { trailing_slash: slash, path } = route.raw;
    if (slash !== 'redirect' || typeof path !== 'string') return;
    if (path === '/') route.add('trailing_slash', 'this path has no other form: leave it out');
    else if (path.endsWith('**'))
      route.add('trailing_slash', '"**" takes paths with and without a slash: leave it out');
  },
  describe: ({ endsWithSlash: ends }) => ({
    'trailing slash':
      ends === null ? null : `GET and HEAD ${ends ? 'without' : 'with'} one get 308 to the other path`,
  }),
  compare: (now, before) =>
    compareNeutral('trailing_slash', inWords(now.endsWithSlash), inWords(before.endsWithSlash)),
});

function inWords(endsWithSlash: boolean | null): string {
  return endsWithSlash === null ? 'ignore' : 'redirect';
}
