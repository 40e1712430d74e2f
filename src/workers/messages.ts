import type { ReportExtent, WorkerReport } from '../app/index.ts';
import type { ConfigBytes } from '../config/index.ts';
import type { Fact, Machine, MemoryHandover } from '../core/index.ts';
import type { IssuerState } from '../runtime/index.ts';
import type { BoundAddresses } from '../server/index.ts';
import type { CheckState, LookupAnswer, LookupQuestion } from '../upstream/index.ts';

/** A configuration on its way to a worker. */
export interface PlaneConfig {
  /** The path of gateway.yaml. */
  readonly path: string;
  /** The variables that it may name. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly generation: number;
  readonly bytes: ConfigBytes;
  /** What the process may use. */
  readonly machine: Machine;
}

/** What a worker is told when it is started. */
export interface PlaneSeed {
  /** Its number, from 1. The main thread is 0. */
  readonly worker: number;
  /** Names the process in Redis. */
  readonly replicaId: string;
  readonly config: PlaneConfig;
  readonly memory: MemoryHandover;
  /** The most keys with permits in its tables. */
  readonly permitKeys: number;
}

/** What threads tell each other, by the name of the message. Nobody answers. */
export interface Messages {
  /** To a worker: serve by the configuration of this number, which was prepared; or begin with it, if it is the first. */
  commit: number;
  /** To a worker: a prepared configuration will not be used. */
  discard: number;
  /** To a worker: the state of something that the main thread finds out for all. */
  state: ToldState;
  /** To a worker: the name of this key has been looked up. */
  lookedUp: string;
  /** To the main thread: whole lines of the log. */
  lines: LogLines;
  /** To the main thread: what a worker has counted, and how it is. */
  report: WorkerReport;
  /** To a worker: the main thread has taken this many bytes of its lines. */
  linesTaken: number;
  /** Either way: what one of the threads, or another process, has learnt. */
  facts: readonly Fact[];
  /** To the main thread: tell me all facts of this topic. */
  factsWanted: string;
  /** To the main thread: this fact is not needed any more, since others say more. */
  withdrawal: Pick<Fact, 'name' | 'value'>;
}

/** What the main thread finds out for all threads, by topic: a state for each key. */
export interface StateTopics {
  readonly issuers: IssuerState;
  readonly checks: CheckState;
}

export interface ToldState {
  readonly topic: keyof StateTopics;
  readonly key: string;
  /** `null` if it has ended. */
  readonly state: StateTopics[keyof StateTopics] | null;
}

/** Lines of the log. */
export interface LogLines {
  readonly text: string;
  readonly count: number;
  /** Lines before these that were dropped. */
  readonly dropped: number;
}

/** What threads ask each other: what they hand over, and what the answer is. */
export interface Questions {
  /** Answered once the code of the worker is loaded. */
  load: { readonly asked: null; readonly answer: null };
  /** Makes the gateway of the seed. */
  open: { readonly asked: null; readonly answer: null };
  /** Begins to listen there, together with the others. Answers with the actual ports. */
  listen: { readonly asked: BoundAddresses; readonly answer: BoundAddresses };
  /** Compiles a configuration, to serve by it when told. */
  prepare: { readonly asked: PlaneConfig; readonly answer: null };
  /** Tells what it has counted, and so much of how it is. */
  report: { readonly asked: ReportExtent; readonly answer: WorkerReport };
  /** Stops serving, as the configuration says. Answers whether all requests were finished. */
  drain: { readonly asked: null; readonly answer: boolean };
  /** To a worker: answered once it knows all that it was told before. To the main thread: once all other workers do. */
  factsKnown: { readonly asked: null; readonly answer: null };
  /** To the main thread: whether nobody has claimed this name in that time. */
  claim: { readonly asked: Pick<Fact, 'name' | 'forMs'>; readonly answer: boolean };
  /** To the main thread: look this name up, unless that was done lately. */
  lookUp: { readonly asked: LookupQuestion; readonly answer: LookupAnswer };
  /** To the main thread: fetch the keys of this provider, unless they are cooling down. Answers whether a new set came. */
  refreshKeys: { readonly asked: string; readonly answer: boolean };
}
