import { reply } from '@market/sdk/seller';
import { eventually, freePort, startMarketplace, type RunningMarketplace } from '@market/testing';
import { callOnce, payFor, withRelayId } from '../support/buyer.js';
import { startCollector, type CollectedSpan, type Collector } from '../support/collector.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop, rogueServer, type Shop } from '../support/seller.js';

const CALLER = '00f067aa0ba902b7';
/** The code of OTLP. */
const FAILED = 2;
let traces = 0;
/** Half of all traces are sampled by the last digits of their ids. */
const traceId = (sampled: boolean): string => `${(traces += 1)}`.padStart(19, '4') + (sampled ? '0' : 'f').repeat(13);

inEachMode('traces', ({ mode }) => {
  let collector: Collector;
  let marketplace: RunningMarketplace;
  let buyer: Agent;
  let shop: Shop;
  let bare: Awaited<ReturnType<typeof rogueServer>>;
  const received: (string | string[] | undefined)[] = [];
  let failing: Shop;

  beforeAll(async () => {
    collector = await startCollector({ refusals: 2 });
    marketplace = await startMarketplace({
      mode,
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=a%20key',
        OTEL_TRACES_SAMPLER_ARG: '0.5',
        GATEWAY_QUALITY_INTERVAL_MS: '50',
      },
    });
    buyer = await registerAgent(marketplace);
    bare = await rogueServer((request, response) => {
      received.push(request.headers.traceparent);
      response.end('{}');
    });
    shop = await openShop(await registerAgent(marketplace), undefined, { private_endpoint_url: `${bare.url}/call` });
    failing = await openShop(await registerAgent(marketplace), () => reply(500, { error: 'out of order' }));
  }, 240_000);
  afterAll(async () => {
    await shop?.close();
    await bare?.close();
    await failing?.close();
    await marketplace?.stop();
    await collector?.close();
  }, 120_000);

  const paidCall = async ({ listing }: Shop, trace: string): Promise<void> => {
    const body = { city: 'Bern', secret: 'in-the-body' };
    const paid = withRelayId(await payFor(buyer, listing, body));
    const answer = await callOnce(buyer, listing, body, { ...paid, traceparent: `00-${trace}-${CALLER}-00` });
    expect(answer.status).toBe(200);
  };
  const spansOf = (trace: string): CollectedSpan[] => collector.spans.filter((span) => span.traceId === trace);
  /** The names of a span and its ancestors, from the root. */
  const pathTo = (span: CollectedSpan): string[] => {
    const parent = spansOf(span.traceId).find(({ spanId }) => spanId === span.parentSpanId);
    return [...(parent ? pathTo(parent) : [span.parentSpanId || 'none']), `${span.kind} ${span.name}`];
  };
  const EDGE = [CALLER, '2 POST /api/v1/gateway/:listingId'];
  const GATEWAY = [...EDGE, '3 rpc.gateway.execute-call.v1', '2 rpc.gateway.execute-call.v1'];
  const ledger = (request: string): string[] => [
    ...GATEWAY,
    `3 rpc.payments-ledger.${request}`,
    `2 rpc.payments-ledger.${request}`,
  ];

  /** Consumed by the catalog, the gateway and reputation. */
  const COMPLETED = [...ledger('settle-payment.v1'), '5 evt.payments-ledger.payment-completed.v1'];

  it('shows a paid call as one, from the edge over the bus to statements, seller, settlement and what the others make of it', async () => {
    const trace = traceId(true);
    await paidCall(shop, trace);
    const spans = await eventually(() => {
      const paths = spansOf(trace).map(pathTo);
      for (const path of [
        EDGE,
        [...GATEWAY, '3 POST seller'],
        [...ledger('authorize-payment.v1'), '3 payments.find-by-relay-id'],
        [...ledger('settle-payment.v1'), '3 payments.lock-all'],
        [...ledger('settle-payment.v1'), '3 commit'],
        [...COMPLETED, '3 inbox.record'],
      ])
        expect(paths).toContainEqual(path);
      expect(paths.filter((path) => path.at(-1) === COMPLETED.at(-1))).toEqual([COMPLETED, COMPLETED, COMPLETED]);
      return spansOf(trace);
    });
    for (const span of spans) {
      expect(pathTo(span)[0]).toBe(CALLER);
      expect(Number(span.endTimeUnixNano)).toBeGreaterThanOrEqual(Number(span.startTimeUnixNano));
      expect(Math.abs(Number(span.startTimeUnixNano) / 1e6 - Date.now())).toBeLessThan(60_000);
      expect(span.status.code).toBe(0);
    }
    expect(new Set(spans.map((span) => span.process))).toEqual(
      new Set(
        mode === 'standalone'
          ? ['marketplace']
          : ['api-gateway', 'gateway', 'payments-ledger', 'catalog', 'reputation'],
      ),
    );
    const toSeller = spans.find(({ name }) => name === 'POST seller')!;
    expect(toSeller.attributes).toMatchObject({
      'market.listing_id': shop.listing.id,
      'http.response.status_code': '200',
    });
    expect(received).toContain(`00-${trace}-${toSeller.spanId}-01`);
  });

  it('keeps a trace that is not sampled where something failed, up to the edge, and no other', async () => {
    const [well, broken] = [traceId(false), traceId(false)];
    await paidCall(shop, well);
    await paidCall(failing, broken);
    const seller = await eventually(() => {
      const found = spansOf(broken).find(({ name }) => name === 'POST seller');
      expect(spansOf(broken).map(pathTo)).toContainEqual(EDGE);
      expect(found).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': 'seller_error' } });
      return found!;
    });
    expect(pathTo(seller)).toEqual([...GATEWAY, '3 POST seller']);
    expect(spansOf(well)).toEqual([]);
  });

  it('shows each attempt to send an event to a webhook, and keeps those that fail', async () => {
    const webhook = await buyer.market.webhooks.create({
      url: `http://127.0.0.1:${await freePort()}`,
      event_types: ['sale'],
    });
    const trace = traceId(false);
    const headers = { traceparent: `00-${trace}-${CALLER}-00` };
    await buyer.market.send('POST', `/webhooks/${webhook.id}/test`, { headers });
    await eventually(() =>
      expect(spansOf(trace).find(({ name }) => name === 'POST webhook')).toMatchObject({
        status: { code: FAILED },
        attributes: { 'market.webhook_id': webhook.id, 'error.type': 'unreachable' },
      }),
    );
  });

  it('shows the run of a job that changed something, with what others make of it, and none that had nothing to do', async () => {
    await eventually(async () => {
      await paidCall(shop, traceId(false));
      expect(collector.spans.map(pathTo)).toContainEqual([
        'none',
        '1 measure-quality',
        '5 evt.gateway.listing-quality-measured.v1',
      ]);
    });
    // On a slow machine a run may fail, because it waits too long for PostgreSQL, and is kept for that.
    const idle = collector.spans.filter(
      ({ name, traceId: id }) =>
        (name === 'retry-events' || name === 'resume-calls') &&
        !spansOf(id).some(({ name: part, status }) => part === 'commit' || status.code === FAILED),
    );
    expect(idle).toEqual([]);
  });

  if (mode === 'distributed')
    it('keeps a request that a part of the marketplace could not serve', async () => {
      await marketplace.kill('reputation');
      let trace: string;
      // Requests before NATS notices the closed connection are lost instead.
      await eventually(async () => {
        trace = traceId(false);
        const answer = await fetch(`${marketplace.baseUrl}/api/v1/agents/${buyer.id}/score`, {
          headers: { traceparent: `00-${trace}-${CALLER}-01` },
        });
        expect(answer.status).toBe(503);
        expect(await answer.json()).toMatchObject({ error: { details: { reason: 'dependency_unavailable' } } });
      });
      await eventually(() =>
        expect(
          spansOf(trace).map(({ name, status, attributes }) => [name, status.code, attributes['error.type']]),
        ).toEqual(
          expect.arrayContaining([
            ['GET /api/v1/agents/:agentId/score', 2, 'dependency_unavailable'],
            ['rpc.reputation.get-score.v1', 2, 'dependency_unavailable'],
          ]),
        ),
      );
    });

  it('sends nothing that was in a body, a header or a secret, and its own headers to the collector', () => {
    expect(collector.heads[0]!['x-collector-key']).toBe('a key');
    const key = buyer.registration.authorization_header.split(' ')[1]!;
    for (const secret of ['in-the-body', 'Bern', key, shop.listing.gateway_signing_secret!, '/call', 'a key'])
      expect(collector.text()).not.toContain(secret);
  });
});
