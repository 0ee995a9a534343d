import { topology, type OutputOf } from '@market/contracts';
import { listEvents } from '@market/contracts/reputation';
import { newId } from '@market/kernel';
import { inProcessTransport, MessageBus, newRequestContext } from '@market/messaging';
import { runProcess, type RunningProcess } from '@market/runtime';
import { createDatabase, withClient } from '@market/testing';
import { randomBytes } from 'node:crypto';
import { reputation } from '../../src/service.js';

/** More than ten, so that the order of ids as numbers differs from their order as text. */
const EVENTS = 123;

describe('the events of an account', () => {
  let edge: MessageBus;
  let running: RunningProcess;
  const accountId = newId();

  beforeAll(async () => {
    const url = await createDatabase();
    const transport = inProcessTransport();
    running = await runProcess([reputation], transport, {
      DATABASE_URL: url,
      ENCRYPTION_KEYS: `test:${randomBytes(32).toString('base64')}`,
      LOG_LEVEL: 'fatal',
    });
    edge = new MessageBus(await transport.connect('api-gateway', topology['api-gateway']), topology['api-gateway']);
    await withClient(url, async (client) => {
      await client.query('INSERT INTO reputation.account_event_heads VALUES ($1, $2)', [accountId, EVENTS]);
      await client.query(
        `INSERT INTO reputation.account_events (account_id, id, type, at, data)
         SELECT $1, n, 'sale', now(), '{}' FROM generate_series(1, $2::int) n`,
        [accountId, EVENTS],
      );
    });
  });
  afterAll(() => running.stop());

  const page = (after: string, limit: number): Promise<OutputOf<typeof listEvents>> =>
    edge.request(
      listEvents,
      { after, page: 1, limit },
      newRequestContext({
        principal: { accountId, accountType: 'agent', role: 'both', displayName: 'Ada', keyId: accountId, scopes: [] },
      }),
    );
  async function read(after: string, limit: number): Promise<number[]> {
    const seen: number[] = [];
    for (;;) {
      const { items, hasMore } = await page(after, limit);
      seen.push(...items.map(({ id }) => Number(id)));
      if (!hasMore) return seen;
      after = items.at(-1)!.id;
    }
  }
  const from = (first: number): number[] => Array.from({ length: EVENTS - first + 1 }, (_, index) => first + index);

  it.each(Array.from({ length: 100 }, (_, index) => index + 1))(
    'are read to the end, each once and in order, on pages of %i',
    async (limit) => {
      expect(await read('0', limit)).toEqual(from(1));
    },
  );

  it.each([9, 99, EVENTS])('continue after %i', async (after) => {
    expect(await read(String(after), 7)).toEqual(from(after + 1));
  });

  it('start over for who has an id of another history, instead of being silent until the log has grown past it', async () => {
    expect(await read(String(EVENTS + 1), 50)).toEqual(from(1));
    expect(await read('9007199254740993', 50)).toEqual(from(1));
  });
});
