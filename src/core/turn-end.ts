/** Has something to do at the end of a turn of the event loop. */
export interface TurnTask {
  turnEnded(): void;
}

/** So many tasks are not kept waiting any longer, however much there still is to read. */
const MAX_WAITING = 256;
/** How often tasks that follow from others are done before sockets are read again. */
const MAX_ROUNDS = 16;

let tasks: TurnTask[] = [];
let isAsked = false;
let isDoing = false;

/**
 * Calls the task once, in order, when the present turn of the event loop has read what waited on its sockets.
 *
 * Messages that leave here leave one right after the other. Written between reads, each would wake its receiver, which has gone
 * back to sleep since the last: bench/README.md has the figures.
 */
export function atTurnEnd(task: TurnTask): void {
  const waiting = tasks.push(task);
  // Tasks that follow from others wait in any case: timers and sockets would have to wait for the last of them.
  if (waiting === MAX_WAITING && !isDoing) process.nextTick(doTasks);
  if (isAsked) return;
  isAsked = true;
  setImmediate(endTurn);
}

function endTurn(): void {
  for (let round = 0; round < MAX_ROUNDS && tasks.length > 0; round++) doTasks();
  isAsked = tasks.length > 0;
  if (isAsked) setImmediate(endTurn);
}

function doTasks(): void {
  const due = tasks;
  tasks = [];
  isDoing = true;
  for (const task of due) task.turnEnded();
  isDoing = false;
}
