import { readFileSync } from 'node:fs';

/** The kernel counts the time of /proc/PID/stat in hundredths of a second (`USER_HZ`), on every architecture of ours. */
const MICROSECONDS_PER_TICK = 10_000;

/** Microseconds of processor time, user and system, that a process has used up with all its threads. Linux only. */
export function cpuMicroseconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The second field is the program's name in parentheses and may hold blanks: count from behind it (man 5 proc_pid_stat).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [utime, stime] = [fields[11], fields[12]];
  return (Number(utime) + Number(stime)) * MICROSECONDS_PER_TICK;
}

/** Memory of a process that is in use at the moment, in MiB. Linux only. */
export function residentMebibytes(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  return Number(kibibytes) / 1024;
}
