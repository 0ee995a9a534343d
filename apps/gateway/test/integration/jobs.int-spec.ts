import { topology } from '@market/contracts';
import { listingRemoved } from '@market/contracts/catalog';
import {
  addDeliveryPiece,
  cancelCall,
  deliverJob,
  jobProgressed,
  openContent,
  openDelivery,
  rotateEndpointSecret,
} from '@market/contracts/gateway';
import type { DeliveryKind } from '@market/contracts/gateway';
import { collectPayment, releasePayment, settlePayment } from '@market/contracts/payments-ledger';
import type { OutputOf, RequestOf } from '@market/contracts';
import { newId } from '@market/kernel';
import { newRequestContext } from '@market/messaging';
import { verifyRequest } from '@market/sdk/seller';
import { eventually } from '@market/testing';
import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { signed } from '../../../payments-ledger/test/support/signed-payload.js';
import {
  as,
  BODY,
  expectOutcome,
  reasonOf,
  refusalOf,
  resultOf,
  startGateway,
  type CallOptions,
  type GatewayHarness,
  type Outcome,
  type Shop,
} from '../support/gateway-harness.js';

const ACCEPTED = { 'x-market-job': 'accepted' };
const JSON_HEADERS = { ...ACCEPTED, 'content-type': 'application/json' };

type Delivered = OutputOf<typeof deliverJob>;
type Changes = Partial<{ id: string; at: Date; secret: string; contentType: string; as: DeliveryKind }>;

