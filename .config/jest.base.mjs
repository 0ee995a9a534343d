/** Shared by the integration and the end-to-end tests: Node imports the files, and workspace packages from their sources. */
export default {
  rootDir: new URL('..', import.meta.url).pathname,
  testRunner: '<rootDir>/.config/run-test-file.mjs',
  transform: {},
  modulePathIgnorePatterns: ['/dist/'],
};
