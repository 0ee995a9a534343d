import { countOf } from '@market/test-servers/threats';
import { newId } from '@market/kernel';
import { describeNeeding, eventually } from '@market/test-servers';
import { connect, nkeyAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { Logger } from '@nestjs/common';
import { startReplica } from '../../test/fixtures/catalog-replica.js';
import { echo, happened, slowEcho, testTopology, wait, type TestService } from '../../test/fixtures/contracts.js';
import { natsHarness, type NatsHarness } from '../../test/fixtures/harnesses.js';
import { newRequestContext } from '../request-context.js';
import type { EventRecord, RequestEnvelope } from '../envelope.js';
import { MessageBus } from '../message-bus.js';
import { progressSubject } from './requests-in-progress.js';

Logger.overrideLogger(false);

const event = (n: number): EventRecord => ({
  id: newId(),
  subject: happened.subject,
  payload: { n },
  requestId: `request-${n}`,
});

describeNeeding('nats-server')('a broker', () => {
  let harness: NatsHarness;
  beforeEach(async () => {
    harness = await natsHarness();
  });
  afterEach(() => harness.stop());

  const listen = async (): Promise<number[]> => {
    const received: number[] = [];
    await (
      await harness.connect('api-gateway')
    ).consumeEvents(
      happened.subject,
      async (events) => void received.push(...events.map(({ payload }) => (payload as { n: number }).n)),
    );
    return received;
  };

  it('that is killed and comes back: requests are unavailable meanwhile and answered after, no event is lost', async () => {
    const replica = await startReplica('only', await harness.connect('catalog'));
    const emitter = await harness.connect('catalog');
    const bus = new MessageBus(await harness.connect('api-gateway'), testTopology['api-gateway']);
    const received = await listen();
    await emitter.publishEvents([event(1)]);

    expect(emitter.disconnectedSince).toBeNull();
    await harness.server.kill();
    await eventually(() => expect(emitter.disconnectedSince).toEqual(expect.any(Number)));
    const refused = await bus
      .request(echo, { text: 'x' }, newRequestContext({ budgetMs: 500 }))
      .catch((error: unknown) => error);
    expect(['dependency_unavailable', 'deadline_exceeded']).toContain((refused as { reason: string }).reason);
    await expect(emitter.publishEvents([event(2)])).rejects.toThrow();

    await harness.server.restart();
    await eventually(() => bus.request(echo, { text: 'x' }, newRequestContext({ budgetMs: 500 })), {
      withinMs: 20_000,
    });
    await eventually(() => emitter.publishEvents([event(2)]), { withinMs: 20_000 });
    await eventually(() => expect(emitter.disconnectedSince).toBeNull());
    await eventually(() => expect(new Set(received)).toEqual(new Set([1, 2])), { withinMs: 20_000 });
    await replica.close();
  });

  it("that is killed takes nobody's time: who waits for an answer is told at once that there will be none", async () => {
    const replica = await startReplica('only', await harness.connect('catalog'));
    const bus = new MessageBus(await harness.connect('api-gateway'), testTopology['api-gateway']);
    const waiting = bus.request(wait, { ticket: 'lost' }, newRequestContext()).catch((error: unknown) => error);
    await eventually(() => expect(replica.log.held.has('lost')).toBe(true));
    await harness.server.kill();
    const killedAt = Date.now();
    expect(await waiting).toMatchObject({ reason: 'answer_lost' });
    expect(Date.now() - killedAt).toBeLessThan(6_000);
    replica.log.held.get('lost')!();
    await harness.server.restart();
    await replica.close();
  });

  it('outlives a process: who waits for it learns within two seconds that it is gone; who waits for another is not disturbed', async () => {
    const [gone, other] = [await harness.connect('catalog'), await harness.connect('catalog')];
    const replicas = [await startReplica('gone', gone), await startReplica('other', other)];
    const bus = new MessageBus(await harness.connect('api-gateway'), testTopology['api-gateway']);
    const tickets = Array.from({ length: 20 }, (_, n) => `${n}`);
    const answers = tickets.map((ticket) =>
      bus.request(wait, { ticket }, newRequestContext()).catch((error: unknown) => error),
    );
    await eventually(() => expect(replicas.reduce((sum, { log }) => sum + log.held.size, 0)).toBe(20));
    await (gone.server as unknown as { unwrap(): NatsConnection }).unwrap().close();
    const goneAt = performance.now();
    const isLost = (ticket: string): boolean => replicas[0]!.log.held.has(ticket);
    for (const ticket of tickets.filter(isLost))
      expect(await answers[Number(ticket)]).toMatchObject({ reason: 'answer_lost' });
    expect(performance.now() - goneAt).toBeLessThan(6_000);
    replicas.forEach(({ log }) => log.held.forEach((answer) => answer()));
    for (const ticket of tickets.filter((ticket) => !isLost(ticket)))
      expect(await answers[Number(ticket)]).toEqual({ ticket });
    await replicas[1]!.close();
  });

  it('that carries many large answers at once loses none, though reading takes longer than the silence of a dead process', async () => {
    const replica = await startReplica('only', await harness.connect('catalog'));
    const bus = new MessageBus(await harness.connect('api-gateway'), testTopology['api-gateway']);
    const text = '"\\\n€'.repeat(1_048_576 / 6);
    const answers = await Promise.allSettled(
      Array.from({ length: 64 }, () => bus.request(slowEcho, { text }, newRequestContext({ budgetMs: 60_000 }))),
    );
    expect(answers.filter((answer) => answer.status === 'rejected' || answer.value.text !== text)).toEqual([]);
    await replica.close();
  });

  it('that comes back without its memory is taught it again, and events flow', async () => {
    const emitter = await harness.connect('catalog');
    const received = await listen();
    await emitter.publishEvents([event(1)]);
    await eventually(() => expect(received).toContain(1));

    await harness.server.restart({ forgetting: true });
    await eventually(() => emitter.publishEvents([event(2)]), { withinMs: 20_000 });
    await eventually(() => expect(received).toContain(2), { withinMs: 20_000 });
  });

  it('that carries garbage stops nobody', async () => {
    const replica = await startReplica('only', await harness.connect('catalog'));
    const bus = new MessageBus(await harness.connect('api-gateway'), testTopology['api-gateway']);
    const received = await listen();
    const [asker, emitter] = await Promise.all([rawConnection(harness, 'gateway'), rawConnection(harness, 'catalog')]);
    const frames = [
      '',
      '{',
      'null',
      '[]',
      '{"pattern":1}',
      '\u0000'.repeat(5_000),
      '{"id":"x","data":null}',
      '['.repeat(20_000),
    ];
    for (let n = 0; n < countOf('garbage'); n += 1) {
      const garbage = frames[n % frames.length]!;
      asker.publish(echo.subject, garbage, { reply: `_INBOX_gateway.${newId()}.catalog.1` });
      emitter.publish(happened.subject, garbage);
    }
    await Promise.all([asker.flush(), emitter.flush()]);

    expect((await bus.request(echo, { text: 'still here' }, newRequestContext())).text).toBe('still here');
    await (await harness.connect('catalog')).publishEvents([event(9)]);
    await eventually(() => expect(received).toEqual([9]));
    await Promise.all([asker.close(), emitter.close(), replica.close()]);
  });

  it('that carries more than one answer to a request: the first counts, and no other request receives the rest', async () => {
    const answering = await rawConnection(harness, 'catalog');
    answering.subscribe(wait.subject, {
      queue: 'catalog',
      callback: (_error, message) => {
        const { ticket } = message.json<RequestEnvelope>().data as { ticket: string };
        for (const answer of [ticket, 'another', 'yet another'])
          message.respond(JSON.stringify({ ok: { ticket: answer } }));
      },
    });
    await answering.flush();
    const bus = new MessageBus(await harness.connect('api-gateway'), testTopology['api-gateway']);
    for (const ticket of ['1', '2', '3'])
      expect(await bus.request(wait, { ticket }, newRequestContext())).toEqual({ ticket });
    await answering.close();
  });

  it('tells nobody but the two where a request is answered', async () => {
    const watching = await rawConnection(harness, 'api-gateway');
    const replica = await startReplica('only', await harness.connect('catalog'));
    const bus = new MessageBus(await harness.connect('api-gateway'), testTopology['api-gateway']);
    const progress: string[] = [];
    const inboxes: string[] = [];
    watching.subscribe(progressSubject('catalog'), {
      callback: (_error, message) => void progress.push(message.string()),
    });
    watching.subscribe('_INBOX_api_gateway.>', { callback: (_error, { subject }) => void inboxes.push(subject) });
    await watching.flush();
    const asked = bus.request(wait, { ticket: 'x' }, newRequestContext());
    await eventually(() => expect(progress.some((text) => text !== '[]')).toBe(true));
    replica.log.held.get('x')!();
    await asked;
    await eventually(() => expect(inboxes).toHaveLength(1));
    expect(progress.join()).not.toContain(inboxes[0]!.split('.')[1]);
    await watching.close();
    await replica.close();
  });
});

/** A connection that sends what no service would send. */
function rawConnection(harness: NatsHarness, service: TestService): Promise<NatsConnection> {
  return connect({
    servers: [harness.server.url],
    authenticator: nkeyAuthenticator(new TextEncoder().encode(harness.seedOf(service))),
    inboxPrefix: `_INBOX_${service}`,
  });
}
