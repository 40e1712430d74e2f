import type { World } from '../world.ts';

/** Judges a world that has ended. Says what is wrong by `world.wrong`. */
export type Oracle = (world: World) => void;
