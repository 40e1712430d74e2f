/** One hash tag for each sixteenth of a cluster's slots, so that every node of a typical cluster owns at least one. */
export const PROBED_TAGS: readonly string[] = [
  '10',
  '3',
  '1a',
  'b',
  '11',
  '2',
  '1d',
  'c',
  '12',
  '1',
  '1c',
  'd',
  '13',
  '0',
  '1b',
  'a',
];
