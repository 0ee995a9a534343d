import { handleRelayWebhook, type createOffer } from '@market/contracts/payments-ledger';
import type { RequestOf } from '@market/contracts';
import { newId } from '@market/kernel';
import { newRequestContext, Refusal } from '@market/messaging';
import { runCommand } from '@market/runtime';
import { eventually } from '@market/testing';
import { randomBytes } from 'node:crypto';
import { reportPayments } from '../../src/payments/report-payments.command.js';
import { paymentsLedger } from '../../src/service.js';
import { as, asAuthorized, digestOf, reasonOf, type Offered } from '../support/ledger-harness.js';
import {
  BY_ETH,
  FEE_RECIPIENT,
  SOLANA,
  startRelayLedger,
  type RelayLedger,
  type RelayOrder,
} from '../support/relay-ledger.js';
import { offered as sold, subscriberOf } from '../support/subscriber.js';

describe('the Relay rail', () => {
  let harness: RelayLedger;
  beforeAll(async () => {
    harness = await startRelayLedger({ replicas: 2 });
  });
  afterEach(() => {
    harness.relay.misbehave = null;
  });
  afterAll(() => harness.stop());

  const quote = (order: RelayOrder, wish: Partial<RequestOf<typeof createOffer>> = BY_ETH): Promise<Offered> =>
    harness.ledger.quote(strip(order), wish);
  const strip = ({ payer: _payer, payout: _payout, ...order }: RelayOrder) => order;
  const quoted = async (): Promise<[RelayOrder, Offered]> => {
    const order = await harness.order();
    return [order, await quote(order)];
  };
  const claim = (order: RelayOrder, offered: Offered) => harness.ledger.authorize(order, offered);
  const stateOf = ({ offer }: Offered) => harness.ledger.stateOf(offer.payment_id);
  const asksOf = (path: string): number => harness.relay.asked.filter((asked) => asked === path).length;
  const QUOTE = 'POST /quote/v2';
  const STATUS = 'GET /intents/status/v3';
  const column = async (name: string, { offer }: Offered) =>
    (
      await harness.ledger.db.inspect<{ value: unknown }>(
        `SELECT ${name} AS value FROM payments_ledger.payments WHERE id = $1`,
        [offer.payment_id],
      )
    )[0]!.value;

  describe('makes offers', () => {
    it('that Relay opens: over which the seller gets its part in its own wallet, and the buyer its money back', async () => {
      const [order, offered] = await quoted();
      const { offer, money } = offered;
      const request = harness.requestOf(offered);
      expect(money).toMatchObject({ grossMicros: '250000', feeMicros: '12500', netMicros: '237500' });
      expect(offer).toMatchObject({
        provider: 'relay',
        relay_request_id: request.requestId,
        status: 'pending',
        x402: [],
        requirements: {
          depositAddress: request.depositAddress,
          currency: 'ETH',
          network: 'eip155:8453',
          amount_base_units: request.amountIn.toString(),
          relayRequestId: request.requestId,
        },
        fees: { gross_amount: 0.25, provider_receives: 0.2375 },
      });
      expect(request.quote).toMatchObject({
        user: order.payer,
        refundTo: order.payer,
        recipient: order.payout,
        amount: '237500',
        appFees: [{ recipient: FEE_RECIPIENT, fee: '500' }],
        strict: true,
        tradeType: 'EXACT_OUTPUT',
        ttl: 900,
      });
      expect(new Date(offer.requirements.expiresAt).getTime()).toBeGreaterThanOrEqual(request.endsAt);
    });

    it('once for all who ask at a time, and asks Relay no more while one lives', async () => {
      const order = await harness.order();
      const before = asksOf(QUOTE);
      const offers = await Promise.all(Array.from({ length: 64 }, () => quote(order)));
      expect(new Set(offers.map(({ offer }) => offer.relay_request_id)).size).toBe(1);
      // Each process that received a quote request asked once; one of the offers is used.
      expect(asksOf(QUOTE) - before).toBeLessThanOrEqual(2);
      const after = asksOf(QUOTE);
      expect((await quote(order)).offer.relay_request_id).toBe(offers[0]!.offer.relay_request_id);
      expect(asksOf(QUOTE)).toBe(after);
    });

    it('of its own for each wallet that the buyer names, which gets the money back', async () => {
      const [order, offered] = await quoted();
      const named = await harness.addWallet(order.buyer, 'evm');
      const other = await quote(order, { ...BY_ETH, originWalletId: named.id });
      expect(other.offer.relay_request_id).not.toBe(offered.offer.relay_request_id);
      expect(harness.requestOf(other).quote).toMatchObject({ user: named.address, refundTo: named.address });
    });

    it('on Solana from a wallet there, and tells the buyer that has none to link one', async () => {
      const order = await harness.order();
      const refused: unknown = await quote(order, { originCurrency: 'SOL', originChainId: SOLANA }).catch(
        (error: unknown) => error,
      );
      expect(refused).toMatchObject({
        reason: 'payer_wallet_required',
        details: { chain_type: 'solana', network: SOLANA },
        declaration: { kind: 'invalid', recovery: { nextAction: 'link_wallet' } },
      });
      const wallet = await harness.addWallet(order.buyer, 'solana');
      const offered = await quote(order, { originCurrency: 'SOL', originChainId: SOLANA });
      expect(harness.requestOf(offered).quote).toMatchObject({
        originChainId: 792_703_809,
        refundTo: wallet.address,
        recipient: order.payout,
      });
      expect(offered.offer.requirements.depositAddress).toMatch(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/);
      const evm = await harness.addWallet(order.buyer, 'evm');
      expect(
        await reasonOf(quote(order, { originCurrency: 'SOL', originChainId: SOLANA, originWalletId: evm.id })),
      ).toBe('payer_wallet_required');
    });

    it('only where the seller can be paid', async () => {
      const order = await harness.order();
      const unpayable = { ...order, listing: { ...order.listing, sellerId: newId() } };
      expect(await reasonOf(quote(unpayable))).toBe('payment_route_unavailable');
    });

    it('of no less than its route carries, by our word or by that of Relay', async () => {
      const before = asksOf(QUOTE);
      expect(await reasonOf(quote(await harness.order({ priceMicros: '99999' })))).toBe(
        'payment_route_minimum_not_met',
      );
      expect(asksOf(QUOTE)).toBe(before);
      const refused: unknown = await quote(await harness.order({ priceMicros: '5100' }), {
        originChainId: '42161',
      }).catch((error: unknown) => error);
      expect(refused).toMatchObject({
        reason: 'payment_route_minimum_not_met',
        declaration: { code: 'PAYMENT_ROUTE_MINIMUM_NOT_MET' },
        details: { seller_endpoint_called: false },
      });
      expect(asksOf(QUOTE)).toBe(before + 1);
    });

    it('of none that is not what was asked for, nor under an id that was there before', async () => {
      const [, earlier] = await quoted();
      const bad: ((answer: QuoteAnswer) => void)[] = [
        ({ details }) => (details.currencyOut.amount = '1'),
        ({ details }) => (details.recipient = FEE_RECIPIENT),
        ({ details }) => (details.currencyIn.currency.decimals = 6),
        ({ details }) => (details.currencyIn.amount = '1e15'),
        ({ steps }) => (steps[0]!.requestId = earlier.offer.relay_request_id),
      ];
      for (const change of bad) {
        harness.relay.misbehave = (path, answer) => {
          if (path !== QUOTE) return undefined;
          change(answer as QuoteAnswer);
          return { status: 200, body: JSON.stringify(answer) };
        };
        const order = await harness.order();
        const refused: unknown = await quote(order).catch((error: unknown) => error);
        expect(refused).toBeInstanceOf(Refusal);
        expect((refused as Refusal).declaration.kind).toBe('unavailable');
        expect(
          await harness.ledger.db.inspect('SELECT 1 FROM payments_ledger.payments WHERE buyer_id = $1', [order.buyer]),
        ).toEqual([]);
      }
      expect(await stateOf(earlier)).toBe('pending');
    });
  });

  describe('believes what Relay says of a payment', () => {
    it('which buys the call once Relay has paid the seller, and not before', async () => {
      const [order, offered] = await quoted();
      expect(await claim(order, offered)).toMatchObject({ outcome: 'pending', reason: 'payment_not_seen' });
      const request = harness.relay.deposit(offered.offer.requirements.depositAddress!);
      for (const status of ['depositing', 'pending', 'submitted', 'delayed'] as const) {
        request.status = status;
        expect(await claim(order, offered)).toMatchObject({ outcome: 'pending', reason: 'payment_not_final' });
      }
      harness.relay.fill(request);
      const claimed = asAuthorized(await claim(order, offered));
      expect(claimed.transactionHash).toBe(request.txHashes[0]);
      await harness.ledger.settle(claimed);
      expect(await stateOf(offered)).toBe('completed');
      expect(await harness.owed(offered)).toEqual([]);
      await harness.ledger.reconcile();
    });

    it('which Relay sent back because it was too little: nothing is owed, and the next offer is another', async () => {
      const [order, offered] = await quoted();
      const request = harness.relay.deposit(
        offered.offer.requirements.depositAddress!,
        harness.requestOf(offered).amountIn - 1n,
      );
      expect(request.status).toBe('refund');
      expect(await claim(order, offered)).toEqual({ outcome: 'not_payable', reason: 'payment_failed' });
      expect([await stateOf(offered), await harness.owed(offered)]).toEqual(['failed', []]);
      expect((await quote(order)).offer.relay_request_id).not.toBe(offered.offer.relay_request_id);
    });

    it('which was too much: it buys the call at its price, and the rest is not ours to owe', async () => {
      const [order, offered] = await quoted();
      const request = harness.relay.deposit(
        offered.offer.requirements.depositAddress!,
        harness.requestOf(offered).amountIn * 2n,
      );
      harness.relay.fill(request);
      asAuthorized(await claim(order, offered));
      expect(request.refunded).toBe(request.amountIn);
      expect(BigInt((await column('received_base_units', offered)) as string)).toBe(request.amountIn);
      expect(await harness.owed(offered)).toEqual([]);
    });

    it('and takes back nothing when Relay later says less', async () => {
      const [order, offered] = await quoted();
      const request = harness.relay.deposit(offered.offer.requirements.depositAddress!);
      harness.relay.fill(request);
      let claimed = asAuthorized(await claim(order, offered));
      for (const status of ['pending', 'waiting', 'refund', 'failure'] as const) {
        request.status = status;
        await harness.ledger.release(claimed);
        claimed = asAuthorized(await claim(order, offered));
      }
      await harness.ledger.settle(claimed);
      expect([await stateOf(offered), await harness.owed(offered)]).toEqual(['completed', []]);
    });

    it.each<[string, NonNullable<RelayLedger['relay']['misbehave']>]>([
      ['nothing', () => 'silence'],
      ['half a line', () => 'hang-up'],
      ['an error', () => ({ status: 500, body: '{}' })],
      ['that it knows of none', () => ({ status: 404, body: '{"errorCode":"REQUEST_NOT_FOUND"}' })],
      ['no JSON', () => ({ status: 200, body: '<html>' })],
      ['no status', () => ({ status: 200, body: '{}' })],
      ['a status nobody knows', () => ({ status: 200, body: '{"status":"paid"}' })],
      ['a success without a transaction', () => ({ status: 200, body: '{"status":"success","txHashes":[]}' })],
      [
        'a success on another chain',
        () => ({ status: 200, body: `{"status":"success","txHashes":["0x${'1'.repeat(64)}"],"originChainId":10}` }),
      ],
      [
        'more than anybody reads',
        () => ({ status: 200, body: JSON.stringify({ status: 'success', more: 'x'.repeat(300_000) }) }),
      ],
    ])('and knows nothing where it says %s: not paid is never what that means', async (_name, misbehave) => {
      const [order, offered] = await quoted();
      harness.relay.misbehave = (path, answer) => (path === STATUS ? misbehave(path, answer) : undefined);
      expect(await claim(order, offered)).toMatchObject({ outcome: 'pending', reason: 'payment_unknown' });
      await harness.ledger.db.inspect(
        "UPDATE payments_ledger.payments SET expires_at = now() - interval '1 minute' WHERE id = $1",
        [offered.offer.payment_id],
      );
      const before = asksOf(STATUS);
      await eventually(() => Promise.resolve(expect(asksOf(STATUS)).toBeGreaterThan(before + 1)), { withinMs: 10_000 });
      expect(await stateOf(offered)).toBe('pending');
      harness.relay.misbehave = null;
      harness.relay.fill(harness.relay.deposit(offered.offer.requirements.depositAddress!));
      await eventually(async () => expect(await stateOf(offered)).toBe('verified'), { withinMs: 10_000 });
    });
  });

  describe('at the end of the time', () => {
    it('holds an offer open while Relay is delivering, and ends it when nothing came', async () => {
      const [[, delivering], [, unpaid]] = [await quoted(), await quoted()];
      const request = harness.relay.deposit(delivering.offer.requirements.depositAddress!);
      request.status = 'delayed';
      await harness.ledger.db.inspect(
        "UPDATE payments_ledger.payments SET expires_at = now() - interval '1 minute' WHERE id = $1",
        [delivering.offer.payment_id],
      );
      await harness.end(unpaid);
      expect([await stateOf(delivering), await stateOf(unpaid)]).toEqual(['pending', 'expired']);
      harness.relay.fill(request);
      await eventually(async () => expect(await stateOf(delivering)).toBe('verified'), { withinMs: 10_000 });
    });

    it('owes back what Relay delivered after an offer was over, and is then done with it', async () => {
      const [order, offered] = await quoted();
      await harness.end(offered);
      harness.relay.fill(harness.relay.deposit(offered.offer.requirements.depositAddress!));
      await harness.recheck(offered);
      expect([await stateOf(offered), await harness.owed(offered)]).toEqual(['refund_due', [['paid_late', '250000']]]);
      expect(await column('recheck_at', offered)).toBeNull();
      expect(await claim(order, offered)).toMatchObject({ outcome: 'not_payable', reason: 'refund_due' });
    });

    it('looks once more at what nobody paid, an hour later, and no more after that', async () => {
      const [, offered] = await quoted();
      const first = (await column('recheck_at', offered)) as Date;
      expect(first.getTime() - new Date(offered.offer.requirements.expiresAt).getTime()).toBe(3_600_000);
      await harness.end(offered);
      await harness.recheck(offered);
      expect(await column('recheck_at', offered)).not.toBeNull();
      await harness.ledger.db.inspect(
        "UPDATE payments_ledger.payments SET created_at = now() - interval '2 hours' WHERE id = $1",
        [offered.offer.payment_id],
      );
      await harness.recheck(offered);
      expect([await stateOf(offered), await column('recheck_at', offered)]).toEqual(['expired', null]);
    });
  });

  describe('webhooks', () => {
    const handle = (webhook: RequestOf<typeof handleRelayWebhook>) =>
      harness.ledger.edge.request(handleRelayWebhook, webhook, newRequestContext());

    it('that are genuine make the ledger ask Relay at once, and believe Relay and not the webhook', async () => {
      const [, offered] = await quoted();
      const request = harness.requestOf(offered);
      expect(await handle(harness.relay.webhook({ ...request, status: 'success' }))).toEqual({ received: true });
      expect(await stateOf(offered)).toBe('pending');
      harness.relay.fill(harness.relay.deposit(request.depositAddress));
      await handle(harness.relay.webhook(request));
      expect(await stateOf(offered)).toBe('verified');
      for (const status of ['waiting', 'refund', 'failure', 'success'] as const)
        await handle(harness.relay.webhook({ ...request, status }));
      expect(await stateOf(offered)).toBe('verified');
    });

    it('get through when one buyer has its unpaid offer looked at without a pause', async () => {
      const busy = await startRelayLedger({
        env: {
          PAYMENTS_LEDGER_RELAY_STATUSES_PER_MINUTE: '20',
          PAYMENTS_LEDGER_RELAY_STATUS_INTERVAL_MS: '2000',
          PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '60000',
        },
      });
      const quoteThere = async (): Promise<[RelayOrder, Offered]> => {
        const order = await busy.order();
        return [order, await busy.ledger.quote(strip(order), BY_ETH)];
      };
      const [[idle, unpaid], [payer, paid], [other, told]] = [
        await quoteThere(),
        await quoteThere(),
        await quoteThere(),
      ];
      const startedAt = performance.now();
      for (let n = 0; n < 215; n += 1)
        expect(await busy.ledger.authorize(idle, unpaid)).toMatchObject({ outcome: 'pending' });
      // Five a minute, also on a machine that takes longer than one.
      const minutes = Math.ceil((performance.now() - startedAt) / 60_000);
      expect(busy.relay.asked.filter((path) => path === STATUS).length).toBeLessThanOrEqual(5 * minutes);

      busy.relay.fill(busy.relay.deposit(paid.offer.requirements.depositAddress!));
      asAuthorized(await busy.ledger.authorize(payer, paid));

      // What Relay has said is repeated for a while, until it says itself that something changed.
      expect(await busy.ledger.authorize(other, told)).toMatchObject({ outcome: 'pending' });
      const request = busy.requestOf(told);
      busy.relay.fill(busy.relay.deposit(request.depositAddress));
      await busy.ledger.edge.request(handleRelayWebhook, busy.relay.webhook(request), newRequestContext());
      asAuthorized(await busy.ledger.authorize(other, told));
      await busy.stop();
    });

    it('of what is not known here are heard and left', async () => {
      const before = asksOf(STATUS);
      await handle(harness.relay.webhook({ requestId: `0x${randomBytes(32).toString('hex')}`, status: 'success' }));
      expect(asksOf(STATUS)).toBe(before);
    });

    it('that are forged change nothing, a thousand of them', async () => {
      const [, offered] = await quoted();
      const request = harness.requestOf(offered);
      harness.relay.fill(harness.relay.deposit(request.depositAddress));
      const genuine = harness.relay.webhook(request);
      const flipped = (text: string, at: number): string =>
        text.slice(0, at) + (text[at] === '0' ? '1' : '0') + text.slice(at + 1);
      const forgeries: ((n: number) => RequestOf<typeof handleRelayWebhook>)[] = [
        () => harness.relay.webhook(request, { apiKey: randomBytes(16).toString('hex') }),
        () => harness.relay.webhook(request, { at: Date.now() - 301_000 }),
        () => harness.relay.webhook(request, { at: Date.now() + 310_000 }),
        (n) => ({ ...genuine, signature: flipped(genuine.signature, n % 64) }),
        (n) => ({ ...genuine, body: flipped(genuine.body, n % genuine.body.length) }),
        (n) => ({ ...genuine, timestamp: String(Number(genuine.timestamp) + 1 + n) }),
        () => ({ ...genuine, signature: '' }),
        () => ({ ...genuine, timestamp: '' }),
        () => ({ ...genuine, signature: digestOf(genuine.body) }),
        (n) => ({ ...genuine, signature: randomBytes(32).toString('hex'), body: 'x'.repeat(n) }),
      ];
      const before = [asksOf(STATUS), await column('state', offered)];
      const reasons = await Promise.all(
        Array.from({ length: 1_000 }, (_, n) => reasonOf(handle(forgeries[n % forgeries.length]!(n)))),
      );
      expect(new Set(reasons)).toEqual(new Set(['webhook_not_genuine']));
      expect([asksOf(STATUS), await column('state', offered)]).toEqual(before);
      expect(before[1]).toBe('pending');
    });
  });

  it('is not bought from by anyone but its buyer, for anything but its call', async () => {
    const [order, offered] = await quoted();
    harness.relay.fill(harness.relay.deposit(offered.offer.requirements.depositAddress!));
    expect(await reasonOf(harness.ledger.authorize({ ...order, buyer: newId() }, offered))).toBe('payment_not_found');
    expect(await reasonOf(harness.ledger.authorize(order, offered, { listingId: newId() }))).toBe('listing_mismatch');
    expect(await reasonOf(harness.ledger.authorize(order, offered, { bodyDigest: digestOf('another') }))).toBe(
      'request_body_mismatch',
    );
    asAuthorized(await claim(order, offered));
  });

  it('buys a subscription too', async () => {
    const { buyer, listing } = await harness.order();
    const subscriber = subscriberOf(harness.ledger, buyer);
    const offer = await subscriber.offerOf(sold(harness.ledger, { sellerId: listing.sellerId }), {
      origin_currency: 'ETH',
    });
    expect(offer).toMatchObject({
      provider: 'relay',
      requirements: { network: 'eip155:8453' },
      fees: { gross_amount: 9.99 },
    });
    expect((await subscriber.verify(offer)).outcome).toBe('pending');
    const request = harness.relay.deposit(offer.requirements.depositAddress!);
    harness.relay.fill(request);
    expect(await subscriber.verify(offer)).toMatchObject({
      outcome: 'completed',
      payment: { transaction_hash: request.txHashes[0] },
    });
  });

  it('is reported on: what Relay sent back, kept or delivered late', async () => {
    const [[sentBackOrder, sentBack], [keptOrder, kept], [, late]] = [await quoted(), await quoted(), await quoted()];
    harness.relay.deposit(sentBack.offer.requirements.depositAddress!, 1n);
    Object.assign(harness.relay.deposit(kept.offer.requirements.depositAddress!), {
      status: 'failure',
      refundFailReason: 'AMOUNT_TOO_LOW_TO_REFUND',
    });
    for (const [order, offered] of [
      [sentBackOrder, sentBack],
      [keptOrder, kept],
    ] as const)
      expect((await claim(order, offered)).outcome).toBe('not_payable');
    await harness.end(late);
    harness.relay.fill(harness.relay.deposit(late.offer.requirements.depositAddress!));
    await harness.recheck(late);
    const outcome: unknown = await runCommand(
      paymentsLedger,
      reportPayments,
      { operator: 'ada', arguments: [], options: {} },
      {
        DATABASE_URL: harness.ledger.db.url,
        PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 1).toString('base64'),
        ...harness.env,
      },
    ).catch((error: unknown) => error);
    expect(outcome).toMatchObject({ name: 'CommandFailure' });
    const lines = (outcome as Error).message.split('\n').map((line) => line.split('\t'));
    const lineOf = ({ offer }: Offered) => lines.find(([, id]) => id === offer.payment_id);
    expect(lineOf(sentBack)).toEqual([
      'carried',
      sentBack.offer.payment_id,
      'relay',
      'failed',
      expect.any(String),
      "Relay sent the money back to the buyer's wallet (DEPOSITED_AMOUNT_TOO_LOW_TO_FILL)",
    ]);
    expect(lineOf(kept)).toEqual([
      'unexplained',
      kept.offer.payment_id,
      'relay',
      'failed',
      expect.any(String),
      expect.stringMatching(
        /^Relay took 0x[0-9a-f]{64} and neither delivered it nor sent it back \(AMOUNT_TOO_LOW_TO_REFUND\)$/,
      ),
    ]);
    expect(lineOf(late)).toEqual([
      'carried',
      late.offer.payment_id,
      'relay',
      'refund_due',
      expect.any(String),
      'Relay paid the seller; what the buyer is owed back stands in its ledger',
    ]);
    expect(lines.filter(([kind, id]) => kind === 'unexplained' && id !== kept.offer.payment_id)).toEqual([]);
  });

  it('tells nobody of a webhook where it is off', async () => {
    const off = await startRelayLedger({ env: { PAYMENTS_LEDGER_RELAY_URL: '' } });
    try {
      expect(
        await reasonOf(
          off.ledger.edge.request(
            handleRelayWebhook,
            off.relay.webhook({ requestId: '0x', status: 'success' }),
            as(newId()),
          ),
        ),
      ).toBe('relay_not_configured');
    } finally {
      await off.stop();
    }
  });
});

interface QuoteAnswer {
  steps: { requestId: string }[];
  details: {
    recipient: string;
    currencyIn: { amount: string; currency: { decimals: number } };
    currencyOut: { amount: string };
  };
}
