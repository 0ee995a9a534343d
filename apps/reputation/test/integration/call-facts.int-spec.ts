import { topology, type EventContract, type PayloadOf } from '@market/contracts';
import { callFailed } from '@market/contracts/gateway';
import { paymentCompleted } from '@market/contracts/payments-ledger';
import { inProcessTransport, type EventRecord, type Link } from '@market/messaging';
import { runProcess, type RunningProcess } from '@market/runtime';
import { createDatabase } from '@market/testing';
import fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { reputation } from '../../src/service.js';

type Completed = PayloadOf<typeof paymentCompleted>;
type Failed = PayloadOf<typeof callFailed>;

const id = fc.uuid({ version: 7 });
const amount = fc.bigInt(0n, 10n ** 12n).map(String);
const instant = fc
  .date({ min: new Date('2026-01-01'), max: new Date('2027-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString());
const digest = fc.constant('0'.repeat(64));
const latency = fc.nat({ max: 120_000 });

const recordOf = <C extends EventContract>(
  contract: C,
  payload: fc.Arbitrary<PayloadOf<C>>,
): fc.Arbitrary<EventRecord> => fc.record({ id, subject: fc.constant(contract.subject), payload, requestId: id });
const completed: fc.Arbitrary<Completed> = fc.record({
  paymentId: id,
  relayRequestId: fc.constant(`0x${'ab'.repeat(32)}`),
  gatewayRequestId: id,
  buyerId: id,
  sellerId: id,
  listingId: id,
  grossMicros: amount,
  feeMicros: amount,
  feeReceivedMicros: amount,
  sellerStatusCode: fc.integer({ min: 200, max: 499 }),
  latencyMs: latency,
  transactionHash: fc.constant(`0x${'cd'.repeat(32)}`),
  requestDigest: digest,
  responseDigest: digest,
  completedAt: instant,
});
const failed: fc.Arbitrary<Failed> = fc.record({
  gatewayRequestId: id,
  attempt: fc.integer({ min: 1, max: 9 }),
  buyerId: id,
  sellerId: id,
  listingId: id,
  isPaid: fc.boolean(),
  reason: fc.constantFrom('timeout', 'not_json', 'unreachable'),
  sellerStatusCode: fc.constantFrom(502, 504, 500),
  latencyMs: latency,
  at: instant,
});

/** A delivery of a free call does not count, so its failure does not either. */
const isCounted = ({ payload }: EventRecord): boolean => (payload as Partial<Failed>).isPaid !== false;

/** Returns the row that the table must contain for an event, however it was delivered. */
function factOf({ id: eventId, subject, payload }: EventRecord): Record<string, unknown> {
  const isCompleted = subject === paymentCompleted.subject;
  const { gatewayRequestId, listingId, sellerId, buyerId, sellerStatusCode, latencyMs } = payload as Completed | Failed;
  return {
    event_id: eventId,
    outcome: isCompleted ? 'delivered' : 'failed',
    gateway_request_id: gatewayRequestId,
    listing_id: listingId,
    seller_id: sellerId,
    buyer_id: buyerId,
    gross_micros: isCompleted ? (payload as Completed).grossMicros : '0',
    seller_status_code: sellerStatusCode,
    latency_ms: latencyMs,
    failure_reason: isCompleted ? null : (payload as Failed).reason,
    happened_at: new Date(isCompleted ? (payload as Completed).completedAt : (payload as Failed).at),
  };
}

const byId = (a: Record<string, unknown>, b: Record<string, unknown>): number =>
  String(a.event_id) < String(b.event_id) ? -1 : 1;

describe('the facts of calls', () => {
  let pool: pg.Pool;
  let emitter: Link;
  let running: RunningProcess;

  beforeAll(async () => {
    const url = await createDatabase();
    const transport = inProcessTransport();
    emitter = await transport.connect('gateway', topology.gateway);
    running = await runProcess([reputation], transport, {
      DATABASE_URL: url,
      ENCRYPTION_KEYS: `test:${randomBytes(32).toString('base64')}`,
      LOG_LEVEL: 'fatal',
    });
    pool = new pg.Pool({ connectionString: url, max: 2, options: '-c search_path=reputation' });
  });
  afterAll(async () => {
    await pool.end();
    await running.stop();
  });

  it('are the same however often and in whatever order and batches the events come', async () => {
    const events = fc.array(fc.oneof(recordOf(paymentCompleted, completed), recordOf(callFailed, failed)), {
      minLength: 1,
      maxLength: 30,
    });
    const deliveries = events.chain((all) =>
      fc.tuple(
        fc.constant(all),
        fc.array(fc.array(fc.constantFrom(...all), { maxLength: 20 }), { maxLength: 6 }),
        fc.boolean(),
      ),
    );
    await fc.assert(
      fc.asyncProperty(deliveries, async ([all, batches, losesInbox]) => {
        for (const batch of batches) await emitter.publishEvents(batch);
        // An inbox keeps ids only for a while, and a broker may keep events for longer.
        if (losesInbox) await pool.query('DELETE FROM inbox');
        await Promise.all([emitter.publishEvents([...all].reverse()), emitter.publishEvents(all)]);
        const { rows } = await pool.query<Record<string, unknown>>(
          'SELECT * FROM call_facts WHERE event_id = ANY($1)',
          [all.map((event) => event.id)],
        );
        expect(rows.sort(byId)).toEqual(all.filter(isCounted).map(factOf).sort(byId));
      }),
      { numRuns: 40 },
    );
    expect((await pool.query('SELECT * FROM dead_letters')).rows).toEqual([]);
  });

  it('cannot be changed or removed by the service', async () => {
    for (const change of [
      'UPDATE reputation.call_facts SET gross_micros = 0',
      'DELETE FROM reputation.call_facts',
      'TRUNCATE reputation.call_facts',
    ]) {
      const client = await pool.connect();
      await client.query('SET ROLE market_reputation');
      await expect(client.query(change)).rejects.toThrow('permission denied');
      await client.query('RESET ROLE');
      client.release();
    }
  });
});
