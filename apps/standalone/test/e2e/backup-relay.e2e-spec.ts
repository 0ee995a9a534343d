import { Marketplace, type Offer } from '@market/sdk';
import { startMarketplace, temporaryDirectory, type RunningMarketplace } from '@market/testing';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startRelayServer, type RelayServer } from '../../../payments-ledger/test/support/relay-server.js';
import { admin } from '../support/admin.js';
import { callOnce, quote, resultOf, withRelayId } from '../support/buyer.js';
import { inOneMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop, type Shop } from '../support/seller.js';

const BY_ETH = { 'X-Market-Origin-Chain-Id': 'eip155:8453', 'X-Market-Origin-Currency': 'ETH' };

/**
 * A marketplace is restored to a backup from before Relay carried money for calls that were quoted before the backup.
 */
inOneMode('a backup, and what Relay carried since', () => {
  let relay: RelayServer;
  let work: string;
  let env: Record<string, string>;
  let marketplace: RunningMarketplace;
  let buyer: Agent;
  let shop: Shop;

  beforeAll(async () => {
    relay = await startRelayServer();
    work = await temporaryDirectory('backup-relay');
    env = {
      DATA_DIR: join(work, 'data'),
      PAYMENTS_LEDGER_RELAY_URL: relay.url,
      PAYMENTS_LEDGER_RELAY_API_KEY: relay.apiKey,
      PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: '0x2222222222222222222222222222222222222222',
      PAYMENTS_LEDGER_RELAY_ROUTES: 'eip155:8453:ETH',
    };
    marketplace = await startMarketplace({ mode: 'standalone', env });
    const seller = await registerAgent(marketplace);
    buyer = await registerAgent(marketplace);
    shop = await openShop(seller);
  }, 240_000);
  afterAll(async () => {
    await shop?.close();
    await marketplace?.stop();
    relay?.stop();
    await rm(work, { recursive: true, force: true, maxRetries: 5 });
  }, 120_000);

  const ask = (of: string): Promise<Offer> => quote(buyer, shop.listing, { of }, BY_ETH);
  const call = (of: string, offer: Offer) => callOnce(buyer, shop.listing, { of }, withRelayId(offer.relay_request_id));
  const deposit = ({ requirements }: Offer) => relay.deposit(requirements.depositAddress!);
  const charges = async () =>
    (await buyer.market.receipts.list({ role: 'buyer' })).data.map(({ transaction_hash }) => transaction_hash).sort();
  const statusOf = async ({ payment_id }: Offer): Promise<string> =>
    ((await buyer.market.send('GET', `/payments/${payment_id}`)).json as { data: { status: string } }).data.status;
  const tell = async (offer: Offer): Promise<number> => {
    const { timestamp, signature, body } = relay.webhook(relay.requests.get(offer.relay_request_id)!);
    const headers = { 'X-Signature-Timestamp': timestamp, 'X-Signature-SHA256': signature };
    const answer = await fetch(`${marketplace.baseUrl}/api/v1/webhooks/relay`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    });
    return answer.status;
  };

  it('is found, and charged once', async () => {
    const [delivered, moving, unused, sentBack] = [
      await ask('delivered since'),
      await ask('moving'),
      await ask('unused'),
      await ask('sent back'),
    ];
    const onItsWay = deposit(moving);
    expect((await call('moving', moving)).status).toBe(202);
    expect(await admin(env, 'backup', 'create', join(work, 'backup'))).toMatchObject({ code: 0 });

    relay.fill(deposit(delivered));
    relay.fill(onItsWay);
    const quotedSince = await ask('quoted since');
    relay.fill(deposit(quotedSince));
    for (const [of, offer] of [
      ['delivered since', delivered],
      ['moving', moving],
      ['quoted since', quotedSince],
    ] as const)
      expect(resultOf(await call(of, offer))).toMatchObject({ billable: true });
    const before = await charges();
    expect(before).toHaveLength(3);
    relay.fill(deposit(unused));
    relay.refund(deposit(sentBack), 'SOLVER_CAPACITY_EXCEEDED');

    await marketplace.stop();
    env.DATA_DIR = join(work, 'restored');
    expect(await admin(env, 'backup', 'restore', join(work, 'backup'))).toMatchObject({ code: 0 });
    marketplace = await startMarketplace({ mode: 'standalone', env });
    buyer = { ...buyer, market: new Marketplace({ baseUrl: marketplace.baseUrl, apiKey: buyer.registration.api_key }) };
    expect(await charges()).toEqual([]);

    // Relay repeats its webhooks, or reports the payments when the marketplace asks.
    expect(await tell(unused)).toBe(200);
    expect(await tell(quotedSince)).toBe(200);
    for (const [of, offer] of [
      ['delivered since', delivered],
      ['moving', moving],
      ['unused', unused],
    ] as const)
      for (const answer of [await call(of, offer), await call(of, offer)])
        expect(resultOf(answer)).toMatchObject({ billable: true, seller_response: { echo: { of } } });
    expect((await call('sent back', sentBack)).status).toBe(402);
    expect(await statusOf(sentBack)).toBe('failed');
    expect((await call('quoted since', quotedSince)).status).toBe(404);

    // Each call is charged with its original transaction, and no deposit was paid again.
    const paidBy = (offer: Offer): string => relay.requests.get(offer.relay_request_id)!.txHashes[0]!;
    expect(await charges()).toEqual([delivered, moving, unused].map(paidBy).sort());
    expect(before).toEqual([delivered, moving, quotedSince].map(paidBy).sort());
    for (const { inTxHashes } of [delivered, moving, unused, sentBack, quotedSince].map(({ relay_request_id }) =>
      relay.requests.get(relay_request_id)!,
    ))
      expect(inTxHashes).toHaveLength(1);
    expect(await admin(env, 'books', 'verify')).toMatchObject({ code: 0, output: 'the books add up' });
  }, 360_000);
});
