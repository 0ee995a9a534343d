import {
  evmWallet,
  Marketplace,
  sandboxPayer,
  x402Payer,
  type CallOptions,
  type Payer,
  type Wallet,
} from '@market/sdk';
import { reply, used } from '@market/sdk/seller';
import { eventually } from '@market/testing';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { expectBooksInOrder } from '../support/books.js';
import { quote } from '../support/buyer.js';
import { commandsBelow, runAsWritten } from '../support/paying-page.js';
import { clientOf, failureOf, losingAnswers } from '../support/sdk-buyer.js';
import { openShop, type Shop } from '../support/seller.js';
import { counting } from '../support/stock-client.js';
import { inEachMode, inOneMode, registerAgent, type Agent } from '../support/harness.js';

const NETWORK = 'eip155:84532';
const PRICE = 0.25;

const receiptsOf = async ({ market }: Agent): Promise<number> =>
  (await market.receipts.list({ role: 'buyer' })).pagination.total;

inEachMode('the SDK in the sandbox', (harness) => {
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;
  let failing = false;
  const signer = x402Payer(privateKeyToAccount(generatePrivateKey()), { [NETWORK]: {} });

  beforeAll(async () => {
    seller = await registerAgent(harness, { displayName: 'Seller' });
    shop = await openShop(seller, ({ body }) => (failing ? reply(503, { sorry: true }) : { echo: body }), {
      pricing_amount: PRICE,
    });
  });
  beforeEach(async () => {
    failing = false;
    buyer = await registerAgent(harness, { displayName: 'Buyer' });
  });
  afterAll(async () => {
    await expectBooksInOrder(harness, [shop]);
    await shop.close();
  });

  it.each(['USDC', 'ETH', 'SOL'] as const)('pays with play money in %s', async (originCurrency) => {
    const { send, sent } = counting();
    const client = clientOf(buyer, { fetch: send });
    const answer = await client.call(
      shop.listing,
      { in: originCurrency },
      { pay: sandboxPayer(client), originCurrency },
    );
    expect(answer).toMatchObject({
      billable: true,
      charged_amount: { amount_cents: 25 },
      seller_response: { echo: { in: originCurrency } },
      settlement: null,
    });
    // As docs/paying.md says it; one more asks what a coin is worth.
    expect(sent()).toBe(originCurrency === 'USDC' ? 3 : 4);
    expect(await receiptsOf(buyer)).toBe(1);
  });

  it('pays by a signature, and tells which transaction paid', async () => {
    const answer = await buyer.market.call(
      shop.listing,
      { by: 'signature' },
      { pay: [signer, sandboxPayer(buyer.market)] },
    );
    expect(answer).toMatchObject({ billable: true, settlement: { success: true, network: NETWORK } });
    const [receipt] = (await buyer.market.receipts.list({ role: 'buyer' })).data;
    expect(receipt).toMatchObject({ transaction_hash: answer.settlement!.transaction, gross_amount: PRICE });
  });

  it.each(['with', 'without'])(
    'pays what a call used by upto, %s a key, and no more than the most that it may',
    async (key) => {
      const usage = { unit: 'token', per: 1_000, tiers: [{ price: 0.01 }] } as never;
      const metered = await openShop(seller, ({ body }) => used(3_000, { echo: body }), { pricing_amount: 0.4, usage });
      const pay = x402Payer(evmWallet(generatePrivateKey()), { [NETWORK]: { permit2: true } });
      const market = key === 'with' ? buyer.market : new Marketplace({ baseUrl: harness.baseUrl });
      const dear = market.call(metered.listing, { key }, { pay, maxPriceUsd: 0.39 });
      expect(await failureOf(dear)).toMatchObject({ code: 'PRICE_ABOVE_LIMIT' });
      const answer = await market.call(metered.listing, { key }, { pay });
      expect(answer).toMatchObject({
        charged_amount: { amount_cents: 3 },
        settlement: { success: true, amount: '30000' },
      });
      const exact = x402Payer(evmWallet(generatePrivateKey()), { [NETWORK]: {} });
      const whole = await market.call(metered.listing, { key, by: 'exact' }, { pay: exact });
      expect(whole).toMatchObject({ charged_amount: { amount_cents: 3 }, settlement: { success: true } });
      await metered.close();
    },
  );

  it('signs again after a crash, and is charged once', async () => {
    const options = { pay: signer, idempotencyKey: `crash-${buyer.id}` };
    failing = true;
    expect(await clientOf(buyer).call(shop.listing, { after: 'a crash' }, options)).toMatchObject({
      billable: false,
      settlement: null,
    });
    failing = false;
    // Waits so that the second signature has another time; otherwise it is the same as the first, which is held.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const answers = [];
    for (let process = 0; process < 3; process += 1)
      answers.push(await clientOf(buyer).call(shop.listing, { after: 'a crash' }, options));
    expect(answers.map(({ rawBody }) => rawBody)).toEqual(Array(3).fill(answers[0]!.rawBody));
    expect(answers[0]).toMatchObject({ billable: true });
    expect(await receiptsOf(buyer)).toBe(1);
  });

  it('is charged once when the answer to what it signed is lost', async () => {
    const wire = losingAnswers(2);
    const answer = await clientOf(buyer, { fetch: wire.fetch }).call(
      shop.listing,
      { lose: 'the answer' },
      { pay: signer },
    );
    expect([wire.lost(), answer.billable, await receiptsOf(buyer)]).toEqual([2, true, 1]);
  });

  it('calls for 20 at once with one signature each, and is charged 20 times', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => buyer.market.call(shop.listing, { n }, { pay: signer })),
    );
    expect(new Set(answers.map(({ settlement }) => settlement?.transaction)).size).toBe(20);
    expect(await receiptsOf(buyer)).toBe(20);
  });

  it('pays no more than a dollar unless it is told to, and no more than the listing cost when it was read', async () => {
    const dear = await openShop(seller, undefined, { pricing_amount: 1.5 });
    try {
      const listing = await buyer.market.listings.get(dear.listing.slug);
      const call = (options: CallOptions) =>
        buyer.market.call(listing, { dear: 1 }, { pay: sandboxPayer(buyer.market), ...options });
      expect(await failureOf(call({}))).toMatchObject({
        code: 'PRICE_ABOVE_LIMIT',
        payment: { fees: { gross_amount: 1.5 } },
      });
      await seller.market.listings.update(listing, { pricing_amount: 1.6 });
      // A gateway may quote the former price for a second.
      let asked = 0;
      await eventually(async () => {
        const { fees } = await quote(buyer, listing, { asked: (asked += 1) });
        expect(fees?.gross_amount).toBe(1.6);
      });
      const other = () => buyer.market.call(listing, { dear: 2 }, { pay: sandboxPayer(buyer.market), maxPriceUsd: 2 });
      expect(await failureOf(other())).toMatchObject({
        code: 'OFFER_REFUSED',
        details: { reason: 'price_above_listing' },
      });
      expect(await receiptsOf(buyer)).toBe(0);
      // The offer that was made before keeps its price.
      expect(await call({ maxPriceUsd: 2 })).toMatchObject({ billable: true, charged_amount: { amount_cents: 150 } });
    } finally {
      await dear.close();
    }
  });

  it('pays with nothing it may not pay with', async () => {
    const elsewhere = x402Payer(privateKeyToAccount(generatePrivateKey()), { 'eip155:8453': {} });
    const refused = await failureOf(buyer.market.call(shop.listing, { pay: 'nothing' }, { pay: elsewhere }));
    expect(refused).toMatchObject({ code: 'OFFER_REFUSED', details: { reason: 'no_payer' } });
  });
});

