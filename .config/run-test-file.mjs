/**
 * The `testRunner` of jest: jest-circus, but with files that Node itself imports. jest would evaluate every module again
 * for each test file, in a context of its own in which every look-up of a global is slow. Here a worker loads a module
 * once, for all its files.
 */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const { default: runTestFile } = require('jest-circus/runner');

/** The part of jest's own runtime that jest-circus calls. */
const runtime = {
  requireInternalModule(path) {
    // jest-circus keeps the state of one test file.
    delete require.cache[path];
    delete globalThis[Symbol.for('EVENT_HANDLERS')];
    return require(path);
  },
  requireModule: require,
  unstable_shouldLoadAsEsm: () => true,
  unstable_importModule: (path) => {
    // jest's own source maps know nothing of these files; Node's (--enable-source-maps) do.
    delete Error.prepareStackTrace;
    return import(pathToFileURL(path));
  },
  setGlobalsForRuntime() {},
  enterTestCode() {},
  leaveTestCode() {},
};

export default (globalConfig, config, _environment, _runtime, testPath, sendMessageToJest) =>
  runTestFile(globalConfig, config, { global: globalThis }, runtime, testPath, sendMessageToJest);
