import { topology, type OutputOf, type RequestOf } from '@market/contracts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhookDeliveries,
  listWebhooks,
  replayWebhookDelivery,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
  webhookDisabled,
} from '@market/contracts/gateway';
import { agentSuspensionChanged } from '@market/contracts/identity';
import { eventsAdded, readEvents, type AccountEvent } from '@market/contracts/reputation';
import { newId } from '@market/kernel';
import { MessageBus } from '@market/messaging';
import { connectFake, eventually } from '@market/testing';
import { setTimeout as delay } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { as, reasonOf, refusalOf, startGateway, type GatewayHarness } from '../support/gateway-harness.js';
import { answer, held, startSeller, type Behaviour, type TestSeller } from '../support/test-seller.js';

const SECOND = 1;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const WAITS = [5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];
const accepted: Behaviour = (_request, response) => void response.writeHead(204).end();

/** An account with a webhook, and the server that it leads to. */
interface Hook {
  account: string;
  id: string;
  secret: string;
  receiver: TestSeller;
}

describe('a webhook', () => {
  let harness: GatewayHarness;
  /** Answers for the events of accounts, numbered as reputation does. */
  let reputation: { bus: MessageBus; close(): Promise<unknown> };
  const events = new Map<string, AccountEvent[]>();
  const receivers: TestSeller[] = [];

  beforeAll(async () => {
    harness = await startGateway({ replicas: 2, env: { GATEWAY_PRUNE_INTERVAL_MS: '100' } });
    const link = await connectFake(harness.transport, 'reputation', readEvents, ({ accountId, after, limit }) => {
      const all = events.get(accountId) ?? [];
      const further = after === 'now' ? [] : all.slice(Number(after));
      return {
        items: further.slice(0, limit),
        hasMore: further.length > limit,
        latest: String(all.length),
        total: all.length,
      };
    });
    reputation = { bus: new MessageBus(link, topology.reputation), close: () => link.server.close() };
  });
  afterEach(async () => {
    await harness.db.inspect('TRUNCATE gateway.webhooks, gateway.webhook_deliveries');
    await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()));
  });
  afterAll(async () => {
    await reputation.close();
    await harness.stop();
  });

  const happen = (
    account: string,
    type: string,
    data: Record<string, unknown> = {},
    isSignalled = true,
  ): AccountEvent => {
    const all = events.get(account) ?? [];
    const event = { id: String(all.length + 1), type, at: new Date().toISOString(), data };
    events.set(account, [...all, event]);
    if (isSignalled) reputation.bus.signal(eventsAdded, { accountIds: [account] });
    return event;
  };
  const open = async (
    behaviour: Behaviour = accepted,
    options: Partial<RequestOf<typeof createWebhook>> = {},
    account: string = newId(),
  ): Promise<Hook> => {
    const receiver = await startSeller(behaviour);
    receivers.push(receiver);
    const { id, secret } = await harness.edge.request(createWebhook, { url: receiver.url, ...options }, as(account));
    return { account, id, secret, receiver };
  };
  const view = ({ id, account }: Hook): Promise<OutputOf<typeof getWebhook>> =>
    harness.edge.request(getWebhook, { webhook_id: id }, as(account));
  const log = async ({ id, account }: Hook, filter: Partial<RequestOf<typeof listWebhookDeliveries>> = {}) =>
    harness.edge.request(listWebhookDeliveries, { webhook_id: id, page: 1, limit: 100, ...filter }, as(account));
  const replay = ({ account }: Hook, delivery: { id: string }) =>
    harness.edge.request(replayWebhookDelivery, { delivery_id: delivery.id }, as(account));
  const update = ({ id, account }: Hook, changes: Omit<RequestOf<typeof updateWebhook>, 'webhook_id'>) =>
    harness.edge.request(updateWebhook, { webhook_id: id, ...changes }, as(account));
  const rotate = ({ id, account }: Hook, overlap_seconds?: number) =>
    harness.edge.request(rotateWebhookSecret, { webhook_id: id, overlap_seconds }, as(account));
  const verified = ({ receiver }: Hook, secret: string, index = -1): unknown => {
    const { rawBody, headers } = receiver.requests.at(index)!;
    return new Webhook(secret).verify(rawBody, headers as Record<string, string>);
  };
  const eventsAt = ({ receiver }: Hook): string[] =>
    receiver.requests.map(({ rawBody }) => (JSON.parse(rawBody) as AccountEvent).id);
  /** Lets time pass for all webhooks: every time in their rows moves into the past. */
  const pass = async (seconds: number): Promise<void> => {
    // Once a webhook is due, so are its deliveries.
    const columns = {
      webhook_deliveries: 'due_at started_at created_at',
      webhooks: 'due_at leased_until enabled_at last_success_at last_failure_at created_at previous_secret_expires_at',
    };
    for (const [table, names] of Object.entries(columns))
      await harness.db.inspect(
        `UPDATE gateway.${table} SET ${names
          .split(' ')
          .map((name) => `${name} = ${name} - $1 * interval '1 second'`)
          .join(', ')}`,
        [seconds],
      );
  };
  /** Long enough for both processes to look several times. */
  const aWhile = (): Promise<void> => delay(1_500);

  it('gets what happens after it was made, of the types it chose, signed so that a stock library verifies it', async () => {
    const account = newId();
    happen(account, 'sale');
    const [all, some] = [await open(accepted, {}, account), await open(accepted, { event_types: ['refund'] }, account)];
    const sale = happen(account, 'sale', { request_id: newId(), text: 'Zürich €' });
    const refund = happen(account, 'refund');
    happen(newId(), 'sale');
    await eventually(() => expect(eventsAt(all).toSorted()).toEqual(['2', '3']));
    await eventually(() => expect(eventsAt(some)).toEqual(['3']));
    expect([verified(all, all.secret, 0), verified(all, all.secret, 1)]).toEqual(
      eventsAt(all).map((id) => (id === '2' ? sale : refund)),
    );
    expect(verified(some, some.secret)).toEqual(refund);
    expect(() => verified(some, all.secret)).toThrow();
    expect(some.receiver.requests[0]!.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': `evt_${account}_3`,
    });
    await eventually(async () => {
      const { items, total } = await log(all);
      expect([total, items.map(({ event, status, next_attempt_at }) => [event, status, next_attempt_at])]).toEqual([
        2,
        [
          [refund, 'delivered', null],
          [sale, 'delivered', null],
        ],
      ]);
      expect(items[0]).toMatchObject({
        message_id: `evt_${account}_3`,
        attempts: [{ status_code: 204, failure: null, latency_ms: expect.any(Number) as number }],
      });
    });
    expect(await view(all)).toMatchObject({ status: 'active', last_success_at: expect.stringMatching(/Z$/) as string });
  });

  it('is found by who looks, where the signal of an event was lost', async () => {
    const hook = await open();
    // A new one looks at once.
    await aWhile();
    happen(hook.account, 'sale', {}, false);
    await aWhile();
    expect(hook.receiver.requests).toEqual([]);
    await pass(60);
    await eventually(() => expect(eventsAt(hook)).toEqual(['1']));
  });

  it('is tried for three days, ever less often, then disabled, which is told of once; enabled again, it gets what waited', async () => {
    const hook = await open(answer(503, 'busy', {}));
    happen(hook.account, 'sale');
    for (const [index, wait] of WAITS.entries()) {
      await eventually(async () => expect((await log(hook)).items[0]?.attempts).toHaveLength(index + 1));
      const [delivery] = (await log(hook)).items;
      expect([delivery!.status, delivery!.attempts[index]]).toMatchObject([
        'pending',
        { status_code: 503, failure: 'bad_status' },
      ]);
      const secondsFrom = (ms: number): number => (Date.parse(delivery!.next_attempt_at!) - ms) / 1_000;
      expect(secondsFrom(Date.parse(delivery!.attempts[index]!.at))).toBeGreaterThan(wait - 10);
      expect(secondsFrom(Date.now())).toBeLessThanOrEqual(wait * 1.1);
      expect((await view(hook)).status).toBe('active');
      await pass(wait * 1.1);
    }
    await eventually(async () =>
      expect(await view(hook)).toMatchObject({ status: 'disabled', disabled_reason: 'failing', last_success_at: null }),
    );
    const [failed] = (await log(hook, { status: 'failed' })).items;
    expect([failed!.attempts.length, failed!.next_attempt_at]).toEqual([WAITS.length + 1, null]);
    expect(new Set(hook.receiver.requests.map(({ headers }) => headers['webhook-id']))).toEqual(
      new Set([failed!.message_id]),
    );
    const told = await harness.db.inspect<{ payload: unknown }>(
      'SELECT payload FROM gateway.outbox WHERE subject = $1',
      [webhookDisabled.subject],
    );
    expect(told.map(({ payload }) => webhookDisabled.payload.parse(payload))).toMatchObject([
      { accountId: hook.account, webhookId: hook.id, reason: 'failing' },
    ]);

    happen(hook.account, 'refund');
    await replay(hook, failed!);
    hook.receiver.behave(accepted);
    await aWhile();
    expect(hook.receiver.requests).toHaveLength(WAITS.length + 1);
    expect(await update(hook, { status: 'active' })).toMatchObject({ status: 'active', disabled_reason: null });
    await eventually(() =>
      expect(
        eventsAt(hook)
          .slice(WAITS.length + 1)
          .toSorted(),
      ).toEqual(['1', '2']),
    );
    await eventually(async () => expect((await log(hook, { status: 'delivered' })).total).toBe(2));
  });

  it('stays active when one event is never accepted and others are', async () => {
    const hook = await open((request, response) => {
      const { type } = JSON.parse(request.rawBody) as AccountEvent;
      response.writeHead(type === 'review' ? 500 : 200).end('not JSON');
    });
    happen(hook.account, 'review');
    await eventually(async () => expect((await log(hook)).items[0]?.attempts).toHaveLength(1));
    happen(hook.account, 'sale');
    await eventually(async () => expect((await log(hook, { status: 'delivered' })).total).toBe(1));
    await harness.db.inspect('UPDATE gateway.webhook_deliveries SET tries = $1, due_at = now() WHERE status = $2', [
      WAITS.length,
      'pending',
    ]);
    await pass(60);
    await eventually(async () => expect((await log(hook, { status: 'failed' })).total).toBe(1));
    expect((await view(hook)).status).toBe('active');
  });

  it('that is gone is disabled at once, and a redirect is not followed', async () => {
    const target = await open();
    const [gone, moved] = [await open(answer(410, '')), await open(answer(307, '', { location: target.receiver.url }))];
    for (const { account } of [gone, moved]) happen(account, 'sale');
    await eventually(async () =>
      expect(await view(gone)).toMatchObject({ status: 'disabled', disabled_reason: 'gone' }),
    );
    await eventually(async () =>
      expect((await log(moved)).items[0]).toMatchObject({
        status: 'pending',
        attempts: [{ status_code: 307, failure: 'bad_status' }],
      }),
    );
    expect(target.receiver.requests).toEqual([]);
  });

  it('that hangs delays no other, is served by one process at a time, and by another when that is lost', async () => {
    const { behaviour, release } = held(accepted);
    const [slow, quick] = [await open(behaviour), await open()];
    const sale = happen(slow.account, 'sale');
    await eventually(() => expect(slow.receiver.requests).toHaveLength(1));
    happen(slow.account, 'sale');
    happen(quick.account, 'sale');
    await eventually(() => expect(quick.receiver.requests).toHaveLength(1));
    await aWhile();
    expect(eventsAt(slow)).toEqual([sale.id]);
    await pass(60);
    await eventually(() => expect(eventsAt(slow)).toContain('2'));
    expect(eventsAt(slow).filter((id) => id === sale.id)).toHaveLength(2);
    expect(new Set(slow.receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
    release();
    await eventually(async () => expect((await log(slow, { status: 'delivered' })).total).toBe(2));
  });

  it('gets what was taken up while events cannot be read, and lets them wait while a thousand are pending', async () => {
    const hook = await open();
    happen(hook.account, 'sale');
    await eventually(async () => expect((await log(hook, { status: 'delivered' })).total).toBe(1));
    const find = harness.transport.lose(readEvents, 'request');
    await replay(hook, (await log(hook)).items[0]!);
    await eventually(() => expect(eventsAt(hook)).toEqual(['1', '1']));
    find();
    await harness.db.inspect(
      `INSERT INTO gateway.webhook_deliveries (id, webhook_id, event_id, body, due_at)
       SELECT gen_random_uuid(), $1, -n, '{}', now() + interval '1 day' FROM generate_series(1, 1000) n`,
      [hook.id],
    );
    happen(hook.account, 'refund');
    await aWhile();
    expect((await log(hook)).total).toBe(1_001);
    await harness.db.inspect('DELETE FROM gateway.webhook_deliveries WHERE event_id = -1');
    await eventually(() => expect(eventsAt(hook)).toEqual(['1', '1', '2']));
  });

  it('signs with both secrets while a rotation overlaps, and can be read by nobody in the database', async () => {
    const hook = await open();
    const { secret } = await rotate(hook, 3_600);
    const sentTo = async (): Promise<void> => {
      const before = hook.receiver.requests.length;
      happen(hook.account, 'sale');
      await eventually(() => expect(hook.receiver.requests).toHaveLength(before + 1));
    };
    await sentTo();
    for (const valid of [hook.secret, secret]) expect(() => verified(hook, valid)).not.toThrow();
    expect((await view(hook)).previous_secret_expires_at).not.toBeNull();
    await pass(3_600);
    await sentTo();
    expect(() => verified(hook, secret)).not.toThrow();
    expect(() => verified(hook, hook.secret)).toThrow();
    const { secret: third } = await rotate(hook, 0);
    await sentTo();
    expect(() => verified(hook, third)).not.toThrow();
    expect(() => verified(hook, secret)).toThrow();
    const dump = JSON.stringify(await harness.db.inspect('SELECT w::text FROM gateway.webhooks w'));
    for (const text of [third, hook.receiver.url, Buffer.from(hook.receiver.url).toString('hex')])
      expect(dump).not.toContain(text);
    expect(JSON.stringify(await view(hook))).not.toContain('whsec_');
  });

  it('is tested at once, also while it is paused, and not more than ten times a minute', async () => {
    const hook = await open(answer(500, '{}'));
    await update(hook, { status: 'paused' });
    const test = () => harness.edge.request(testWebhook, { webhook_id: hook.id }, as(hook.account));
    expect(await test()).toMatchObject({ success: false, status_code: 500, failure: 'bad_status' });
    hook.receiver.behave(accepted);
    const passed = await test();
    expect(passed).toMatchObject({ success: true, status_code: 204, failure: null });
    expect(verified(hook, hook.secret)).toMatchObject({ id: '0', type: 'test', data: { webhook_id: hook.id } });
    expect(hook.receiver.requests.at(-1)!.headers['webhook-id']).toBe(passed.message_id);
    expect((await log(hook)).total).toBe(0);
    await hook.receiver.stop();
    receivers.splice(receivers.indexOf(hook.receiver), 1);
    expect(await test()).toMatchObject({ success: false, status_code: null, failure: 'unreachable' });
    // Each of the two processes counts for itself.
    const answers = await Promise.allSettled(Array.from({ length: 18 }, test));
    const refusals = answers.filter((answer) => answer.status === 'rejected').map(({ reason }) => reason as unknown);
    expect(refusals).toEqual([expect.objectContaining({ reason: 'too_many_tests' })]);
  });

  it('is its own account’s alone, one of at most ten, and leads to no address that may not be called', async () => {
    const hook = await open();
    const stranger = { ...hook, account: newId() };
    happen(hook.account, 'sale');
    const [delivery] = await eventually(async () => {
      const { items } = await log(hook);
      expect(items).toHaveLength(1);
      return items;
    });
    for (const request of [
      view(stranger),
      log(stranger),
      update(stranger, { status: 'paused' }),
      rotate(stranger),
      harness.edge.request(testWebhook, { webhook_id: hook.id }, as(stranger.account)),
      harness.edge.request(deleteWebhook, { webhook_id: hook.id }, as(stranger.account)),
    ])
      expect(await reasonOf(request)).toBe('webhook_not_found');
    expect((await harness.edge.request(listWebhooks, {}, as(stranger.account))).webhooks).toEqual([]);
    for (const request of [replay(stranger, delivery!), replay(hook, { id: newId() })])
      expect(await reasonOf(request)).toBe('delivery_not_found');

    const made = await Promise.allSettled(Array.from({ length: 12 }, () => open(accepted, {}, hook.account)));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(9);
    expect((await harness.edge.request(listWebhooks, {}, as(hook.account))).webhooks).toHaveLength(10);
    const refused = await refusalOf(open(accepted, { url: 'http://127.0.0.1:6379/' }, stranger.account));
    expect([refused.reason, refused.details]).toEqual(['webhook_url_refused', { problem: 'port_not_allowed' }]);
    expect(await reasonOf(update(hook, { url: 'ftp://example.com' }))).toBe('webhook_url_refused');
  });

  it('gets nothing while its account is suspended, and then all of it', async () => {
    const [hook, other] = [await open(answer(500, '{}')), await open()];
    happen(hook.account, 'sale');
    await eventually(async () => expect((await log(hook)).items[0]?.attempts).toHaveLength(1));
    const link = await harness.transport.connect('identity', topology.identity);
    const suspend = (version: number, isSuspended: boolean): Promise<void> => {
      const payload = { agentId: hook.account, version, isSuspended, changedAt: new Date().toISOString() };
      return link.publishEvents([{ id: newId(), subject: agentSuspensionChanged.subject, payload, requestId: 'test' }]);
    };
    const stored = async (version: number) =>
      eventually(async () =>
        expect(
          await harness.db.inspect('SELECT version FROM gateway.account_suspensions WHERE account_id = $1', [
            hook.account,
          ]),
        ).toEqual([{ version }]),
      );
    await suspend(2, true);
    await stored(2);
    // Arrives late, and was true before.
    await suspend(1, false);
    await pass(10 * MINUTE);
    for (const account of [hook.account, other.account]) happen(account, 'sale');
    await eventually(() => expect(eventsAt(other)).toEqual(['1']));
    await aWhile();
    expect(eventsAt(hook)).toEqual(['1']);
    hook.receiver.behave(accepted);
    await suspend(3, false);
    await eventually(() => expect(eventsAt(hook).toSorted()).toEqual(['1', '1', '2']));
  });

  it('is deleted with what it would have got, and its log is kept for a month', async () => {
    const [deleted, kept] = [await open(answer(500, '{}')), await open()];
    for (const { account } of [deleted, kept]) happen(account, 'sale');
    await eventually(async () => expect((await log(deleted)).items[0]?.attempts).toHaveLength(1));
    await eventually(async () => expect((await log(kept)).items[0]?.status).toBe('delivered'));
    await harness.edge.request(deleteWebhook, { webhook_id: deleted.id }, as(deleted.account));
    expect(await reasonOf(log(deleted))).toBe('webhook_not_found');
    await pass(29.9 * 24 * HOUR);
    await aWhile();
    expect(deleted.receiver.requests).toHaveLength(1);
    expect((await log(kept)).total).toBe(1);
    await pass(0.2 * 24 * HOUR);
    await eventually(async () =>
      expect(await harness.db.inspect('SELECT 1 FROM gateway.webhook_deliveries')).toEqual([]),
    );
  });
});
