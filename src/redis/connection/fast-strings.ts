/** More than V8 needs before it remembers what a function reads. */
const READS = 1_000;

/**
 * Undoes what loading ioredis 6 does to all strings. Its `class VerbatimString extends String` makes V8 turn the prototype of
 * strings into a dictionary, where each call of a method such as `charCodeAt` looks it up and none is compiled into its caller.
 * V8 turns a prototype back when properties are read through an object that inherits from it, which strings are not.
 */
export function keepStringsFast(): void {
  const inheriting: object = Object('');
  for (let i = 0; i < READS; i++) readThrough(inheriting);
}

function readThrough(object: object): unknown {
  return object.valueOf;
}
