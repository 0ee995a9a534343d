import { newId } from '@market/kernel';
import { describeNeeding, eventually } from '@market/test-servers';
import { Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { ada } from '../test/fixtures/ada.js';
import { startReplica, type Replica } from '../test/fixtures/catalog-replica.js';
import {
  echo,
  happened,
  nobodyServes,
  reserve,
  slowEcho,
  testTopology,
  touched,
  wait,
} from '../test/fixtures/contracts.js';
import { inProcessHarness, natsHarness, type Harness } from '../test/fixtures/harnesses.js';
import { DEFAULT_BUDGET_MS, newRequestContext } from './request-context.js';
import type { EventRecord, RequestEnvelope } from './envelope.js';
import { BusFailure, MessageBus } from './message-bus.js';
import { Refusal } from './refuse.js';
import type { EventSink, Link } from './transport.js';

Logger.overrideLogger(false);

const event = (n: number): EventRecord => ({
  id: newId(),
  subject: happened.subject,
  payload: { n },
  requestId: `request-${n}`,
  traceparent: '00-11111111111111111111111111111111-2222222222222222-01',
});

describe('the bus in process', () => behavesAlike(inProcessHarness));
describeNeeding('nats-server')('the bus over NATS', () => behavesAlike(natsHarness));

function behavesAlike(open: () => Promise<Harness>): void {
  let harness: Harness;
  let replica: Replica;
  let asker: Link;
  let bus: MessageBus;

  const sendRaw = (subject: string, message: unknown): Promise<unknown> =>
    asker.request(subject, message as RequestEnvelope, 2_000);
  const busOf = (link: Link): MessageBus => new MessageBus(link, testTopology['api-gateway']);

  beforeAll(async () => {
    harness = await open();
    replica = await startReplica('first', await harness.connect('catalog'));
    asker = await harness.connect('api-gateway');
    bus = busOf(asker);
  });

  afterAll(async () => {
    await replica.close();
    await harness.stop();
  });

  describe('a request', () => {
    it('is answered, and its context arrives with it', async () => {
      const context = newRequestContext({ principal: ada, budgetMs: 3_000 });
      const answer = await bus.request(echo, { text: 'né\u0000 \u{1f980} "quoted"' }, context);
      expect(answer).toMatchObject({
        text: 'né\u0000 \u{1f980} "quoted"',
        servedBy: 'first',
        requestId: context.requestId,
        principalId: ada.accountId,
      });
      expect(answer.remainingMs).toBeGreaterThan(0);
      expect(answer.remainingMs).toBeLessThanOrEqual(3_000);
    });

    it('is refused with the details and the declaration of its contract', async () => {
      const refusal = await bus
        .request(reserve, { item: 'gone' }, newRequestContext())
        .catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(Refusal);
      expect(refusal).toMatchObject({
        reason: 'sold_out',
        details: { left: 0 },
        declaration: { kind: 'conflict', recovery: { nextAction: 'choose_another_listing' } },
      });
    });

    it('that meets a bug fails, and tells nothing of what was thrown', async () => {
      const failure = (await bus
        .request(reserve, { item: 'cursed' }, newRequestContext())
        .catch((error: unknown) => error)) as Error;
      expect(failure).toBeInstanceOf(BusFailure);
      expect(`${failure.message}${JSON.stringify(failure)}${String(failure.cause)}`).not.toMatch(/secret|hunter2/);
    });

    it.each([
      ['unreachable', 'dependency_unavailable'],
      ['contended', 'concurrent_changes'],
    ])('that meets a database that is %s is refused by the name of that', async (item, reason) => {
      await expect(bus.request(reserve, { item }, newRequestContext())).rejects.toMatchObject({ reason });
    });

    it('that does not fit its contract reaches no handler', async () => {
      const before = replica.log.served.length;
      for (const message of [
        { meta: { requestId: 'r', remainingMs: 1_000 }, data: { text: 5 } },
        { meta: { requestId: 'r' }, data: { text: 'x' } },
        { data: { text: 'x' } },
        'nonsense',
        7,
        [],
      ]) {
        expect(await sendRaw(echo.subject, message)).toEqual({ failed: 'invalid_message' });
      }
      expect(replica.log.served.length).toBe(before);
    });

    it('that nobody serves is refused as unavailable, at once', async () => {
      const started = Date.now();
      await expect(bus.request(nobodyServes, {}, newRequestContext({ budgetMs: 8_000 }))).rejects.toMatchObject({
        reason: 'dependency_unavailable',
      });
      expect(Date.now() - started).toBeLessThan(6_000);
    });

    it('is waited for as long as somebody works on it', async () => {
      const answer = bus.request(wait, { ticket: 'patient' }, newRequestContext());
      await Promise.race([answer, delay(3_000)]);
      replica.log.held.get('patient')!();
      expect(await answer).toEqual({ ticket: 'patient' });
    });

    it('that takes longer than its deadline is given up', async () => {
      await expect(bus.request(wait, { ticket: 'late' }, newRequestContext({ budgetMs: 100 }))).rejects.toMatchObject({
        reason: 'deadline_exceeded',
      });
      await eventually(() => replica.log.held.get('late')!());
    });

    it('is given up long before its caller is, unless it may wait for a seller', async () => {
      const context = newRequestContext({ budgetMs: 120_000 });
      expect((await bus.request(echo, { text: 'x' }, context)).remainingMs).toBeLessThanOrEqual(DEFAULT_BUDGET_MS);
      expect((await bus.request(slowEcho, { text: 'x' }, context)).remainingMs).toBeGreaterThan(100_000);
    });

    it('whose deadline is over is dropped, on either side', async () => {
      await expect(bus.request(wait, { ticket: 'expired' }, newRequestContext({ budgetMs: -1 }))).rejects.toMatchObject(
        {
          reason: 'deadline_exceeded',
        },
      );
      const late = await sendRaw(wait.subject, {
        meta: { requestId: 'r', remainingMs: 0 },
        data: { ticket: 'expired' },
      });
      expect(late).toMatchObject({ refused: { reason: 'deadline_exceeded' } });
      expect(replica.log.served).not.toContain('expired');
    });

    it('carries a body of 1 MiB there and back unchanged, also when every byte must be escaped', async () => {
      const text = '"\\\n€'.repeat(1_048_576 / 6);
      const answer = await bus.request(echo, { text }, newRequestContext());
      expect(answer.text === text).toBe(true);
    });

    it('that is not in the topology is not sent', async () => {
      const other = new MessageBus(asker, testTopology.reputation);
      await expect(other.request(echo, { text: 'x' }, newRequestContext())).rejects.toThrow('not declared');
    });

    it('is one of many, and each gets its own answer', async () => {
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, n) => bus.request(echo, { text: `${n}` }, newRequestContext())),
      );
      expect(answers.map((answer) => answer.text)).toEqual(Array.from({ length: 200 }, (_, n) => `${n}`));
    });
  });

  describe('replicas of a service', () => {
    it('share its requests: each is served once', async () => {
      const second = await startReplica('second', await harness.connect('catalog'));
      const before = replica.log.served.length;
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, n) => bus.request(echo, { text: `${n}` }, newRequestContext())),
      );
      expect(new Set(answers.map((answer) => answer.servedBy))).toEqual(new Set(['first', 'second']));
      expect(replica.log.served.length - before + second.log.served.length).toBe(60);
      await second.close();
    });

    it('leave without losing a request: what they took is answered, what comes later goes to the others', async () => {
      const leaving = await startReplica('leaving', await harness.connect('catalog'));
      const tickets = Array.from({ length: 20 }, (_, n) => `leaving-${n}`);
      const answers = Promise.all(tickets.map((ticket) => bus.request(wait, { ticket }, newRequestContext())));
      await eventually(() =>
        expect(
          leaving.log.held.size + [...replica.log.held.keys()].filter((ticket) => ticket.startsWith('leaving')).length,
        ).toBe(20),
      );
      expect(leaving.log.held.size).toBeGreaterThan(0);

      const closed = leaving.close();
      const later = await Promise.all(
        Array.from({ length: 20 }, (_, n) => bus.request(echo, { text: `${n}` }, newRequestContext())),
      );
      const servedLater = leaving.log.served.length;
      [...leaving.log.held.values(), ...replica.log.held.values()].forEach((answer) => answer());

      expect((await answers).map((answer) => answer.ticket)).toEqual(tickets);
      expect(later.length).toBe(20);
      await closed;
      expect(leaving.log.served.length).toBe(servedLater);
    });
  });

  describe('an event', () => {
    it('reaches each consuming service at least once, whole', async () => {
      const deliveries = { gateway: new Map<string, EventRecord>(), reputation: new Map<string, EventRecord>() };
      for (const service of ['gateway', 'reputation'] as const) {
        const link = await harness.connect(service);
        await link.consumeEvents(happened.subject, async (events) =>
          events.forEach((received) => deliveries[service].set(received.id, received)),
        );
      }
      const emitter = await harness.connect('catalog');
      const events = Array.from({ length: 300 }, (_, n) => event(n));
      await emitter.publishEvents(events);
      for (const service of ['gateway', 'reputation'] as const) {
        await eventually(() => expect(deliveries[service].size).toBe(300));
        expect(
          [...deliveries[service].values()].sort(
            (a, b) => (a.payload as { n: number }).n - (b.payload as { n: number }).n,
          ),
        ).toEqual(events);
      }
    });
  });

  describe('a signal', () => {
    it('reaches every process that listens, whatever its service', async () => {
      const deliveries: number[] = [];
      for (const service of ['gateway', 'gateway', 'reputation'] as const) {
        await (
          await harness.connect(service)
        ).onSignal(touched.subject, (payload) => deliveries.push((payload as { n: number }).n));
      }
      const sender = new MessageBus(await harness.connect('catalog'), testTopology.catalog);
      // A signal is best effort: on a broker, a subscription may not be active yet.
      await eventually(() => {
        deliveries.length = 0;
        sender.signal(touched, { n: 7 });
        return eventually(() => expect(deliveries.length).toBeGreaterThanOrEqual(3), { withinMs: 200 });
      });
      expect(new Set(deliveries)).toEqual(new Set([7]));
    });
  });
}

