import { withClient } from '@market/testing';
import { expectBooksInOrder } from '../support/books.js';
import { canary, Cast } from '../support/fuzz/cast.js';
import { DatabaseWatch } from '../support/fuzz/database-digest.js';
import { FuzzRun, type Tally } from '../support/fuzz/fuzz-run.js';
import { ApiDescription } from '../support/fuzz/operations.js';
import { RawClient } from '../support/fuzz/raw-client.js';
import { inEachMode } from '../support/world.js';

/** Another run: FUZZ_SEED=<number> FUZZ_REQUESTS=<number>; the full one is `npm run test:fuzz`. */
const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 2_000);

inEachMode('a fuzzer that knows the OpenAPI document', (world) => {
  let description: ApiDescription;
  let client: RawClient;
  let cast: Cast;

  beforeAll(async () => {
    description = await ApiDescription.read(world);
    client = new RawClient(world);
    cast = await Cast.assemble(world);
  }, 120_000);
  afterAll(async () => {
    client.close();
    await cast?.close();
  });

  it(
    'gets documented answers from every operation, and changes nothing where it is refused [spec: envelope.error, error.400 BAD_REQUEST]',
    async () => {
      await withClient(world.databaseUrl, async (database) => {
        const watch = await DatabaseWatch.over(database);
        // It does see a change where there is one.
        expect(
          await watch.changedBy(async () => cast.owner.market.listings.update(cast.free, { tags: [canary()] })),
        ).toContain('catalog.listings');
        const run = new FuzzRun(world, description, cast, client, watch);
        const startedAt = performance.now();
        await run.run({ seed: SEED, requests: REQUESTS });
        process.stdout.write(report(run.tally, run.repeatedWrites, (performance.now() - startedAt) / 1_000));
        if (run.problems.length > 0)
          throw new Error(
            `replay with MARKET_MODE=${world.mode} FUZZ_SEED=${SEED} FUZZ_REQUESTS=${REQUESTS}\n${run.problems.join('\n')}`,
          );
        expect([...run.tally.keys()].sort()).toEqual(description.operations.map(({ name }) => name).sort());
      });
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
      expect((await cast.owner.market.me()).id).toBe(cast.owner.id);
      await expectBooksInOrder(world, [], { withinMs: 30_000 });
    },
    60_000 + REQUESTS * 40,
  );

  function report(tally: Tally, repeatedWrites: number, seconds: number): string {
    const lines = [...tally].sort().map(
      ([name, statuses]) =>
        `${name.padEnd(48)} ${[...statuses]
          .sort(([a], [b]) => a - b)
          .map(([status, count]) => `${status}: ${count}`)
          .join('  ')}`,
    );
    return `\n${world.mode}: FUZZ_SEED=${SEED}, ${REQUESTS} requests, ${repeatedWrites} refused writes repeated under a digest of the database, ${seconds.toFixed(0)} s\n${lines.join('\n')}\n`;
  }
});
