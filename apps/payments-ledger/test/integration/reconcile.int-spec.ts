import { reportBooks as reportContract } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { newRequestContext } from '@market/messaging';
import { runCommand } from '@market/runtime';
import { eventually } from '@market/testing';
import { register } from 'prom-client';
import { reportBooks } from '../../src/books/report-books.command.js';
import { reconcileBooks } from '../../src/reconciliation/reconcile-books.command.js';
import { paymentsLedger } from '../../src/service.js';
import {
  asAuthorized,
  newOrder,
  reasonOf,
  type Authorization,
  type Authorized,
  type Offered,
} from '../support/ledger-harness.js';
import { signed } from '../support/signed-payload.js';
import { BY_ETH, startRelayLedger, type RelayLedger } from '../support/relay-ledger.js';
import { ON_CHAIN, startX402Ledger, type X402Ledger } from '../support/x402-ledger.js';

describe('settlements against the chain', () => {
  let harness: X402Ledger;
  beforeAll(async () => {
    harness = await startX402Ledger({
      PAYMENTS_LEDGER_RECONCILE_INTERVAL_MS: '100',
      PAYMENTS_LEDGER_SAMPLE_INTERVAL_MS: '100',
    });
  });
  /** The tests change stored rows. */
  afterAll(() => harness.stop({ checkBooks: false }));

  const run = (
    command: typeof reconcileBooks,
    options: Record<string, string> = {},
    env: Record<string, string> = {},
  ): Promise<string> =>
    runCommand(
      paymentsLedger,
      command,
      { operator: 'ada', arguments: [], options },
      {
        DATABASE_URL: harness.ledger.db.url,
        PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 1).toString('base64'),
        ...harness.env,
        ...env,
      },
    );
  const failed = async (env: Record<string, string> = {}): Promise<string[][]> => {
    const error: unknown = await run(reconcileBooks, {}, env).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'CommandFailure' });
    return (error as Error).message.split('\n').map((line) => line.split('\t'));
  };
  const claimed = async (sellerId = newId()): Promise<Authorized> => {
    const order = newOrder();
    order.listing.sellerId = sellerId;
    const offered = await harness.ledger.quote(order, ON_CHAIN);
    const authorization = await signed(offered, harness.chain.payerAccount as never);
    return asAuthorized(await harness.ledger.authorize(order, offered, { authorization }));
  };
  const sold = async (sellerId?: string): Promise<Authorized> => {
    const claim = await claimed(sellerId);
    await harness.ledger.settle(claim);
    return claim;
  };
  /** Changes a payment with the triggers disabled that protect the journal. */
  const set = (change: string, { paymentId }: Authorized) =>
    harness.ledger.db.inspect(`UPDATE payments_ledger.payments SET ${change} WHERE id = '${paymentId}'`);
  const gauge = async (): Promise<number> =>
    (await register.getSingleMetric('market_unexplained_micros')!.get()).values[0]!.value;

  it('are explained where the books are honest, by the chain or by what the facilitator answered', async () => {
    await sold();
    const says = '1 settlements explained, 0 unexplained, 0 unknown';
    expect(await run(reconcileBooks)).toBe(says);
    expect(
      await run(
        reconcileBooks,
        {},
        { PAYMENTS_LEDGER_X402_CHAINS: 'eip155:31337', PAYMENTS_LEDGER_X402_EIP712: 'eip155:31337=USDC:2' },
      ),
    ).toBe(says);
  });

  it('are named where a row is not what the chain has, and the job tells the metric', async () => {
    const [one, other] = [await sold(), await sold()];
    const [{ transaction_hash: hash }] = (await harness.ledger.db.inspect<{ transaction_hash: string }>(
      'SELECT transaction_hash FROM payments_ledger.payments WHERE id = $1',
      [one.paymentId],
    )) as [{ transaction_hash: string }];
    const stranger = '0x00000000000000000000000000000000000dEaD1';
    const missing = `0x${'ab'.repeat(32)}`;
    for (const [change, back, why] of [
      [`pay_to = '${stranger}'`, `pay_to = pay_to`, `did not pay 250000 base units to ${stranger}`],
      [
        'amount_base_units = 250001, received_base_units = 250001',
        'amount_base_units = 250000, received_base_units = 250000',
        'did not pay 250001',
      ],
      ['received_base_units = 249999', 'received_base_units = 250000', '249999 of 250000 base units came'],
      [`transaction_hash = '${missing}'`, `transaction_hash = '${hash}'`, `${missing} is not on eip155:31337`],
      ['transaction_hash = NULL', `transaction_hash = '${hash}'`, 'the books name no transaction'],
    ] as const) {
      const [{ pay_to }] = (await harness.ledger.db.inspect<{ pay_to: string }>(
        'SELECT pay_to FROM payments_ledger.payments WHERE id = $1',
        [one.paymentId],
      )) as [{ pay_to: string }];
      await set(change, one);
      expect(await failed()).toEqual([
        ['unexplained', one.paymentId, 'x402', 'eip155:31337', 'completed', expect.stringContaining(why)],
        ['2 settlements explained, 1 unexplained, 0 unknown'],
      ]);
      await set(back === 'pay_to = pay_to' ? `pay_to = '${pay_to}'` : back, one);
    }
    // The payment did not use the transaction of another payment.
    await set(`transaction_hash = '${hash}'`, other);
    expect((await failed())[0]!.slice(0, 2)).toEqual(['unexplained', other.paymentId]);
    await eventually(async () => expect(await gauge()).toBe(250_000));
  });

  it('that a facilitator denied, and that were made, are sales; and are named where the books say they were refused', async () => {
    const claim = await claimed();
    // The facilitator reports missing funds but moves the money all the same.
    harness.facilitator.fault = 'deny-after';
    expect(await harness.ledger.settle(claim)).toMatchObject({ paymentId: claim.paymentId });
    harness.facilitator.fault = null;
    await set("state = 'cancelled', completed_at = NULL, transaction_hash = NULL", claim);
    await harness.ledger.db.inspect(
      `UPDATE payments_ledger.authorizations a SET state = 'refused'
       FROM payments_ledger.payments p WHERE p.id = $1 AND a.id = p.authorization_id`,
      [claim.paymentId],
    );
    expect((await failed())[1]).toEqual([
      'unexplained',
      claim.paymentId,
      'x402',
      'eip155:31337',
      'cancelled',
      expect.stringMatching(/^0x[0-9a-f]{64} took 250000 base units by a signature that is refused in the books$/),
    ]);
  });

  it('are unknown, and nothing else, while nobody tells', async () => {
    const lines = await failed({
      PAYMENTS_LEDGER_X402_CHAINS: 'eip155:31337=http://127.0.0.1:9',
      PAYMENTS_LEDGER_X402_EIP712: 'eip155:31337=USDC:2',
    });
    expect(lines.at(-1)).toEqual(['0 settlements explained, 0 unexplained, 4 unknown']);
    expect(await failed({ PAYMENTS_LEDGER_X402_CHAINS: '', PAYMENTS_LEDGER_X402_USDC: '' })).toMatchObject([
      ['unknown', {}, 'x402', 'eip155:31337', 'completed', 'its rail x402 is not configured here'],
      {},
      {},
      {},
      ['0 settlements explained, 0 unexplained, 4 unknown'],
    ]);
  });

  it('are reported to operators by seller and month, and the sums are those of the ledger', async () => {
    const seller = newId();
    await sold(seller);
    await sold(seller);
    const late = newOrder();
    late.listing.sellerId = seller;
    const offered = await harness.ledger.quote(late, { originCurrency: 'SOL' });
    await harness.ledger.pay(late, offered, 'late');
    // Sandbox money cannot pay an offer of a real chain.
    const order = { ...newOrder(), listing: { ...newOrder().listing, sellerId: seller } };
    const ofTheChain = await harness.ledger.quote(order, ON_CHAIN);
    expect(await reasonOf(harness.ledger.pay(order, ofTheChain))).toBe('payment_not_found');
    const played = await harness.ledger.quote(order, { originCurrency: 'SOL' });
    await harness.ledger.pay(order, played);
    await harness.ledger.settle(asAuthorized(await harness.ledger.authorize(order, played)));
    // Two of these entries move to another month.
    await harness.ledger.db.inspect('ALTER TABLE payments_ledger.journal_transactions DISABLE TRIGGER ALL');
    await harness.ledger.db.inspect(
      "UPDATE payments_ledger.journal_transactions SET recorded_at = '2026-01-31T23:59:59Z' WHERE sequence <= 5",
    );
    const usd = (micros: number) => ({ micros: String(micros), usd: micros / 1e6 });
    const now = new Date().toISOString().slice(0, 7);
    const ask = (input: { month?: string; sellerId?: string }) =>
      harness.ledger.edge.request(reportContract, input, newRequestContext());
    const own = (await ask({ sellerId: seller })).rows;
    expect(own.map(({ month }) => month)).toEqual(['2026-01', now]);
    expect(own.reduce((total, { sales }) => total + sales, 0)).toBe(3);
    expect(own.at(-1)).toMatchObject({
      seller_id: seller,
      fees_due: usd(25_000),
      fees_paid: usd(0),
      refunds_due: usd(250_000),
      payouts_due: usd(237_500),
      payouts_paid: usd(0),
    });
    // A month without movements still shows what was due before it.
    expect((await ask({ sellerId: seller, month: '2026-02' })).rows).toMatchObject([
      { month: '2026-02', sales: 0, volume: usd(0), fees_due: own[0]!.fees_due },
    ]);
    const { rows } = await ask({});
    const sum = (column: 'volume' | 'revenue') => rows.reduce((total, row) => total + BigInt(row[column].micros), 0n);
    const [books] = await harness.ledger.db.inspect<
      Record<'fees' | 'paid' | 'indebted' | 'refunds' | 'payable', string>
    >(
      `SELECT sum(balance_micros) FILTER (WHERE address = 'platform:fees') AS fees,
         -sum(balance_micros) FILTER (WHERE address LIKE 'agent:%:payments') AS paid,
         -sum(balance_micros) FILTER (WHERE address LIKE 'agent:%:fees') AS indebted,
         sum(balance_micros) FILTER (WHERE address LIKE 'agent:%:refunds') AS refunds,
         sum(balance_micros) FILTER (WHERE address LIKE 'agent:%:earnings:%') AS payable FROM payments_ledger.balances`,
    );
    expect([String(sum('volume')), String(sum('revenue'))]).toEqual([books!.paid, books!.fees]);
    const asUsd = (micros: string) => String(Number(micros) / 1e6);
    expect((await run(reportBooks)).split('\n').at(-1)!.split('\t')).toEqual(
      ['all', '', '7', books!.paid, books!.fees, books!.indebted, '0', books!.refunds, books!.payable, '0'].map(
        (value, column) => (column < 3 ? value : asUsd(value)),
      ),
    );
    expect((await run(reportBooks, { format: 'csv', seller, month: now })).split('\n')).toHaveLength(2);
  });
});