describe('events that a consumer cannot take', () => {
  const failingTwice =
    (deliveries: Map<string, number>): EventSink =>
    async (events) => {
      events.forEach(({ id }) => deliveries.set(id, (deliveries.get(id) ?? 0) + 1));
      if (events.some(({ id }) => deliveries.get(id)! <= 2)) throw new Error('not now');
    };

  describeNeeding('nats-server')('over NATS', () =>
    it('come again until it takes them', async () => {
      const harness = await natsHarness();
      const deliveries = new Map<string, number>();
      await (await harness.connect('api-gateway')).consumeEvents(happened.subject, failingTwice(deliveries));
      await (await harness.connect('catalog')).publishEvents([event(1), event(2)]);
      await eventually(() => expect([...deliveries.values()].every((times) => times >= 3) && deliveries.size).toBe(2), {
        withinMs: 15_000,
      });
      await harness.stop();
    }),
  );

  it('are not taken from the publisher in process', async () => {
    const harness = await inProcessHarness();
    const deliveries = new Map<string, number>();
    await (await harness.connect('api-gateway')).consumeEvents(happened.subject, failingTwice(deliveries));
    const emitter = await harness.connect('catalog');
    const events = [event(1), event(2)];
    await expect(emitter.publishEvents(events)).rejects.toThrow('not now');
    await expect(emitter.publishEvents(events)).rejects.toThrow('not now');
    await emitter.publishEvents(events);
    expect([...deliveries.values()]).toEqual([3, 3]);
  });
});
