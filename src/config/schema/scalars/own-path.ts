import { routePath } from './patterns.ts';

/** The path of an endpoint that the gateway serves itself: one path, not a pattern. */
export function ownPath() {
  return routePath().refine(path => !/[{*]/.test(path), {
    error: 'an endpoint has one path: write it without {parameters} and **',
  });
}
