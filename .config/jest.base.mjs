/** What every jest run shares: Node imports the files, TypeScript through swc, workspace packages from their sources. */
export default {
  rootDir: new URL('..', import.meta.url).pathname,
  testRunner: '<rootDir>/.config/run-test-file.mjs',
  modulePathIgnorePatterns: ['/dist/'],
};
