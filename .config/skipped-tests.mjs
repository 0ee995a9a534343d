import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The file with the names of skipped suites, which `npm test` prints at its end. */
export const SKIPPED_TESTS = fileURLToPath(new URL('../node_modules/.cache/skipped-tests.txt', import.meta.url));

/** A jest reporter of the suites that `describeNeeding` (libs/test-servers) skipped; their names say what is missing. */
export default class SkippedTests {
  names = new Set();

  onTestResult(_test, { testResults }) {
    for (const { status, ancestorTitles } of testResults) {
      if (status === 'pending' && ancestorTitles.some((title) => title.endsWith(']')))
        this.names.add(ancestorTitles.join(' '));
    }
  }

  onRunComplete() {
    mkdirSync(dirname(SKIPPED_TESTS), { recursive: true });
    appendFileSync(SKIPPED_TESTS, [...this.names].map((name) => `  ${name}\n`).join(''));
  }
}
