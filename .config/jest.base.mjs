/** Shared by all runs of jest: Node imports the files, compiled by swc, and workspace packages from their sources. */
export default {
  rootDir: new URL('..', import.meta.url).pathname,
  testRunner: '<rootDir>/.config/run-test-file.mjs',
  transform: {},
  modulePathIgnorePatterns: ['/dist/'],
};
