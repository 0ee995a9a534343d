import { eventually, startMarketplace, type RunningMarketplace } from '@market/testing';
import type { Address } from 'viem';
import { startEvmHarness, type EvmHarness } from '../../../payments-ledger/test/support/evm-harness.js';
import { startRelayServer, type RelayServer } from '../../../payments-ledger/test/support/relay-server.js';
import { evmWallet } from '@market/sdk';
import { expectBooksInOrder } from '../support/books.js';
import { callOnce, quote, resultOf, withRelayId } from '../support/buyer.js';
import { openShop, reply, type Shop } from '../support/seller.js';
import { letTimePass } from '../support/subscriber.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

/** The chain on which sellers are paid through Relay. */
const CHAIN_ID = 84_532;
const USDC: Address = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';

inEachMode('a refund', ({ mode }) => {
  let chain: EvmHarness;
  let relay: RelayServer;
  let marketplace: RunningMarketplace;
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;

  beforeAll(async () => {
    [chain, relay] = await Promise.all([startEvmHarness(CHAIN_ID), startRelayServer()]);
    await chain.place('SignedToken', USDC);
    await chain.send(USDC, 'mint', [chain.payer, 10n ** 9n]);
    marketplace = await startMarketplace({
      mode,
      env: {
        PAYMENTS_LEDGER_X402_CHAINS: `eip155:${CHAIN_ID}=${chain.node.url}`,
        PAYMENTS_LEDGER_X402_FACILITATOR_KEY: chain.gasKey,
        PAYMENTS_LEDGER_FEE_ADDRESS: chain.payer,
        PAYMENTS_LEDGER_RELAY_URL: relay.url,
        PAYMENTS_LEDGER_RELAY_API_KEY: relay.apiKey,
        PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: '0x2222222222222222222222222222222222222222',
        PAYMENTS_LEDGER_RELAY_ROUTES: 'eip155:8453:ETH',
        PAYMENTS_LEDGER_RELAY_DESTINATION: `eip155:${CHAIN_ID}:USDC`,
        PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 6).toString('base64'),
        PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '250',
        PAYMENTS_LEDGER_SANDBOX_REFUND_SECONDS: '0',
        PAYMENTS_LEDGER_REFUND_GRACE_DAYS: '0',
      },
    });
    // The wallet that holds the USDC of the test belongs to the seller.
    const key = `0x${Buffer.from(chain.payerAccount.getHdKey().privateKey!).toString('hex')}` as const;
    [seller, buyer] = await Promise.all([
      registerAgent(marketplace, { wallet: evmWallet(key) }),
      registerAgent(marketplace),
    ]);
    shop = await openShop(seller, () => reply(500, { broken: true }), { pricing_amount: 0.25 });
  }, 240_000);
  afterAll(async () => {
    await expectBooksInOrder(marketplace, [shop]);
    await shop?.close();
    await marketplace?.stop();
    relay?.stop();
    await chain?.stop();
  }, 120_000);

  it('of what Relay paid the seller is shown to both, takes the seller off the market, and is confirmed by its transfer', async () => {
    const body = { never: 'delivered' };
    const offer = await quote(buyer, shop.listing, body, {
      'X-Market-Origin-Chain-Id': 'eip155:8453',
      'X-Market-Origin-Currency': 'ETH',
    });
    relay.fill(relay.deposit(offer.requirements.depositAddress!));
    const failed = await callOnce(buyer, shop.listing, body, withRelayId(offer.relay_request_id));
    expect(resultOf(failed)).toMatchObject({ billable: false });
    await letTimePass(marketplace, { window: offer.payment_id });
    const [refund] = await eventually(
      async () => {
        const { data } = await seller.market.refunds.list({ role: 'seller' });
        expect(data).toMatchObject([{ wallet: buyer.wallet.address }]);
        return data;
      },
      { withinMs: 20_000 },
    );
    expect(refund).toMatchObject({
      status: 'refund_due',
      reason: 'not_delivered',
      amount: { micros: '237500' },
      network: `eip155:${CHAIN_ID}`,
    });
    expect((await buyer.market.refunds.list()).data.map(({ owed_by, amount }) => [owed_by, amount.micros])).toEqual(
      expect.arrayContaining([
        ['seller', '237500'],
        ['operator', '12500'],
      ]),
    );
    const isListed = async () => (await seller.market.send('GET', `/listings/${shop.listing.id}`)).json;
    await eventually(async () => expect(await isListed()).toMatchObject({ data: { status: 'suspended' } }), {
      withinMs: 20_000,
    });

    const transaction = await chain.send(USDC, 'transfer', [refund!.wallet, 237_500n]);
    await chain.pass(1);
    await expect(buyer.market.refunds.confirm(refund!, transaction)).rejects.toMatchObject({ status: 403 });
    await expect(seller.market.refunds.confirm(refund!, `0x${'1'.repeat(64)}`)).rejects.toMatchObject({ status: 400 });
    expect(await seller.market.refunds.confirm(refund!, transaction)).toMatchObject({
      status: 'refunded',
      transaction_hash: transaction,
    });
    await eventually(async () => expect(await isListed()).toMatchObject({ data: { status: 'active' } }), {
      withinMs: 20_000,
    });
    for (const agent of [seller, buyer]) {
      const { data } = await agent.market.ledger.list({ type: 'adjustment' });
      expect(data[0]).toMatchObject({ transaction_hash: transaction, wallet: refund!.wallet });
      await eventually(async () => {
        const events = (await agent.market.send('GET', '/events?limit=100')).json as {
          data: { type: string; data: object }[];
        };
        expect(events.data.filter(({ type }) => type === 'refund').map(({ data: told }) => told)).toMatchObject([
          { status: 'refund_due' },
          { status: 'refunded', transaction_hash: transaction },
        ]);
      });
    }
    expect((await seller.market.balance()).refunds.due_by_account.usd).toBe(0);
    expect((await buyer.market.balance()).refunds.due_to_account.micros).toBe('12500');
  }, 180_000);

  it('of play money is paid by itself; payment, history and statement say where', async () => {
    const body = { play: 'money' };
    const offer = await quote(buyer, shop.listing, body, { 'X-Market-Origin-Currency': 'SOL' });
    const relayRequestId = offer.relay_request_id;
    await buyer.market.sandbox.pay(relayRequestId, { outcome: 'late' });
    const [refund] = await eventually(async () => {
      const { data } = await buyer.market.refunds.list({ status: 'refunded' });
      const late = data.filter(({ reason }) => reason === 'paid_late');
      expect(late).toHaveLength(1);
      return late;
    });
    expect(await buyer.market.payments.get(refund!.payment_id)).toMatchObject({
      status: 'refunded',
      refund_due_amount: 0,
      requirements: { relayRequestId },
    });
    await eventually(async () =>
      expect(await buyer.market.gatewayRequests.get(refund!.gateway_request_id!)).toMatchObject({
        refund: { status: 'refunded', transaction_hash: refund!.transaction_hash },
      }),
    );
    const month = new Date().toISOString().slice(0, 7);
    const statement = await buyer.market.statements.get(month);
    const sum = statement.entries.reduce(
      (total, { direction, amount_cents }) =>
        total + (direction === 'credit' ? 1 : -1) * Math.round(amount_cents * 10_000),
      0,
    );
    expect(Number(statement.closing_balance.micros) - Number(statement.opening_balance.micros)).toBe(sum);
    expect(statement.totals).toMatchObject({
      refunds_due: { micros: '500000' },
      refunds_received: { micros: '487500' },
      spent: { usd: 0 },
    });
    const csv = await fetch(`${marketplace.baseUrl}/api/v1/statements/${month}`, {
      headers: { authorization: buyer.registration.authorization_header, accept: 'text/csv' },
    });
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const text = await csv.text();
    expect(text.split('\r\n')).toHaveLength(statement.entries.length + 2);
    expect(await buyer.market.statements.csv(month)).toBe(text);
    expect((await buyer.market.send('GET', '/statements/2026-13')).status).toBe(404);
  }, 120_000);
});