describe('a call that its seller takes as a job', () => {
  let harness: GatewayHarness;
  beforeAll(async () => {
    harness = await startGateway({
      replicas: 2,
      env: {
        GATEWAY_WAIT_FOR_RESULT_MS: '200',
        GATEWAY_RESUME_INTERVAL_MS: '200',
        PAYMENTS_LEDGER_RESUME_INTERVAL_MS: '200',
      },
    });
  });
  afterAll(() => harness.stop());

  const open = async (accepts: object = {}, offering: object = {}, limits: object = {}): Promise<Shop> => {
    const shop = await harness.open(offering, (_request, response) => {
      response.writeHead(202, JSON_HEADERS).end(JSON.stringify(accepts));
    });
    if (Object.keys(limits).length > 0) await harness.configure(shop, { limits });
    return shop;
  };

  interface Sale {
    buyer: string;
    shop: Shop;
    relayRequestId: string;
    ask: (options?: CallOptions) => Promise<Outcome>;
  }
  const paid = async (shop: Shop): Promise<Sale> => {
    const buyer = newId();
    const relayRequestId = await harness.buy(buyer, shop);
    return { buyer, shop, relayRequestId, ask: (more) => harness.call(buyer, shop, BODY, { relayRequestId, ...more }) };
  };
  /** A call that is only signed for. */
  const signedFor = async (shop: Shop): Promise<Sale & { settles: string | undefined }> => {
    const buyer = newId();
    const { payment } = await harness.quote(buyer, shop);
    const { relay_request_id: relayRequestId, settles } = payment;
    const authorization = await signed({ offer: payment } as never, privateKeyToAccount(generatePrivateKey()));
    const ask = () => harness.call(buyer, shop, BODY, { relayRequestId, authorization });
    return { buyer, shop, relayRequestId, settles, ask };
  };
  const begun = async (sale: Sale): Promise<string> => expectOutcome(await sale.ask(), 'working').job.requestId;

  /** What a stock library of Standard Webhooks signs, as the edge passes it on. */
  const deliver = async (
    shop: Shop,
    requestId: string,
    kind: DeliveryKind,
    body: Buffer | string,
    changes: Changes = {},
  ): Promise<Delivered> => {
    const bytes = Buffer.from(body);
    const { id = `${requestId}-${changes.as ?? kind}-${randomBytes(4).toString('hex')}`, at = new Date() } = changes;
    const signature = new Webhook(changes.secret ?? shop.secret).sign(id, at, bytes.toString('utf8'));
    const input: RequestOf<typeof deliverJob> = {
      requestId,
      kind,
      signed: { id, timestamp: String(Math.floor(at.getTime() / 1_000)), signature },
      contentType: changes.contentType ?? 'application/json',
      body: { base64: bytes.toString('base64') },
    };
    await harness.edge.request(openDelivery, { requestId, kind }, newRequestContext());
    return harness.edge.request(deliverJob, input, newRequestContext());
  };
  const facts = async ({ shop, relayRequestId }: Sale): Promise<[number, number, string]> => [
    shop.seller.requests.length,
    await harness.chargesOf(relayRequestId),
    (await harness.paymentOf(relayRequestId)).state,
  ];

  it('is answered 202 until it is delivered, then as a direct answer is, and is charged once', async () => {
    for (const sell of [paid, signedFor]) {
      const shop = await open({ estimated_seconds: 30, status_url: null }, { deliveryType: 'webhook' });
      const sale = await sell(shop);
      const { job } = expectOutcome(await sale.ask(), 'working');
      expect(job).toMatchObject({ relayRequestId: sale.relayRequestId, percent: null, message: null });
      expect(job.retryAfterSeconds).toBeGreaterThan(20);
      const { headers } = shop.seller.requests[0]!;
      expect(headers['x-market-job-url']).toMatch(new RegExp(`/api/v1/jobs/${job.requestId}$`));
      expect(Number(headers['x-market-job-deadline'])).toBe(Date.parse(job.deadline) / 1_000);
      expect(await facts(sale)).toEqual([1, 0, 'verified']);
      // Another process knows it too.
      expect(expectOutcome(await sale.ask(), 'working').job.requestId).toBe(job.requestId);
      expect((await harness.history(sale.buyer)).items[0]).toMatchObject({
        status: 'forwarding',
        kind: 'job',
        billable: null,
        deadline: job.deadline,
        progress: null,
      });
      expect(await deliver(shop, job.requestId, 'result', '{"n": 1.0}')).toEqual({ status: 'delivered' });
      const answered = expectOutcome(await sale.ask(), 'answered');
      expect(answered.dataJson).toMatch(/,"seller_status_code":200,"seller_response":\{"n": 1\.0\}\}$/);
      expect(resultOf(answered)).toMatchObject({ request_id: job.requestId, billable: true });
      expect(await facts(sale)).toEqual([1, 1, 'completed']);
      expect((await harness.history(sale.buyer)).items[0]).toMatchObject({
        status: 'succeeded',
        kind: 'job',
        retry_after_seconds: null,
      });
      const replay = await deliver(shop, job.requestId, 'result', '{"n": 1.0}');
      expect(replay).toEqual({ status: 'delivered', duplicate: true });
      expect(await reasonOf(deliver(shop, job.requestId, 'result', '{"n": 2}'))).toBe('job_ended');
      expect(await reasonOf(deliver(shop, job.requestId, 'progress', '{}'))).toBe('job_ended');
    }
  });

  it('holds a signature that lasts for the deadline, and settles any other first', async () => {
    const long = await signedFor(await open({}, {}, { job_deadline_seconds: 7_200 }));
    expect(long.settles).toBe('on_delivery');
    await begun(long);
    expect(await facts(long)).toEqual([1, 0, 'verified']);
    const transfers = () =>
      harness.ledger.inspect(
        `SELECT p.received_base_units > 0 AS moved FROM payments_ledger.payments p WHERE relay_request_id = ANY($1) ORDER BY p.id`,
        [[long.relayRequestId, short.relayRequestId]],
      );
    // A listing that does not say that it answers by jobs asks for ten minutes.
    const short = await signedFor(await open());
    expect(short.settles).toBeUndefined();
    const id = await begun(short);
    expect(await transfers()).toEqual([{ moved: false }, { moved: true }]);
    expect(await facts(short)).toEqual([1, 0, 'verified']);
    await deliver(short.shop, id, 'failed', '{"reason":"no"}');
    await eventually(async () => expect(await facts(short)).toEqual([1, 0, 'refund_due']));
    await deliver(long.shop, await begun(long), 'failed', '{}');
    await eventually(async () => expect(await facts(long)).toEqual([1, 0, 'cancelled']));
    const answer = resultOf(expectOutcome(await long.ask(), 'answered'));
    expect(answer).toMatchObject({ billable: false, error: { reason: 'job_failed' } });
    expect(answer).not.toHaveProperty('refund');
  });

  it('that fails is owed back, counts against the seller, and is not made again', async () => {
    const sale = await paid(await open());
    const id = await begun(sale);
    expect(await deliver(sale.shop, id, 'failed', '{"reason":"a login is needed"}')).toEqual({ status: 'failed' });
    const answer = expectOutcome(await sale.ask(), 'answered');
    expect(resultOf(answer)).toMatchObject({
      billable: false,
      seller_response: { reason: 'a login is needed' },
      error: { reason: 'job_failed' },
      refund: { status: 'refund_due' },
      recovery: { next_action: 'request_new_payment_requirements' },
    });
    expect(await facts(sale)).toEqual([1, 0, 'refund_due']);
    expect(await reasonOf(deliver(sale.shop, id, 'result', '{}'))).toBe('job_ended');
    expect((await harness.history(sale.buyer)).items[0]).toMatchObject({ error_code: 'job_failed', kind: 'job' });
  });

  it('whose deadline passes is owed back', async () => {
    const sale = await paid(await open({}, {}, { job_deadline_seconds: 1 }));
    const id = await begun(sale);
    await eventually(async () => expect(await facts(sale)).toEqual([1, 0, 'refund_due']));
    expect(resultOf(expectOutcome(await sale.ask(), 'answered'))).toMatchObject({ error: { reason: 'deadline' } });
    expect(await reasonOf(deliver(sale.shop, id, 'result', '{}'))).toBe('job_ended');
  });

  it('takes what its seller alone has signed for it', async () => {
    const shop = await open();
    const sale = await paid(shop);
    const [id, other] = [await begun(sale), await begun(await paid(shop))];
    const { secret: stranger } = await open();
    const refusals: [string, () => Promise<unknown>][] = [
      ['another kind', () => deliver(shop, id, 'result', '{}', { as: 'progress' })],
      ['another job', () => deliver(shop, id, 'result', '{}', { id: `${other}-result-1` })],
      ['our own request', () => deliver(shop, id, 'result', BODY, { id })],
      ['an old message', () => deliver(shop, id, 'result', '{}', { at: new Date(Date.now() - 301_000) })],
      ['one of later', () => deliver(shop, id, 'result', '{}', { at: new Date(Date.now() + 301_000) })],
      ['another secret', () => deliver(shop, id, 'result', '{}', { secret: stranger })],
      ['an own part with a dash', () => deliver(shop, id, 'result', '{}', { id: `${id}-result-a-b` })],
    ];
    for (const [what, refused] of refusals)
      expect({ what, reason: await reasonOf(refused()) }).toEqual({ what, reason: 'delivery_unsigned' });
    expect(await reasonOf(deliver(shop, newId(), 'result', '{}'))).toBe('job_not_found');
    expect(await reasonOf(deliver(shop, id, 'result', '{"a":'))).toBe('result_refused');
    expect(await reasonOf(deliver(shop, id, 'result', ''))).toBe('result_refused');
    expect(await reasonOf(deliver(shop, id, 'result', 'a,b', { contentType: 'text/csv' }))).toBe('result_refused');
    await harness.configure(shop, { status: 'paused' });
    expect(await deliver(shop, id, 'result', '{"ok":true}')).toEqual({ status: 'delivered' });
  });

  it('is kept and not shown where its signature has died before it is delivered, and asks for another', async () => {
    const sale = await signedFor(await open({}, { deliveryType: 'webhook' }));
    const id = await begun(sale);
    await harness.ledger.inspect(
      `WITH dead AS (
         UPDATE payments_ledger.payments SET state = 'cancelled' WHERE relay_request_id = $1 RETURNING authorization_id)
       UPDATE payments_ledger.authorizations a SET state = 'lapsed' FROM dead WHERE a.id = dead.authorization_id`,
      [sale.relayRequestId],
    );
    expect(await deliver(sale.shop, id, 'result', '{"ok":true}')).toEqual({ status: 'delivered' });
    await eventually(async () => {
      const { payment } = expectOutcome(await sale.ask(), 'payment_required');
      expect(payment.relay_request_id).not.toBe(sale.relayRequestId);
    });
    expect(await reasonOf(harness.edge.request(openContent, { requestId: id }, as(sale.buyer)))).toBe(
      'content_not_found',
    );
    expect(await facts(sale)).toEqual([1, 0, 'cancelled']);
  });

  it('is delivered whatever becomes of its listing meanwhile', async () => {
    const link = await harness.transport.connect('catalog', topology.catalog);
    const other = await harness.open();
    const changes: [string, (shop: Shop) => Promise<unknown>][] = [
      ['its listing is paused', (shop) => harness.configure(shop, { status: 'paused' })],
      ['its listing moves', (shop) => harness.configure(shop, { private_endpoint_url: other.seller.url })],
      [
        'its listing has a new secret',
        ({ offering }) =>
          harness.edge.request(
            rotateEndpointSecret,
            { listing_id: offering.listingId, overlap_seconds: 60 },
            as(offering.sellerId),
          ),
      ],
      [
        'its listing is suspended',
        ({ offering }) => Promise.resolve(harness.catalog.offer({ ...offering, status: 'suspended' })),
      ],
      [
        'its listing is removed',
        async ({ offering }) => {
          harness.catalog.remove(offering);
          const payload = { listingId: offering.listingId, removedAt: new Date().toISOString() };
          await link.publishEvents([{ id: newId(), subject: listingRemoved.subject, payload, requestId: 'test' }]);
          const rows = () =>
            harness.db.inspect('SELECT 1 FROM gateway.endpoints WHERE listing_id = $1 AND removed_at IS NOT NULL', [
              offering.listingId,
            ]);
          await eventually(async () => expect(await rows()).toHaveLength(1));
        },
      ],
    ];
    for (const [what, change] of changes) {
      const sale = await paid(await open());
      const id = await begun(sale);
      await change(sale.shop);
      expect([what, await deliver(sale.shop, id, 'progress', '{"percent":50}')]).toEqual([what, { status: 'working' }]);
      expectOutcome(await sale.ask(), 'working');
      expect([what, await deliver(sale.shop, id, 'result', '{"ok":true}')]).toEqual([what, { status: 'delivered' }]);
      const answered = expectOutcome(await sale.ask(), 'answered');
      expect([what, resultOf(answered)]).toMatchObject([what, { billable: true, seller_response: { ok: true } }]);
      expect([what, ...(await facts(sale))]).toEqual([what, 1, 1, 'completed']);
    }
  });

  it('may be delivered as a file of any size that the listing takes', async () => {
    const sale = await paid(await open({}, { formats: ['json', 'csv'] }));
    const id = await begun(sale);
    const bytes = Buffer.alloc(600_000, 'a,b\n');
    const contentId = newId();
    for (let offset = 0; offset < bytes.length; offset += 262_144) {
      const base64 = bytes.subarray(offset, offset + 262_144).toString('base64');
      await harness.edge.request(addDeliveryPiece, { requestId: id, contentId, offset, base64 }, newRequestContext());
    }
    const messageId = `${id}-result-1`;
    const signedWith = (secret: string): RequestOf<typeof deliverJob> => ({
      requestId: id,
      kind: 'result',
      signed: {
        id: messageId,
        timestamp: String(Math.floor(Date.now() / 1_000)),
        signature: new Webhook(secret).sign(messageId, new Date(), bytes.toString()),
      },
      contentType: 'text/csv; charset=utf-8',
      body: { contentId, size: bytes.length },
    });
    expect(await harness.edge.request(deliverJob, signedWith(sale.shop.secret), newRequestContext())).toEqual({
      status: 'delivered',
    });
    const answered = expectOutcome(await sale.ask(), 'answered');
    expect(answered.content).toMatchObject({ size: bytes.length, contentType: 'text/csv; charset=utf-8' });
    expect(await harness.edge.request(openContent, { requestId: id }, as(sale.buyer))).toMatchObject({
      content: { id: contentId },
    });
  });

  it('keeps the bytes of no stranger', async () => {
    const id = await begun(await paid(await open({}, { formats: ['csv'] })));
    const contentId = newId();
    await harness.edge.request(
      addDeliveryPiece,
      { requestId: id, contentId, offset: 0, base64: 'AAAA' },
      newRequestContext(),
    );
    const signedBy = { id: `${id}-result-1`, timestamp: String(Math.floor(Date.now() / 1_000)), signature: 'v1,AAAA' };
    const input = {
      requestId: id,
      kind: 'result' as const,
      signed: signedBy,
      contentType: 'text/csv',
      body: { contentId, size: 3 },
    };
    expect(await reasonOf(harness.edge.request(deliverJob, input, newRequestContext()))).toBe('delivery_unsigned');
    expect(await harness.db.inspect('SELECT 1 FROM gateway.contents WHERE id = $1', [contentId])).toEqual([]);
  });

  it('tells its progress, which never goes back', async () => {
    const sale = await paid(await open());
    const id = await begun(sale);
    expect(await deliver(sale.shop, id, 'progress', '{"percent":40,"message":"page 8"}')).toEqual({
      status: 'working',
    });
    expect(await reasonOf(deliver(sale.shop, id, 'progress', '{"percent":50}'))).toBe('progress_too_often');
    expect(await reasonOf(deliver(sale.shop, id, 'progress', '{"percent":30}'))).toBe('delivery_refused');
    expect(await reasonOf(deliver(sale.shop, id, 'progress', '{"percent":101}'))).toBe('delivery_refused');
    expect(await reasonOf(deliver(sale.shop, id, 'progress', `{"message":"${'x'.repeat(201)}"}`))).toBe(
      'delivery_refused',
    );
    // What is no plain text is shown to nobody.
    for (const word of ['\\u0000', '\\u001b[31mred', 'a\u202eb', '\\ud800'])
      for (const [kind, body] of [
        ['progress', `{"message":"${word}"}`],
        ['failed', `{"reason":"${word}"}`],
      ] as const)
        expect([body, await reasonOf(deliver(sale.shop, id, kind, body))]).toEqual([body, 'delivery_refused']);
    expect(expectOutcome(await sale.ask(), 'working').job).toMatchObject({ percent: 40, message: 'page 8' });
    expect((await harness.history(sale.shop.offering.sellerId)).items[0]).toMatchObject({
      progress: { percent: 40, message: 'page 8', at: expect.any(String) as string },
    });
    // One a second is stored, and one in ten seconds is told.
    const told = () =>
      harness.db.inspect<{ percent: number }>(
        `SELECT (payload->>'percent')::int AS percent FROM gateway.outbox WHERE subject = $1 AND payload->>'requestId' = $2
         ORDER BY id`,
        [jobProgressed.subject, id],
      );
    const later = (seconds: number) =>
      harness.db.inspect(
        `UPDATE gateway.jobs SET progress_at = progress_at - $2 * interval '1 second', told_at = told_at - $2 * interval '1 second'
         WHERE call_id = $1`,
        [id, seconds],
      );
    await later(2);
    await deliver(sale.shop, id, 'progress', '{"percent":50}');
    expect(await told()).toEqual([{ percent: 40 }]);
    await later(8);
    await deliver(sale.shop, id, 'progress', '{"percent":60}');
    expect(await told()).toEqual([{ percent: 40 }, { percent: 60 }]);
  });

  it('is asked to be cancelled by its buyer alone, once, and ends as its seller says', async () => {
    const sale = await paid(await open());
    const cancel = (buyer: string, requestId: string) => harness.edge.request(cancelCall, { requestId }, as(buyer));
    expect(await reasonOf(cancel(sale.buyer, newId()))).toBe('gateway_request_not_found');
    const id = await begun(sale);
    expect(await reasonOf(cancel(newId(), id))).toBe('gateway_request_not_found');
    expect(await cancel(sale.buyer, id)).toMatchObject({ request_id: id, status: 'cancelling' });
    await cancel(sale.buyer, id);
    await eventually(() => expect(sale.shop.seller.requests).toHaveLength(2));
    const [, told] = sale.shop.seller.requests;
    expect(told!.headers).toMatchObject({ 'x-market-event': 'gateway.cancel', 'x-market-request-id': id });
    expect(JSON.parse(told!.rawBody)).toEqual({ event: 'gateway.cancel', request_id: id });
    expect(verifyRequest({ ...told!, secret: sale.shop.secret })).toBeTruthy();
    expect(expectOutcome(await sale.ask(), 'working').job.requestId).toBe(id);
    await deliver(sale.shop, id, 'failed', '{"reason":"cancelled"}');
    expect(await reasonOf(cancel(sale.buyer, id))).toBe('not_cancellable');
    expect((await facts(sale)).slice(1)).toEqual([0, 'refund_due']);
  });

  it('is looked for at its status_url, which is at the server of the seller', async () => {
    const foreign = await paid(await open({ status_url: 'http://127.0.0.1:9/jobs/1' }));
    expect(resultOf(expectOutcome(await foreign.ask(), 'answered'))).toMatchObject({
      billable: false,
      seller_status_code: 502,
      error: { reason: 'foreign_status_url' },
    });
    expect(await facts(foreign)).toEqual([1, 0, 'verified']);
  });

  it('is asked for at its status_url again, fails when that denies it twice in a row, and is done when it answers', async () => {
    interface Reply {
      status: number | 'none';
      headers?: Record<string, string>;
    }
    // The database notes for how long each job is not asked for, and makes it no time.
    for (const statement of [
      'CREATE TABLE gateway.waits (id serial, call_id uuid, seconds float8)',
      `CREATE FUNCTION gateway.hurry() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
         IF NEW.due_at <= now() + interval '100 seconds' THEN
           INSERT INTO gateway.waits (call_id, seconds) VALUES (NEW.call_id, extract(epoch FROM NEW.due_at - now()));
           NEW.due_at := now();
         END IF;
         RETURN NEW;
       END $$`,
      'CREATE TRIGGER hurry BEFORE UPDATE OF due_at ON gateway.jobs FOR EACH ROW EXECUTE FUNCTION gateway.hurry()',
    ])
      await harness.db.inspect(statement);
    /** @returns how its call ends, or for how long it was not asked for after each reply. */
    const asked = async (replies: Reply[], isOver = true): Promise<object> => {
      const left = [...replies];
      const shop = await harness.open({}, (request, response) => {
        if (request.headers['x-market-event'] === 'gateway.call')
          return void response.writeHead(202, JSON_HEADERS).end('{"status_url":"/jobs/1?of=mine"}');
        const { status, headers } = left.shift() ?? { status: 500 };
        if (status === 'none') return void response.destroy();
        // On a connection that carried another request before, it would be sent a second time.
        const type = { connection: 'close', 'content-type': 'application/json', location: '/elsewhere' };
        response.writeHead(status, { ...type, ...headers }).end(status === 204 ? '' : '{"done":true}');
      });
      const sale = await paid(shop);
      const id = await begun(sale);
      const end = await eventually(
        async () => {
          expect(left).toEqual([]);
          if (isOver) return resultOf(expectOutcome(await sale.ask(), 'answered'));
          const rows = await harness.db.inspect<{ seconds: number }>(
            'SELECT seconds FROM gateway.waits WHERE call_id = $1 ORDER BY id LIMIT $2',
            [id, replies.length],
          );
          expect(rows).toHaveLength(replies.length);
          expectOutcome(await sale.ask(), 'working');
          return rows.map(({ seconds }) => seconds);
        },
        { withinMs: 100_000 },
      );
      const [, poll] = shop.seller.requests;
      expect(poll).toMatchObject({ rawBody: '', headers: { 'x-market-event': 'gateway.job_status' } });
      expect(verifyRequest({ ...poll!, secret: shop.secret })).toBeTruthy();
      return end;
    };
    const of = (...statuses: Reply['status'][]): Reply[] => statuses.map((status) => ({ status }));
    const waiting = (...retryAfter: string[]): Reply[] =>
      retryAfter.map((value) => ({ status: 202, headers: { 'retry-after': value } }));
    const done = { billable: true, seller_response: { done: true } };
    const failed = { billable: false, error: { reason: 'job_failed' } };
    const cases: [string, Promise<object>, object][] = [
      ['asked again', asked(of(408, 425, 429, 302, 307, 500, 503, 'none', 'none', 204, 202, 200)), done],
      ['not found once, and again later', asked(of(404, 503, 404, 202, 410, 'none', 403, 200)), done],
      ...[404, 410, 400, 401, 422].map((status): [string, Promise<object>, object] => [
        `${status} twice`,
        asked(of(202, status, status)),
        failed,
      ]),
      ['different denials', asked(of(404, 410)), failed],
      ['one denial', asked(of(404), false), [5]],
      ['Retry-After', asked(waiting('1', '60', '61', '0', '-1', 'soon', '1.5'), false), [1, 60, 60, 5, 5, 5, 5]],
      ['Retry-After of an error', asked([{ status: 503, headers: { 'retry-after': '60' } }], false), [5]],
    ];
    for (const [what, ends, expected] of cases) expect([what, await ends]).toMatchObject([what, expected]);
    await harness.db.inspect('DROP TRIGGER hurry ON gateway.jobs');
  });

  it('is asked for although another seller is silent', async () => {
    const silent = await harness.open({}, (request, response) => {
      if (request.headers['x-market-event'] === 'gateway.call')
        response.writeHead(202, JSON_HEADERS).end('{"status_url":"/jobs/1"}');
    });
    const quick = await harness.open({}, (request, response) => {
      const isCall = request.headers['x-market-event'] === 'gateway.call';
      response.writeHead(isCall ? 202 : 200, JSON_HEADERS).end('{"status_url":"/jobs/1"}');
    });
    // Each of the two processes would wait for one of them.
    for (const requests of [2, 4]) {
      await begun(await paid(silent));
      await eventually(() => expect(silent.seller.requests).toHaveLength(requests));
    }
    const sale = await paid(quick);
    await begun(sale);
    await eventually(async () => expectOutcome(await sale.ask(), 'answered'));
    expect((await facts(sale)).slice(1)).toEqual([1, 'completed']);
  });

  it('belongs to its Idempotency-Key, and may be free', async () => {
    const shop = await open({}, { priceMicros: '0' });
    const [buyer, key] = [newId(), 'job-1'];
    const { job } = expectOutcome(await harness.call(buyer, shop, BODY, { key }), 'working');
    expect(job.relayRequestId).toBeNull();
    expect(expectOutcome(await harness.call(buyer, shop, BODY, { key }), 'working').job.requestId).toBe(job.requestId);
    await deliver(shop, job.requestId, 'result', '{"free":true}');
    expect(await harness.edge.request(openContent, { requestId: job.requestId }, as(buyer))).toEqual({
      json: '{"free":true}',
    });
    expect(resultOf(expectOutcome(await harness.call(buyer, shop, BODY, { key }), 'answered'))).toMatchObject({
      seller_response: { free: true },
    });
    expect(shop.seller.requests).toHaveLength(1);
    const sale = await paid(await open());
    expectOutcome(await sale.ask({ key }), 'working');
    expectOutcome(await harness.call(sale.buyer, sale.shop, BODY, { key }), 'working');
  });

  it('lets its Idempotency-Key go a day after its end, and not before', async () => {
    const ages = (key: string) =>
      harness.db.inspect<{ hours: number }>(
        'SELECT round(extract(epoch FROM created_at - now()) / 3600)::float8 AS hours FROM gateway.call_keys WHERE key = $1',
        [key],
      );
    for (const [kind, body] of [
      ['result', '{"ok":true}'],
      ['failed', '{}'],
    ] as const) {
      const sale = await paid(await open({}, {}, { job_deadline_seconds: 86_400 }));
      const key = newId();
      const { job } = expectOutcome(await sale.ask({ key }), 'working');
      expect(await ages(key)).toEqual([{ hours: 24 }]);
      // Nor is what was paid owed back before.
      const { retry_until: refundedFrom } = await harness.paymentOf(sale.relayRequestId);
      expect(refundedFrom!.getTime()).toBeGreaterThan(Date.parse(job.deadline));
      await deliver(sale.shop, job.requestId, kind, body);
      expect(await ages(key)).toEqual([{ hours: 0 }]);
      expectOutcome(await sale.ask({ key }), 'answered');
      expect(await ages(key)).toEqual([{ hours: 0 }]);
    }
  });

  it('survives what is lost on the way of its money', async () => {
    const sale = await signedFor(await open({}, { deliveryType: 'batch' }));
    let heal = harness.transport.lose(collectPayment, 'answer');
    expectOutcome(await sale.ask(), 'pending');
    heal();
    const id = await begun(sale);
    heal = harness.transport.lose(settlePayment, 'request');
    expect(await deliver(sale.shop, id, 'result', '{"ok":true}')).toEqual({ status: 'delivered' });
    expectOutcome(await sale.ask(), 'pending');
    heal();
    await eventually(async () => expect(await facts(sale)).toEqual([1, 1, 'completed']));

    const broken = await paid(await open());
    heal = harness.transport.lose(releasePayment, 'request');
    await deliver(broken.shop, await begun(broken), 'failed', '{}');
    heal();
    await eventually(async () => expect(await facts(broken)).toEqual([1, 0, 'refund_due']));
  });

  it('is one of at most 100 of a buyer at one listing, and of 1,000 of all', async () => {
    const shop = await open({}, { deliveryType: 'webhook', priceMicros: '0' });
    const buyer = newId();
    for (let ten = 0; ten < 10; ten += 1)
      await Promise.all(Array.from({ length: 10 }, () => harness.call(buyer, shop)));
    const full = (limit: number) => ({ reason: 'too_many_jobs', details: { limit, retry_after_seconds: 10 } });
    expect(await refusalOf(harness.call(buyer, shop))).toMatchObject(full(100));
    const { job } = expectOutcome(await harness.call(newId(), shop), 'working');
    await harness.db.inspect(
      `INSERT INTO gateway.gateway_requests
       SELECT (jsonb_populate_record(g, jsonb_build_object('id', gen_random_uuid(), 'buyer_id', gen_random_uuid()))).*
       FROM gateway.gateway_requests g, generate_series(102, 1000) WHERE g.id = $1`,
      [job.requestId],
    );
    const before = shop.seller.requests.length;
    expect(await refusalOf(harness.call(newId(), shop))).toMatchObject(full(1_000));
    expect(shop.seller.requests).toHaveLength(before);
  });
});