inEachMode('the SDK without a key', (harness) => {
  let shop: Shop;
  let wallet: Wallet;
  let signer: Payer;
  const client = (fetching: typeof fetch = fetch): Marketplace =>
    new Marketplace({ baseUrl: harness.baseUrl, fetch: fetching });
  /** Registers the wallet and returns what it was charged for. */
  const charged = async (): Promise<number> => receiptsOf(await registerAgent(harness, { wallet }));

  beforeAll(async () => {
    shop = await openShop(await registerAgent(harness, { displayName: 'Seller' }), undefined, {
      pricing_amount: PRICE,
    });
  });
  beforeEach(() => {
    wallet = evmWallet();
    signer = x402Payer(privateKeyToAccount(wallet.exportKey() as `0x${string}`), { [NETWORK]: {} });
  });
  afterAll(async () => {
    await expectBooksInOrder(harness, [shop]);
    await shop.close();
  });

  it('pays by a signature; the receipt is the wallet’s', async () => {
    const answer = await client().call(shop.listing, { by: 'nobody' }, { pay: signer });
    expect(answer).toMatchObject({
      billable: true,
      charged_amount: { amount_cents: 25 },
      seller_response: { echo: { by: 'nobody' } },
      settlement: { success: true, payer: wallet.address.toLowerCase() },
    });
    expect(await charged()).toBe(1);
  });

  it('is charged once when answers to what it signed are lost', async () => {
    const wire = losingAnswers(2);
    expect(await client(wire.fetch).call(shop.listing, { lose: 1 }, { pay: signer })).toMatchObject({ billable: true });
    expect([wire.lost(), await charged()]).toEqual([2, 1]);
  });

  it('is charged once for one idempotency key, by clients that know nothing of each other', async () => {
    const options = { pay: signer, idempotencyKey: `keyless-${wallet.address}` };
    const answers = [
      await client().call(shop.listing, { again: 1 }, options),
      await client().call(shop.listing, { again: 1 }, options),
    ];
    expect(answers[1]!.rawBody).toBe(answers[0]!.rawBody);
    expect(await charged()).toBe(1);
  });
});

