import type { Offer } from '@market/sdk';
import { eventually, startMarketplace, type RunningMarketplace } from '@market/testing';
import {
  startRelayServer,
  type RelayRequest,
  type RelayServer,
} from '../../../payments-ledger/test/support/relay-server.js';
import { admin } from '../support/admin.js';
import { expectBooksInOrder } from '../support/books.js';
import { bodyOf, callOnce, quote, reasonOf, resultOf, withRelayId } from '../support/buyer.js';
import { openShop, type Shop } from '../support/seller.js';
import { letTimePass } from '../support/subscriber.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

const BY_ETH = { 'X-Market-Origin-Chain-Id': 'eip155:8453', 'X-Market-Origin-Currency': 'ETH' };
const BY_SOL = {
  'X-Market-Origin-Chain-Id': 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
  'X-Market-Origin-Currency': 'SOL',
};
const PRICE = 0.25;
const STATUSES_PER_MINUTE = 120;
const FEE_RECIPIENT = '0x2222222222222222222222222222222222222222';

/** Uses a fake of Relay that follows its documentation, over HTTP; everything else is the real marketplace. */
inEachMode('money that Relay carries', ({ mode }) => {
  let relay: RelayServer;
  let marketplace: RunningMarketplace;
  let env: Record<string, string>;
  let seller: Agent;
  let buyer: Agent;
  /** The agent that refunds are owed to. */
  let creditor: Agent;
  let shop: Shop;

  beforeAll(async () => {
    relay = await startRelayServer();
    env = {
      PAYMENTS_LEDGER_RELAY_URL: relay.url,
      PAYMENTS_LEDGER_RELAY_API_KEY: relay.apiKey,
      PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: FEE_RECIPIENT,
      PAYMENTS_LEDGER_RELAY_ROUTES:
        'eip155:8453:ETH,eip155:42161:USDC=0.001,solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:SOL',
      PAYMENTS_LEDGER_RELAY_TIMEOUT_MS: '1000',
      // What was seen is not repeated, so that the tests do not wait for the next look.
      PAYMENTS_LEDGER_RELAY_STATUS_INTERVAL_MS: '0',
      PAYMENTS_LEDGER_RELAY_STATUSES_PER_MINUTE: String(STATUSES_PER_MINUTE),
      PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 6).toString('base64'),
      PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '250',
    };
    marketplace = await startMarketplace({ mode, env });
    seller = await registerAgent(marketplace, { displayName: 'Seller' });
    shop = await openShop(seller, undefined, { pricing_amount: PRICE });
  }, 240_000);
  beforeEach(async () => {
    relay.misbehave = null;
    buyer = await registerAgent(marketplace, { displayName: 'Buyer' });
  });
  afterAll(async () => {
    await expectBooksInOrder(marketplace, [shop]);
    await shop?.close();
    await marketplace?.stop();
    relay?.stop();
  }, 120_000);

  const call = (body: object, { relay_request_id }: Offer) =>
    callOnce(buyer, shop.listing, body, withRelayId(relay_request_id));
  const requestOf = ({ relay_request_id }: Offer): RelayRequest => relay.requests.get(relay_request_id)!;
  const owed = async () =>
    (await buyer.market.ledger.list({ type: 'adjustment' })).data.map(({ direction, amount_cents }) => [
      direction,
      amount_cents,
    ]);
  const statusOf = async ({ payment_id }: Offer) =>
    (await buyer.market.send('GET', `/payments/${payment_id}`)).json as { data: { status: string } };
  const post = (body: string, headers: Record<string, string>) =>
    fetch(`${marketplace.baseUrl}/api/v1/webhooks/relay`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    });
  const send = (
    { timestamp, signature, body }: ReturnType<RelayServer['webhook']>,
    changes: Record<string, string> = {},
  ) => post(body, { 'X-Signature-Timestamp': timestamp, 'X-Signature-SHA256': signature, ...changes });

  it('buys a call: the buyer pays Relay, Relay pays the seller, and the answer comes then and once', async () => {
    const offer = await quote(buyer, shop.listing, { by: 'eth' }, BY_ETH);
    const request = requestOf(offer);
    expect(offer).toMatchObject({
      provider: 'relay',
      requirements: {
        network: 'eip155:8453',
        currency: 'ETH',
        depositAddress: request.depositAddress,
        amount_base_units: request.amountIn.toString(),
      },
      fees: { gross_amount: PRICE, provider_receives: 0.2375 },
    });
    expect(request.quote).toMatchObject({
      recipient: seller.wallet.address,
      refundTo: buyer.wallet.address,
      amount: '237500',
      appFees: [{ recipient: FEE_RECIPIENT, fee: '500' }],
    });
    expect((await call({ by: 'eth' }, offer)).status).toBe(202);
    relay.deposit(offer.requirements.depositAddress!);
    expect((await call({ by: 'eth' }, offer)).status).toBe(202);
    relay.fill(request);
    const answers = [await call({ by: 'eth' }, offer), await call({ by: 'eth' }, offer)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(resultOf(answers[0]!)).toMatchObject({
      billable: true,
      charged_amount: { amount_cents: 25, currency: 'USD' },
      seller_response: { echo: { by: 'eth' } },
    });
    for (const [agent, role] of [
      [buyer, 'buyer'],
      [seller, 'seller'],
    ] as const)
      expect((await agent.market.receipts.list({ role })).data[0]).toMatchObject({
        transaction_hash: request.txHashes[0],
        gross_amount: PRICE,
      });
    expect(await owed()).toEqual([]);
  });

  it('is known at once when Relay says that it moved, which nobody else can say', async () => {
    const offer = await quote(buyer, shop.listing, { by: 'webhook' }, BY_ETH);
    const request = relay.deposit(offer.requirements.depositAddress!);
    relay.fill(request);
    const genuine = relay.webhook(request);
    const forged = [
      await send(relay.webhook(request, { apiKey: 'another' })),
      await send(relay.webhook(request, { at: Date.now() - 400_000 })),
      await send({ ...genuine, body: `${genuine.body} ` }),
      await send(genuine, { 'X-Signature-SHA256': '' }),
      await post(genuine.body, {}),
      await send(genuine, { 'X-Signature-SHA256': 'a'.repeat(4_000) }),
    ];
    for (const answer of forged)
      expect([answer.status, await answer.json()]).toMatchObject([
        401,
        { success: false, error: { code: 'UNAUTHORIZED' } },
      ]);
    expect((await post('x'.repeat(70_000), {})).status).toBe(413);
    expect((await send(genuine, { 'content-type': 'text/plain' })).status).toBe(415);
    expect(await statusOf(offer)).toMatchObject({ data: { status: 'pending' } });
    const response = await send(genuine);
    expect([response.status, await response.json()]).toMatchObject([200, { success: true, data: { received: true } }]);
    expect(await statusOf(offer)).toMatchObject({ data: { status: 'verified' } });
    expect((await call({ by: 'webhook' }, offer)).status).toBe(200);
  });

  it('that Relay sent back costs nothing, and is asked for anew', async () => {
    const offer = await quote(buyer, shop.listing, { too: 'little' }, BY_ETH);
    const request = relay.deposit(offer.requirements.depositAddress!, 1n);
    expect(request).toMatchObject({ status: 'refund', quote: { refundTo: buyer.wallet.address } });
    const asked = await call({ too: 'little' }, offer);
    expect([asked.status, reasonOf(asked)]).toEqual([402, 'payment_failed']);
    const next = (bodyOf(asked).data as { payment: Offer }).payment;
    expect(next.relay_request_id).not.toBe(offer.relay_request_id);
    expect(await owed()).toEqual([]);
  });

  it('that Relay delivers after its offer is over is owed back', async () => {
    const offer = await quote(buyer, shop.listing, { late: 1 }, BY_ETH);
    await letTimePass(marketplace, { offer: offer.payment_id });
    await eventually(async () => expect(await statusOf(offer)).toMatchObject({ data: { status: 'expired' } }));
    relay.fill(relay.deposit(offer.requirements.depositAddress!));
    await letTimePass(marketplace, { look: offer.payment_id });
    await eventually(async () => expect(await owed()).toEqual([['credit', 25]]));
    creditor = buyer;
  });

  it('of one buyer is asked about while another repeats an unpaid call without a pause', async () => {
    const unpaid = await quote(buyer, shop.listing, { again: 'and again' }, BY_ETH);
    const before = relay.asked.length;
    for (let n = 0; n <= STATUSES_PER_MINUTE; n += 1)
      expect((await call({ again: 'and again' }, unpaid)).status).toBe(202);
    // What the sweep asks about other offers is counted too.
    expect(relay.asked.length - before).toBeLessThan(STATUSES_PER_MINUTE / 2);
    buyer = await registerAgent(marketplace, { displayName: 'Buyer who pays' });
    const offer = await quote(buyer, shop.listing, { paid: 'meanwhile' }, BY_ETH);
    relay.fill(relay.deposit(offer.requirements.depositAddress!));
    expect((await call({ paid: 'meanwhile' }, offer)).status).toBe(200);
  });

  it('needs a wallet to go back to, a price that is worth it, and a Relay that answers', async () => {
    const answerOf = async (headers: Record<string, string>, listing = shop.listing) => {
      const answer = await callOnce(buyer, listing, { try: 1 }, headers);
      const { error } = bodyOf(answer);
      return [
        answer.status,
        error?.code,
        reasonOf(answer),
        error?.recovery?.next_action,
        answer.headers.get('retry-after'),
      ];
    };
    expect(await answerOf(BY_SOL)).toEqual([400, 'BAD_REQUEST', 'payer_wallet_required', 'link_wallet', null]);
    const cheap = await openShop(seller, undefined, { pricing_amount: 0.002 });
    try {
      expect(await answerOf({ 'X-Market-Origin-Chain-Id': '42161' }, cheap.listing)).toEqual([
        400,
        'PAYMENT_ROUTE_MINIMUM_NOT_MET',
        undefined,
        'retry_with_solana_payment_route',
        null,
      ]);
    } finally {
      await cheap.close();
    }
    relay.misbehave = () => ({ status: 429, body: '{}', headers: { 'retry-after': '3' } });
    expect(await answerOf(BY_ETH)).toEqual([
      503,
      'SERVICE_UNAVAILABLE',
      'payment_provider_unavailable',
      'retry_after_delay',
      '3',
    ]);
  });

  it('is explained to its operator', async () => {
    const { code, output } = await admin({ DATABASE_URL: marketplace.databaseUrl, ...env }, 'payments', 'report');
    expect(code).toBe(0);
    expect(
      output
        .split('\n')
        .map((line) => line.split('\t'))
        .map(([kind, , rail, state, , why]) => [kind, rail, state, why]),
    ).toEqual([
      [
        'carried',
        'relay',
        'failed',
        "Relay sent the money back to the buyer's wallet (DEPOSITED_AMOUNT_TOO_LOW_TO_FILL)",
      ],
      ['carried', 'relay', 'refund_due', 'Relay paid the seller; what the buyer is owed back stands in its ledger'],
      [
        'owed',
        'relay',
        'refund_due',
        `$0.25 to ${creditor.id} (paid_late): $0.2375 by its seller ${seller.id}, who has it and $0.0125 by you`,
      ],
    ]);
    expect((await creditor.market.balance()).refunds).toMatchObject({
      due_to_account: { micros: '250000' },
      due_by_account: { usd: 0 },
    });
    expect((await seller.market.balance()).refunds).toMatchObject({
      due_to_account: { usd: 0 },
      due_by_account: { micros: '237500' },
    });
    expect((await admin({ DATABASE_URL: marketplace.databaseUrl, ...env }, 'books', 'verify')).output).toBe(
      'the books add up',
    );
  });
});
