import { countOf, TEST_SEED } from '@market/test-servers/threats';
import { defineEvent } from '@market/contracts';
import { newId, UnavailableError } from '@market/kernel';
import { newRequestContext, type EventRecord, type Link, type ReceivedEvent } from '@market/messaging';
import { eventually } from '@market/test-servers';
import { freshDatabase, type FreshDatabase } from '../testing/index.js';
import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { z } from 'zod';
import { shop } from '../../test/fixtures/shop.js';
import type { Tx } from '../database.js';
import { EventConsumer, retryParked } from '../inbox/event-consumer.js';
import { sql } from '../statement.js';
import { Outbox } from './outbox.js';
import { OutboxRelay } from './outbox-relay.js';

Logger.overrideLogger(false);

const sold = defineEvent({ subject: 'evt.catalog.sold.v1', payload: z.object({ item: z.string() }) });
const count = sql(
  'test.count-item',
  'INSERT INTO counters (name, value) SELECT unnest($1::text[]), 1 ON CONFLICT (name) DO UPDATE SET value = counters.value + 1',
);
const append = sql('test.append', 'INSERT INTO journal (note) VALUES ($1)');

const SEED = TEST_SEED;
const EVENTS = countOf('events');

describe('events', () => {
  let fresh: FreshDatabase;
  let outbox: Outbox;
  let relays: OutboxRelay[];

  beforeEach(async () => {
    fresh = await freshDatabase(shop, { poolSize: 12 });
    outbox = new Outbox();
    relays = [];
  });
  afterEach(async () => {
    await Promise.all(relays.map((relay) => relay.stop()));
    await fresh.drop();
  });

  const sell = (item: string, then?: () => Promise<void>): Promise<void> =>
    fresh.database.transaction(async (tx) => {
      await tx.query(append, [item]);
      outbox.add(tx, sold, { item }, newRequestContext({ requestId: `request-${item}` }));
      await then?.();
    });
  const startRelay = (publishEvents: Link['publishEvents'], from = new Outbox()): OutboxRelay => {
    const relay = new OutboxRelay(fresh.database, from, { publishEvents });
    relays.push(relay);
    relay.start();
    return relay;
  };
  const counters = async (): Promise<Record<string, number>> =>
    Object.fromEntries(
      (await fresh.inspect<{ name: string; value: number }>('SELECT name, value FROM shop.counters')).map(
        ({ name, value }) => [name, value],
      ),
    );
  const unpublished = async (): Promise<number> =>
    (await fresh.inspect('SELECT 1 FROM shop.outbox WHERE published_at IS NULL')).length;
  const itemsIn = async (table: 'parked_events' | 'dead_letters'): Promise<string[]> =>
    (await fresh.inspect<{ payload: { item: string } }>(`SELECT payload FROM shop.${table}`))
      .map((row) => row.payload.item)
      .sort();
  const counting = async (events: ReceivedEvent<typeof sold>[], tx: Tx): Promise<void> =>
    void (await tx.query(count, [events.map(({ payload }) => payload.item)]));
  const consumerOf = (handler: (events: ReceivedEvent<typeof sold>[], tx: Tx) => Promise<void>): EventConsumer =>
    new EventConsumer(fresh.database, sold, handler as never, 1);
  const recordOf = (item: string): EventRecord => ({
    id: newId(),
    subject: sold.subject,
    payload: { item },
    requestId: `request-${item}`,
  });

  describe('leave', () => {
    it('with the change they tell of, at once, and not at all when it is undone', async () => {
      const published: EventRecord[] = [];
      startRelay(async (events) => void published.push(...events), outbox);
      await expect(sell('undone', () => Promise.reject(new Error('undone')))).rejects.toThrow('undone');
      await sell('kept');
      await eventually(
        () =>
          expect(published).toMatchObject([
            { subject: sold.subject, payload: { item: 'kept' }, requestId: 'request-kept' },
          ]),
        { withinMs: 500 },
      );
      await eventually(async () => expect(await unpublished()).toBe(0));
    });

    it('also when their process died between the commit and the publishing', async () => {
      await Promise.all(Array.from({ length: 300 }, (_, n) => sell(`item-${n}`)));
      const published = new Set<string>();
      startRelay(async (events) => events.forEach(({ payload }) => published.add((payload as { item: string }).item)));
      await eventually(() => expect(published.size).toBe(300));
    });

    it('again when their process died between the publishing and the note of it, and have their effect once', async () => {
      await sell('twice');
      const consumer = consumerOf(counting);
      let deliveries = 0;
      startRelay(async (events) => {
        deliveries += 1;
        await consumer.deliver(events);
        if (deliveries === 1)
          await fresh.inspect(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'market shop' AND state = 'idle in transaction'`,
          );
      });
      await eventually(async () => expect(await unpublished()).toBe(0));
      expect(deliveries).toBe(2);
      expect(await counters()).toEqual({ twice: 1 });
    });

    it('later when the bus does not take them now', async () => {
      let isDown = true;
      const published: EventRecord[] = [];
      startRelay(async (events) => {
        if (isDown) throw new UnavailableError('NATS');
        published.push(...events);
      }, outbox);
      await sell('patient');
      expect(await unpublished()).toBe(1);
      isDown = false;
      await eventually(() => expect(published.length).toBe(1));
    });

    it('once each, as a rule, although every replica relays', async () => {
      await Promise.all(Array.from({ length: 600 }, (_, n) => sell(`item-${n}`)));
      const published: string[] = [];
      for (let replica = 0; replica < 3; replica += 1)
        startRelay(async (events) => void published.push(...events.map(({ id }) => id)));
      await eventually(async () => expect(await unpublished()).toBe(0));
      expect(published.length).toBe(600);
      expect(new Set(published).size).toBe(600);
    });
  });

  describe('arrive', () => {
    it(`once in effect when delivered three times, shuffled, from many sides, with 1% that no handler takes (seed ${SEED})`, async () => {
      const records = Array.from({ length: EVENTS }, (_, n) => recordOf(n % 100 === 50 ? `poison-${n}` : `item-${n}`));
      const good = records.filter(({ payload }) => !(payload as { item: string }).item.startsWith('poison'));
      const poison = records
        .filter((record) => !good.includes(record))
        .map(({ payload }) => (payload as { item: string }).item);
      const consumer = consumerOf(async (events, tx) => {
        if (events.some(({ payload }) => payload.item.startsWith('poison'))) throw new Error('indigestible');
        await counting(events, tx);
      });
      const [shuffled] = fc.sample(
        fc.shuffledSubarray([...records, ...records, ...records], { minLength: 3 * EVENTS }),
        {
          numRuns: 1,
          seed: SEED,
        },
      );
      const batches = Array.from({ length: (3 * EVENTS) / 50 }, (_, n) => shuffled!.slice(n * 50, (n + 1) * 50));
      for (let n = 0; n < batches.length; n += 6)
        await Promise.all(batches.slice(n, n + 6).map((batch) => consumer.deliver(batch)));

      // No retry has happened yet, so the failing event delayed no other event.
      const effects = await counters();
      expect(Object.keys(effects).length).toBe(good.length);
      expect(Object.values(effects).every((times) => times === 1)).toBe(true);
      expect(await itemsIn('parked_events')).toEqual([...poison].sort());

      await eventually(async () => {
        await retryParked(fresh.database, [consumer]);
        expect(await itemsIn('parked_events')).toEqual([]);
      });
      expect(await itemsIn('dead_letters')).toEqual([...poison].sort());
      expect(Object.values(await counters()).every((times) => times === 1)).toBe(true);
    });

    it('later when their handler fails a few times, with their effect once', async () => {
      let failures = 0;
      const consumer = consumerOf(async (events, tx) => {
        await counting(events, tx);
        if ((failures += 1) <= 3) throw new Error('not yet');
      });
      await consumer.deliver([recordOf('stubborn')]);
      await eventually(async () => {
        await retryParked(fresh.database, [consumer]);
        expect(await counters()).toEqual({ stubborn: 1 });
      });
      expect([await itemsIn('parked_events'), await itemsIn('dead_letters')]).toEqual([[], []]);
    });

    it('no more once they are dead, however often they are delivered', async () => {
      const consumer = consumerOf(async () => {
        throw new Error('never');
      });
      const record = recordOf('dead');
      await consumer.deliver([record]);
      await eventually(async () => {
        await retryParked(fresh.database, [consumer]);
        expect(await itemsIn('dead_letters')).toEqual(['dead']);
      });
      await consumer.deliver([record, recordOf('dead too')]);
      expect(await itemsIn('parked_events')).toEqual(['dead too']);
    });

    it('all again after an outage, which is no fault of theirs', async () => {
      const outage = consumerOf(async () => {
        throw new UnavailableError('PostgreSQL');
      });
      const records = [recordOf('a'), recordOf('b')];
      await expect(outage.deliver(records)).rejects.toThrow(UnavailableError);
      expect(await itemsIn('parked_events')).toEqual([]);
      await consumerOf(counting).deliver(records);
      expect(await counters()).toEqual({ a: 1, b: 1 });
    });

    it('only in the shape their contract declares', async () => {
      const seen: unknown[] = [];
      const consumer = consumerOf(async (events) => void seen.push(...events.map(({ payload }) => payload)));
      await consumer.deliver([
        { ...recordOf('x'), payload: { item: 5 } },
        { ...recordOf('fine'), payload: { item: 'fine', newer: 'field' } },
      ]);
      expect(seen).toEqual([{ item: 'fine' }]);
      expect((await fresh.inspect('SELECT 1 FROM shop.parked_events')).length).toBe(1);
    });

    it('once, while two replicas try the same parked event', async () => {
      const record = recordOf('shared');
      await consumerOf(async () => {
        throw new Error('not yet');
      }).deliver([record]);
      const replicas = Array.from({ length: 4 }, () => consumerOf(counting));
      await eventually(async () => {
        await Promise.all(replicas.map((replica) => retryParked(fresh.database, [replica])));
        expect(await counters()).toEqual({ shared: 1 });
      });
      expect(await itemsIn('parked_events')).toEqual([]);
    });
  });
});