inOneMode('docs/paying.md in the sandbox', (harness) => {
  let buyer: Agent;
  let shop: Shop;
  const run = (commands: string) => runAsWritten(commands, buyer, shop.listing, { KEY: buyer.registration.api_key });

  beforeAll(async () => {
    shop = await openShop(await registerAgent(harness, { displayName: 'Seller' }), () => ({ words: 6 }), {
      pricing_amount: PRICE,
    });
  });
  beforeEach(async () => {
    buyer = await registerAgent(harness, { displayName: 'Ada' });
  });
  afterAll(async () => {
    await expectBooksInOrder(harness, [shop]);
    await shop.close();
  });

  it('pays with curl: too little, then the rest, then the call', async () => {
    const [part, asked, rest, answer] = (await run(commandsBelow('With curl')[0]!)).trim().split('\n');
    expect([part, rest]).toEqual([
      expect.stringContaining('"outcome":"underpaid"'),
      expect.stringContaining('"status":"verified"'),
    ]);
    expect([asked, answer]).toEqual([
      expect.stringContaining('"reason":"underpaid"'),
      expect.stringContaining('"seller_response":{"words":6}'),
    ]);
  });

  it.each([
    ['a stock x402 client', () => commandsBelow('With a stock x402 client')[0]!],
    ['viem, signing by hand', () => commandsBelow('With viem')[0]!.split('\n')[0]!],
    ['the SDK, in play money', () => commandsBelow('With the SDK')[0]!.split('\n')[0]!],
    ['the SDK, by a signature', () => commandsBelow('With the SDK')[0]!.split('\n')[1]!],
  ])('pays with %s', async (_with, commands) => {
    expect(commands()).toMatch(/^node docs\/paying\/[\w-]+\.mjs word-count/);
    expect(await run(commands())).toMatch(/words"?: ?6/);
    expect(await receiptsOf(buyer)).toBe(1);
  });

  it.each([
    ['a stock x402 client', () => commandsBelow('With a stock x402 client')[0]!],
    ['viem, signing by hand', () => commandsBelow('With viem')[0]!.split('\n')[0]!],
    ['the SDK', () => commandsBelow('With the SDK')[0]!.split('\n')[1]!],
  ])('pays with %s, without a key', async (_with, command) => {
    const wallet = evmWallet();
    expect(
      await runAsWritten(command(), { market: new Marketplace({ baseUrl: harness.baseUrl }) }, shop.listing, {
        PAYER_KEY: wallet.exportKey(),
      }),
    ).toMatch(/words"?: ?6/);
    expect(await receiptsOf(await registerAgent(harness, { wallet }))).toBe(1);
  });
});
