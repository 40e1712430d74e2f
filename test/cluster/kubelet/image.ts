import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundle } from '../../../scripts/bundle.ts';

/** What the pod runner takes for an image: what its Dockerfile says, and folders of this machine in place of layers. */
export interface Image {
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly user: number;
  readonly environment: Readonly<Record<string, string>>;
  /** Paths of this machine by where the container sees them, all read-only. */
  readonly files: ReadonlyMap<string, string>;
}

const ROOT = resolve(import.meta.dirname, '../../..');

/** Where the bundle of the sources goes. */
const BUNDLED = join(ROOT, 'node_modules/.cache/weir-image');

/** Runs before the tests: bundles the sources, as the Dockerfile does. */
export default async function setup(): Promise<void> {
  await bundle(BUNDLED);
}

/**
 * Weir's image without an image: what the last stage of the Dockerfile and those below it say, with the bundle, the packages and
 * the Node of this machine in their places, and no shell.
 */
export function weirImage(): Image {
  const text = lastStage(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'));
  const said = (pattern: RegExp): string => {
    const found = pattern.exec(text)?.[1];
    if (found === undefined) throw new Error(`the Dockerfile says nothing like ${pattern}`);
    return found;
  };
  const home = said(/^WORKDIR (\S+)$/m);
  const variables = [...text.matchAll(/^ENV (.*)$/gm)].flatMap(([, pairs = '']) => pairs.split(' '));
  return {
    entrypoint: JSON.parse(said(/^ENTRYPOINT (\[.*\])$/m)),
    cmd: JSON.parse(said(/^CMD (\[.*\])$/m)),
    user: Number(said(/^USER (\d+):\d+$/m)),
    environment: Object.fromEntries(variables.map(pair => pair.split(/=(.*)/s).slice(0, 2))),
    files: new Map([
      ['/usr/local/bin/node', process.execPath],
      [`${home}/dist`, BUNDLED],
      [`${home}/package.json`, join(ROOT, 'package.json')],
      [`${home}/node_modules`, join(ROOT, 'node_modules')],
      // What Node is linked against.
      ...['/lib', '/lib64', '/usr/lib'].filter(existsSync).map(path => [path, path] as const),
    ]),
  };
}

/** The text of the last stage of a Dockerfile, behind those of the stages that it stands on. */
function lastStage(dockerfile: string): string {
  const stages = dockerfile.split(/^FROM /m).slice(1);
  const textOf = (stage: string): string => {
    const base = stage.slice(0, stage.search(/\s/));
    const below = stages.find(each => /^\S+ AS (\S+)$/m.exec(each)?.[1] === base);
    return (below === undefined ? '' : textOf(below)) + stage;
  };
  return textOf(stages.at(-1) ?? '');
}
