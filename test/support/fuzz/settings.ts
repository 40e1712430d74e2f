/** A number from the environment, so that a longer or another run needs no change of code. */
function numberFrom(name: string, fallback: number): number {
  const text = process.env[name];
  if (text === undefined) return fallback;
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0)
    throw new Error(`${name} must be a whole number, not ${text}`);
  return number;
}

/** The seed of every fuzz test: the same in each run, unless `WEIR_FUZZ_SEED` says another. */
export const fuzzSeed = numberFrom('WEIR_FUZZ_SEED', 20_260_219);
/** How many mutated requests (`WEIR_FUZZ_REQUESTS`). */
export const fuzzRequests = numberFrom('WEIR_FUZZ_REQUESTS', 100_000);
/** How many mutated responses (`WEIR_FUZZ_ANSWERS`). */
export const fuzzResponses = numberFrom('WEIR_FUZZ_ANSWERS', 10_000);
/** How many responses are read by ours and others (`WEIR_FUZZ_READINGS`). */
export const fuzzReadings = numberFrom('WEIR_FUZZ_READINGS', 12_000);
/** How many conversations are read by ours and by Node's server (`WEIR_FUZZ_CONVERSATIONS`). */
export const fuzzConversations = numberFrom('WEIR_FUZZ_CONVERSATIONS', 12_000);
/** How many connections of frames are read by our HTTP/2 client and by Node's, and by our server and Node's (`WEIR_FUZZ_FRAMES`). */
export const fuzzFrames = numberFrom('WEIR_FUZZ_FRAMES', 800);
/** How many exchanges Node's HTTP/2 client has with our server (`WEIR_FUZZ_EXCHANGES`). */
export const fuzzExchanges = numberFrom('WEIR_FUZZ_EXCHANGES', 2_000);
/** How many connections' header blocks go through ours and Go's HPACK (`WEIR_FUZZ_BLOCKS`). */
export const fuzzBlocks = numberFrom('WEIR_FUZZ_BLOCKS', 1_500);
