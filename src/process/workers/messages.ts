import type { ConfigData } from '../../config/index.ts';
import type { MemoryHandover } from '../../core/index.ts';
import type { BoundAddresses } from '../../edge/server/index.ts';
import type { ReportExtent, WorkerReport } from '../app/index.ts';

export interface PlaneConfig {
  readonly generation: number;
  readonly data: ConfigData;
}

export interface PlaneSeed {
  /** Its number, from 1. The main thread is 0. */
  readonly worker: number;
  /** Identifies the process: `ProcessPart.id`. */
  readonly id: string;
  readonly memory: MemoryHandover;
  /** Maximum keys with permits in its tables. */
  readonly permitKeys: number;
}

/** The messages between threads, by name. They are not answered. */
export interface Messages {
  /** To a worker: use the prepared configuration with this number, or start with it if it is the first. */
  commit: number;
  /** To a worker: a prepared configuration will not be used. */
  discard: number;
  /** To the main thread: complete log lines. */
  lines: LogLines;
  /** To the main thread: what a worker has counted, and its state. */
  report: WorkerReport;
  /** To a worker: the main thread has taken this many bytes of its lines. */
  linesTaken: number;
  /** To the main thread: tell me all that is known about this topic. */
  wanted: string;
  /** To the main thread: what a worker posts under a topic. */
  posted: { readonly topic: string; readonly item: unknown };
  /** To a worker: what others have posted under a topic. */
  told: { readonly topic: string; readonly items: readonly unknown[] };
  /** To the main thread: this fact has been superseded. */
  withdrawn: { readonly topic: string; readonly name: string; readonly value: number };
}

export interface LogLines {
  readonly text: string;
  readonly count: number;
  readonly dropped: number;
}

/** The questions between threads: their parameters and answers. */
export interface Questions {
  /** Answered once the code of the worker is loaded. */
  load: { readonly asked: null; readonly answer: null };
  /** Creates the gateway, with this configuration. */
  open: { readonly asked: PlaneConfig; readonly answer: null };
  /** Starts listening there, together with the others. Answers with the actual ports. */
  listen: { readonly asked: BoundAddresses; readonly answer: BoundAddresses };
  /** Compiles a configuration in slices, to be used on `commit`. */
  prepare: { readonly asked: PlaneConfig; readonly answer: null };
  /** Reports what it has counted, and this much of its state. */
  report: { readonly asked: ReportExtent; readonly answer: WorkerReport };
  /** Stops serving, as configured. Answers whether all requests were finished. */
  drain: { readonly asked: null; readonly answer: boolean };
  /** To a worker: answered once it knows everything sent to it before. To the main thread: once all other workers do. */
  known: { readonly asked: null; readonly answer: null };
  /** To the main thread: what `ProcessPart.question` asks. */
  question: { readonly asked: { readonly name: string; readonly asked: unknown }; readonly answer: unknown };
}
