import { lookup } from 'node:dns';
import { type FSWatcher, watch } from 'node:fs';
import { lstat, open, readdir, readlink, stat } from 'node:fs/promises';
import { createServer as createHttpServer, type Server as HttpServer, type RequestListener } from 'node:http';
import {
  connect,
  createServer,
  type LookupFunction,
  type Server,
  type ServerOpts,
  type Socket,
  type TcpNetConnectOpts,
} from 'node:net';
import { type ConnectionOptions, connect as secureConnect, type TLSSocket } from 'node:tls';
import { systemClock, type TimerClock } from './clock.ts';
import { type Random, systemRandom } from './random.ts';

/**
 * The world of a gateway: all that it hears, sees and waits for comes from here. Handed in, so that a test can put another world
 * in its place: the linter keeps other rooms from reaching for Node's own.
 */
export interface System {
  readonly clock: TimerClock;
  readonly random: Random;
  readonly network: Network;
  readonly files: Files;
}

/** Makes sockets. */
export interface Network {
  connect(options: TcpNetConnectOpts): Socket;
  /** Connects by TLS. */
  secureConnect(options: ConnectionOptions): TLSSocket;
  /** Finds the addresses of a name. To be given to `connect` and `secureConnect`. */
  readonly lookup: LookupFunction;
  /** Makes a server, which listens when it is asked to. */
  createServer(options: ServerOpts, onSocket: (socket: Socket) => void): Server;
  /** Makes a server that speaks HTTP/1.1. */
  createHttpServer(onRequest: RequestListener): HttpServer;
}

/** Reads and watches files, with the errors of Node. */
export interface Files {
  open(path: string): Promise<OpenFile>;
  /** Lists the names in a folder. */
  readdir(folder: string): Promise<string[]>;
  stat(path: string): Promise<FileStat>;
  /** The same, of a symbolic link itself. */
  lstat(path: string): Promise<FileStat>;
  /** Reads where a symbolic link points. */
  readlink(path: string): Promise<string>;
  /** Emits `change` with the name of an entry of this folder. Does not keep the process running. */
  watch(folder: string): FSWatcher;
}

/** A file that can be read. */
export interface OpenFile {
  stat(): Promise<FileStat>;
  /** Reads on from where the last read ended. No bytes: the file ends there. */
  read(into: Buffer, offset: number, length: number, position: null): Promise<{ readonly bytesRead: number }>;
  close(): Promise<void>;
}

export interface FileStat {
  readonly dev: number;
  readonly ino: number;
  readonly birthtimeMs: number;
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

/** The machine that this process runs on. */
export const thisMachine: System = {
  clock: systemClock,
  random: systemRandom,
  network: { connect, secureConnect, lookup, createServer, createHttpServer },
  files: {
    open: path => open(path),
    readdir: folder => readdir(folder),
    stat: path => stat(path),
    lstat: path => lstat(path),
    readlink: path => readlink(path),
    watch: folder => watch(folder, { persistent: false }),
  },
};