describe('settlements against Relay', () => {
  let harness: RelayLedger;
  beforeAll(async () => {
    harness = await startRelayLedger();
  });
  afterEach(() => {
    harness.relay.misbehave = null;
  });
  afterAll(() => harness.stop());

  const lines = async (): Promise<string[][]> => {
    const text = await runCommand(
      paymentsLedger,
      reconcileBooks,
      { operator: 'ada', arguments: [], options: {} },
      {
        DATABASE_URL: harness.ledger.db.url,
        PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 1).toString('base64'),
        ...harness.env,
      },
    ).catch((error: Error) => error.message);
    return text.split('\n').map((line) => line.split('\t'));
  };
  const quoted = async (): Promise<[Offered, () => Promise<Authorization>]> => {
    const { payer: _payer, payout: _payout, ...order } = await harness.order();
    const offered = await harness.ledger.quote(order, BY_ETH);
    return [offered, () => harness.ledger.authorize(order, offered)];
  };
  const told = (outcome: string, { offer }: Offered, state: string, why: unknown): unknown[] => [
    outcome,
    offer.payment_id,
    'relay',
    'eip155:8453',
    state,
    why,
  ];

  it('are explained where Relay delivered or sent back what it says, and named where it says something else, or nothing', async () => {
    const [sold, claim] = await quoted();
    const request = harness.relay.deposit(sold.offer.requirements.depositAddress!);
    harness.relay.fill(request);
    await harness.ledger.settle(asAuthorized(await claim()));
    const [sentBack, retry] = await quoted();
    harness.relay.deposit(sentBack.offer.requirements.depositAddress!, 1n);
    expect(await retry()).toMatchObject({ outcome: 'not_payable' });
    expect(await lines()).toEqual([['2 settlements explained, 0 unexplained, 0 unknown']]);

    const [booked] = request.txHashes;
    const another = `0x${'ab'.repeat(32)}`;
    const amount = String(request.amountIn);
    request.txHashes = [another];
    expect((await lines())[0]).toEqual(
      told(
        'unexplained',
        sold,
        'completed',
        `relay says that ${amount} base units came by ${another}, the books say ${amount} by ${booked}`,
      ),
    );
    request.status = 'refund';
    expect((await lines())[0]!.at(-1)).toBe(
      `relay says that 0 base units came by nothing, the books say ${amount} by ${booked}`,
    );
    request.status = 'pending';
    expect((await lines())[0]).toEqual(
      told('unknown', sold, 'completed', 'relay has the money and has not delivered it yet'),
    );
    Object.assign(request, { status: 'success', txHashes: [booked] });

    // Relay took the money and reports nothing further about it.
    harness.relay.requests.get(sentBack.offer.relay_request_id)!.status = 'failure';
    expect((await lines())[0]).toEqual(
      told(
        'unexplained',
        sentBack,
        'failed',
        expect.stringMatching(/^Relay took 0x.+ and neither delivered it nor sent/),
      ),
    );
    harness.relay.misbehave = () => ({ status: 500, body: '{}' });
    expect((await lines()).map(([outcome]) => outcome)).toEqual([
      'unknown',
      'unknown',
      '0 settlements explained, 0 unexplained, 2 unknown',
    ]);
  });
});
