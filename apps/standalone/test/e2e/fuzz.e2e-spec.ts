import { countOf, TEST_SEED } from '@market/test-servers/threats';
import { withClient } from '@market/testing';
import { expectBooksInOrder } from '../support/books.js';
import { canary, Fixtures } from '../support/fuzz/fixtures.js';
import { DatabaseWatch } from '../support/fuzz/database-digest.js';
import { FuzzRun, type Tally } from '../support/fuzz/fuzz-run.js';
import { ApiDescription } from '../support/fuzz/operations.js';
import { RawClient } from '../support/fuzz/raw-client.js';
import { inEachMode } from '../support/harness.js';

const SEED = TEST_SEED;
const REQUESTS = countOf('fuzz');

inEachMode('a fuzzer that knows the OpenAPI document', (harness) => {
  let description: ApiDescription;
  let client: RawClient;
  let fixtures: Fixtures;

  beforeAll(async () => {
    description = await ApiDescription.read(harness);
    client = new RawClient(harness);
    fixtures = await Fixtures.create(harness);
  }, 240_000);
  afterAll(async () => {
    client.close();
    await fixtures?.close();
  });

  it(
    'gets documented answers from every operation, and changes nothing where it is refused [spec: envelope.error, error.400 BAD_REQUEST]',
    async () => {
      await withClient(harness.databaseUrl, async (database) => {
        const watch = await DatabaseWatch.over(database);
        // Checks that the watch detects a change.
        expect(
          await watch.changedBy(async () => fixtures.owner.market.listings.update(fixtures.free, { tags: [canary()] })),
        ).toContain('catalog.listings');
        const run = new FuzzRun(harness, description, fixtures, client, watch);
        const startedAt = performance.now();
        await run.run({ seed: SEED, requests: REQUESTS });
        process.stdout.write(report(run.tally, run.repeatedWrites, (performance.now() - startedAt) / 1_000));
        if (run.problems.length > 0)
          throw new Error(
            `replay with MARKET_MODE=${harness.mode} TEST_SEED=${SEED} TEST_COUNT=${REQUESTS}\n${run.problems.join('\n')}`,
          );
        expect([...run.tally.keys()].sort()).toEqual(description.operations.map(({ name }) => name).sort());
      });
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
      expect((await fixtures.owner.market.me()).id).toBe(fixtures.owner.id);
      await expectBooksInOrder(harness, [], { withinMs: 30_000 });
    },
    60_000 + REQUESTS * 100,
  );

  function report(tally: Tally, repeatedWrites: number, seconds: number): string {
    const lines = [...tally].sort().map(
      ([name, statuses]) =>
        `${name.padEnd(48)} ${[...statuses]
          .sort(([a], [b]) => a - b)
          .map(([status, count]) => `${status}: ${count}`)
          .join('  ')}`,
    );
    return (
      `\n${harness.mode}: TEST_SEED=${SEED}, ${REQUESTS} requests, ${repeatedWrites} refused writes repeated under ` +
      `a digest of the database, ${seconds.toFixed(0)} s\n${lines.join('\n')}\n`
    );
  }
});
