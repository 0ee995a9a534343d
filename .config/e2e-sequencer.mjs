import TestSequencer from '@jest/test-sequencer';

/**
 * The two modes run side by side. Each begins in another half of the files, so that those that take the whole machine
 * do not run at the same time.
 */
export default class E2eSequencer extends TestSequencer {
  sort(tests) {
    const sorted = [...tests].sort((a, b) => (a.path < b.path ? -1 : 1));
    const half = process.env.MARKET_MODE === 'distributed' ? Math.ceil(sorted.length / 2) : 0;
    return [...sorted.slice(half), ...sorted.slice(0, half)];
  }
}
