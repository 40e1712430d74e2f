import { readdirSync, readFileSync } from 'node:fs';

// What the kernel reports about a server: its process and all descendants, such as nginx workers. Linux only.

/** The kernel counts the time of /proc/PID/stat in hundredths of a second (`USER_HZ`), on every architecture of ours. */
const MICROSECONDS_PER_TICK = 10_000;
const KIB_PER_MIB = 1024;

/**
 * Microseconds of processor time, user and system, used up so far by the server with all its threads and processes, those that have
 * ended included: a reload of nginx or HAProxy replaces the workers.
 */
export function cpuMicroseconds(pid: number): number {
  return sumOf(family(pid), member => processorTime(`${member}`) + timeOfEnded(member));
}

/** Microseconds of the children that a process has waited for, and of theirs. */
function timeOfEnded(pid: number): number {
  const fields = statFields(`${pid}`);
  return (Number(fields[13]) + Number(fields[14])) * MICROSECONDS_PER_TICK;
}

/** The threads of the server that have used the most processor time so far. */
export function busiestThreads(pid: number, count: number): number[] {
  const timeOf = (task: string) => attempt(() => processorTime(task)) ?? 0;
  const threads = family(pid).flatMap(member => {
    const names = attempt(() => readdirSync(`/proc/${member}/task`)) ?? [];
    return names.map(name => ({ id: Number(name), time: timeOf(`${member}/task/${name}`) }));
  });
  return threads
    .toSorted((one, other) => other.time - one.time)
    .slice(0, count)
    .map(({ id }) => id);
}

/** Memory in use by the server now, MiB. Memory shared between processes counts once per process. */
export function residentMebibytes(pid: number): number {
  return sumOf(family(pid), member => statusLine(member, 'VmRSS') / KIB_PER_MIB);
}

/** The highest memory use since the start, MiB. */
export function peakMebibytes(pid: number): number {
  return sumOf(family(pid), member => statusLine(member, 'VmHWM') / KIB_PER_MIB);
}

/** The process itself and its descendants. */
export function family(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = attempt(() => Number(statFields(name)[1]));
    if (parent !== null) parents.set(Number(name), parent);
  }
  const members = [pid];
  for (const member of members)
    for (const [child, parent] of parents) if (parent === member) members.push(child);
  return members;
}

/** Microseconds of a process, by its number, or of a thread, as `PROCESS/task/THREAD`. */
function processorTime(task: string): number {
  const fields = statFields(task);
  return (Number(fields[11]) + Number(fields[12])) * MICROSECONDS_PER_TICK;
}

/** What follows the program's name, which stands in parentheses and may hold blanks (man 5 proc_pid_stat). */
function statFields(task: string): string[] {
  const stat = readFileSync(`/proc/${task}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function statusLine(pid: number, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
}

function sumOf(members: readonly number[], value: (pid: number) => number): number {
  return members.reduce((sum, member) => sum + (attempt(() => value(member)) ?? 0), 0);
}

/** Null for a process that has just ended. */
function attempt<Result>(read: () => Result): Result | null {
  try {
    return read();
  } catch {
    return null;
  }
}
