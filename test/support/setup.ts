/** Tests run on the Node that the project pins: vitest itself would also start on an older one and prove nothing. */
const major = Number(process.versions.node.split('.')[0]);
if (major < 26)
  throw new Error(
    `Weir's tests need Node 26 or newer, this is ${process.version}: start them with "npm test"`,
  );
