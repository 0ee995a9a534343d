import { reply } from '@market/sdk/seller';
import { eventually, freePort, startMarketplace, type RunningMarketplace } from '@market/testing';
import { callOnce, payFor, withRelayId } from '../support/buyer.js';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

type Line = Record<string, unknown>;

inEachMode('telemetry', ({ mode }) => {
  let marketplace: RunningMarketplace;
  let buyer: Agent;
  let shop: Shop;
  let requestId: string;

  beforeAll(async () => {
    marketplace = await startMarketplace({ mode, env: { LOG_LEVEL: 'info,InstanceLoader=warn' } });
    const seller = await registerAgent(marketplace);
    buyer = await registerAgent(marketplace);
    shop = await openShop(seller, ({ body }) => ({ echo: body }));
    const relayRequestId = await payFor(buyer, shop.listing, { n: 1 });
    const answer = await callOnce(buyer, shop.listing, { n: 1 }, withRelayId(relayRequestId));
    expect(answer.status).toBe(200);
    requestId = answer.headers.get('x-request-id')!;
  }, 240_000);
  afterAll(async () => {
    await shop?.close();
    await marketplace?.stop();
  }, 120_000);

  const linesOf = (id: string): Line[] =>
    marketplace.processes
      .flatMap((name) => marketplace.logs(name).split('\n'))
      .filter((line) => line.includes(id))
      .map((line) => JSON.parse(line) as Line);

  const metrics = (): Promise<string[]> =>
    Promise.all(
      marketplace.processes.map(async (name) => (await fetch(`${marketplace.internalUrl(name)}/metrics`)).text()),
    );
  const sumsOf =
    (texts: string[]) =>
    (series: RegExp): number =>
      texts
        .flatMap((text) => text.split('\n'))
        .filter((line) => series.test(line))
        .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);

  it('finds all that a paid call did in every service by the request id of its answer', async () => {
    // A line is written after the answer was sent, and each process writes its lines in batches.
    const lines = await eventually(() => {
      const written = linesOf(requestId);
      expect(written.map(({ msg }) => msg)).toEqual(
        expect.arrayContaining([
          'request',
          'rpc.gateway.execute-call.v1',
          'rpc.payments-ledger.settle-payment.v1',
          'call_completed',
        ]),
      );
      return written;
    });
    expect(lines).toContainEqual(
      expect.objectContaining({
        context: 'HttpRequest',
        method: 'POST',
        route: '/api/v1/gateway/:listingId',
        status: 200,
        account_id: buyer.id,
        key_id: expect.any(String),
        trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        params: { listingId: shop.listing.id },
      }),
    );
    expect(lines.filter(({ context }) => context === 'BusRequest').map(({ msg, outcome }) => [msg, outcome])).toEqual(
      expect.arrayContaining([
        ['rpc.gateway.execute-call.v1', 'answered'],
        ['rpc.payments-ledger.authorize-payment.v1', 'authorized'],
        ['rpc.payments-ledger.settle-payment.v1', 'ok'],
      ]),
    );
    for (const msg of ['forwarded', 'stored'])
      expect(lines).toContainEqual(
        expect.objectContaining({ context: 'Call', msg, listing_id: shop.listing.id, payment_id: expect.any(String) }),
      );
    expect(new Set(lines.map(({ trace_id }) => trace_id)).size).toBe(1);
    expect(lines).toContainEqual(
      expect.objectContaining({ context: 'Journal', msg: 'call_completed', amount_micros: '250000' }),
    );
  });

  it('says why a request was refused, and nothing of what it carried', async () => {
    const answer = await fetch(`${marketplace.baseUrl}/api/v1/me?secret=in-the-query`, {
      headers: { authorization: 'Bearer sk_live_not-a-key' },
    });
    expect(answer.status).toBe(401);
    const line = await eventually(() => {
      const [written] = linesOf(answer.headers.get('x-request-id')!);
      expect(written).toBeDefined();
      return written;
    });
    expect(line).toMatchObject({ context: 'HttpRequest', route: '/api/v1/me', status: 401, outcome: 'unauthorized' });
    expect(JSON.stringify(line)).not.toMatch(/in-the-query|not-a-key/);
  });

  it('counts requests, statements, events and money on the internal ports', async () => {
    const sumOf = sumsOf(await metrics());
    expect(sumOf(/^market_posted_micros_total\{.*type="seller_credit"/)).toBe(250_000);
    expect(sumOf(/^market_posted_micros_total\{.*type="marketplace_fee"/)).toBe(12_500);
    expect(
      sumOf(
        /^http_server_request_duration_seconds_count\{.*route="\/api\/v1\/gateway\/:listingId",.*status_code="402"/,
      ),
    ).toBe(1);
    expect(sumOf(/^rpc_server_call_duration_seconds_count\{.*authorize-payment.*outcome="authorized"/)).toBe(1);
    expect(sumOf(/^rpc_client_call_duration_seconds_count\{.*execute-call/)).toBe(2);
    expect(sumOf(/^db_client_operation_duration_seconds_count\{.*name="commit",error_type=""/)).toBeGreaterThan(0);
    expect(sumOf(/^db_client_connection_count\{.*state="total"/)).toBeGreaterThan(0);
    expect(sumOf(/^market_event_queue_length\{.*queue="dead_letters"/)).toBe(0);
    expect(sumOf(/^nodejs_eventloop_lag_seconds /)).toBeGreaterThanOrEqual(0);
    expect(sumOf(/^market_dead_letters_oldest_seconds\{/)).toBe(0);
    for (const step of ['quoted', 'paid', 'authorized', 'delivered', 'settled'])
      expect([step, sumOf(new RegExp(`^market_call_steps_total\\{step="${step}"`))]).toEqual([step, 1]);
    expect(sumOf(/^market_call_steps_total\{step="not_billable"/)).toBe(0);
    for (const part of ['seller', 'settlement', 'ours'])
      expect([part, sumOf(new RegExp(`^market_call_part_duration_seconds_count\\{part="${part}"`))]).toEqual([part, 1]);
  });

  it('counts a call that its seller failed, with the reason, and no charge of it', async () => {
    const failing = await openShop(await registerAgent(marketplace), () => reply(500, { error: 'out of order' }));
    const relayRequestId = await payFor(buyer, failing.listing, { n: 2 });
    const { headers } = await callOnce(buyer, failing.listing, { n: 2 }, withRelayId(relayRequestId));
    await failing.close();
    await eventually(() =>
      expect(linesOf(headers.get('x-request-id')!)).toContainEqual(
        expect.objectContaining({ context: 'Call', msg: 'not_billable', reason: 'seller_error', seller_status: 500 }),
      ),
    );
    const sumOf = sumsOf(await metrics());
    expect(sumOf(/^market_call_steps_total\{step="not_billable",reason="seller_error"/)).toBe(1);
    expect(sumOf(/^market_call_steps_total\{step="paid"/)).toBe(2);
    expect(sumOf(/^market_call_steps_total\{step="settled"/)).toBe(1);
  });

  it('counts the attempts to send events to webhooks by what became of them', async () => {
    const webhook = await buyer.market.webhooks.create({ url: `http://127.0.0.1:${await freePort()}` });
    expect(await buyer.market.webhooks.test(webhook)).toMatchObject({ failure: 'unreachable' });
    const sumOf = sumsOf(await metrics());
    expect(sumOf(/^market_webhook_attempt_duration_seconds_count\{outcome="unreachable"/)).toBe(1);
  });
});
