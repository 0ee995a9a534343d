import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { PaymentOffer } from '@market/sdk';
import { eventually, startMarketplace, type RunningMarketplace } from '@market/testing';
import { createKeyPairSignerFromPrivateKeyBytes, generateKeyPairSigner, type Address, type Signature } from '@solana/kit';
import { parseUnits } from 'viem';
import { addressAt, startSolanaWorld, type Mint, type SolanaWorld } from '../../../payments-ledger/test/support/solana-world.js';
import { admin } from '../support/admin.js';
import { expectBooksInOrder } from '../support/books.js';
import { bodyOf, callOnce, quote, resultOf, withRelayId } from '../support/buyer.js';
import { openShop, type Shop } from '../support/seller.js';
import { letTimePass } from '../support/subscriber.js';
import { inEachMode, registerAgent, type Agent } from '../support/world.js';

const PRICE = 0.25;
const SEED = Buffer.alloc(32, 5);
const DECIMALS = { USDC: 6, SOL: 9 } as const;
type Currency = keyof typeof DECIMALS;

/** A real virtual machine, real transfers with real signatures, finalized when the test says so. */
inEachMode('money on Solana', ({ mode }) => {
  let chain: SolanaWorld;
  let usdc: Mint;
  let receiver: Address;
  let marketplace: RunningMarketplace;
  let onChain: Record<string, string>;
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;
  let stall: Shop;

  beforeAll(async () => {
    chain = await startSolanaWorld();
    usdc = await chain.mint();
    receiver = (await generateKeyPairSigner()).address;
    await chain.sendCoin(receiver, 1_000_000n);
    chain.node.finalize();
    const { network } = chain.node;
    onChain = {
      PAYMENTS_LEDGER_SOLANA_SEED: SEED.toString('hex'),
      PAYMENTS_LEDGER_SOLANA_RPC_URLS: `${network}=${chain.node.url}`,
      PAYMENTS_LEDGER_SOLANA_USDC: `${network}=${usdc.address}`,
      PAYMENTS_LEDGER_SOLANA_RECEIVER: receiver,
      PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 6).toString('base64'),
      PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '250',
    };
    marketplace = await startMarketplace({ mode, env: onChain });
    seller = await registerAgent(marketplace, { displayName: 'Seller' });
    shop = await openShop(seller, undefined, { pricing_amount: PRICE });
    stall = await openShop(seller, undefined, { pricing_amount: 0.02 });
  }, 120_000);
  beforeEach(async () => {
    buyer = await registerAgent(marketplace, { displayName: 'Buyer' });
  });
  afterAll(async () => {
    await expectBooksInOrder(marketplace, [shop, stall]);
    await shop?.close();
    await stall?.close();
    await marketplace?.stop();
    chain?.stop();
  }, 60_000);

  const ask = (body: object, currency: Currency): Promise<PaymentOffer> => quote(buyer, shop.listing, body, { 'X-Market-Origin-Chain-Id': chain.node.network, 'X-Market-Origin-Currency': currency });
  const send = ({ requirements }: PaymentOffer, amount = requirements.amount): Promise<Signature> => {
    const [to, value] = [requirements.depositAddress as Address, parseUnits(amount, DECIMALS[requirements.currency as Currency])];
    return requirements.currency === 'SOL' ? chain.sendCoin(to, value) : chain.sendToken(usdc, to, value);
  };
  const call = (body: object, { relay_request_id }: PaymentOffer) => callOnce(buyer, shop.listing, body, withRelayId(relay_request_id));
  const owed = async () => (await buyer.market.ledger.list({ type: 'adjustment' })).data.map(({ direction, amount_cents }) => [direction, amount_cents]);

  it.each<Currency>(['USDC', 'SOL'])('buys a call by a transfer of %s: not before it is final, and then once', async (currency) => {
    const offer = await ask({ by: currency }, currency);
    expect(offer).toMatchObject({ provider: 'onchain-solana', requirements: { network: chain.node.network, currency, amount: currency === 'USDC' ? '0.25' : '0.001666667', depositAddress: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/) as string } });
    expect((await call({ by: currency }, offer)).status).toBe(202);
    const hash = await send(offer);
    expect((await call({ by: currency }, offer)).status).toBe(202);
    chain.node.finalize();
    const answers = [await call({ by: currency }, offer), await call({ by: currency }, offer)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(resultOf(answers[0]!)).toMatchObject({ billable: true, charged_amount: { amount_cents: 25, currency: 'USD' }, seller_response: { echo: { by: currency } } });
    for (const [agent, role] of [[buyer, 'buyer'], [seller, 'seller']] as const) expect((await agent.market.receipts.list({ role })).data[0]).toMatchObject({ transaction_hash: hash, gross_amount: PRICE });
    expect(await owed()).toEqual([]);
  });

  it('buys a call that costs less than an address must hold by a transfer that names the offer', async () => {
    const offer = await quote(buyer, stall.listing, { small: 1 }, { 'X-Market-Origin-Chain-Id': chain.node.network, 'X-Market-Origin-Currency': 'SOL' });
    const { amount, amount_base_units, depositAddress, reference, payment_url } = offer.requirements;
    expect([depositAddress, amount, payment_url]).toEqual([receiver, '0.000133334', `solana:${receiver}?amount=0.000133334&reference=${reference}`]);
    const hash = await chain.send([chain.coinTransfer(receiver, BigInt(amount_base_units!), reference as Address)]);
    const attempt = () => callOnce(buyer, stall.listing, { small: 1 }, withRelayId(offer.relay_request_id));
    expect((await attempt()).status).toBe(202);
    chain.node.finalize();
    expect((await attempt()).status).toBe(200);
    expect((await buyer.market.receipts.list({ role: 'buyer' })).data[0]).toMatchObject({ transaction_hash: hash, gross_amount: 0.02 });
    expect(await owed()).toEqual([]);
  });

  it('that is too little is asked for the rest on the same id, and what is too much is owed back', async () => {
    const offer = await ask({ parts: 2 }, 'USDC');
    await send(offer, '0.1');
    chain.node.finalize();
    const asked = await call({ parts: 2 }, offer);
    expect([asked.status, bodyOf(asked).error?.details]).toMatchObject([402, { reason: 'underpaid', received: '0.1', missing: '0.15' }]);
    await send(offer, '0.25');
    chain.node.finalize();
    expect((await call({ parts: 2 }, offer)).status).toBe(200);
    expect(await owed()).toEqual([['credit', 10]]);
  });

  it('that comes too late buys nothing and is owed back, though nobody asks', async () => {
    const offer = await ask({ late: 1 }, 'SOL');
    await letTimePass(marketplace, { offer: offer.payment_id });
    await eventually(async () => expect(bodyOf(await call({ late: 1 }, offer)).error?.details).toMatchObject({ reason: 'offer_expired' }));
    await send(offer);
    chain.node.finalize();
    await letTimePass(marketplace, { look: offer.payment_id });
    await eventually(async () => expect(await owed()).toEqual([['credit', 25]]));
  });

  it('is found by its operator, with the path to the key of each address', async () => {
    const { code, output } = await admin({ DATABASE_URL: marketplace.databaseUrl, ...onChain }, 'payments', 'report');
    expect(code).toBe(0);
    const deposits = output.split('\n').map((line) => line.split('\t'));
    expect(deposits.map(([kind, , network, , , amount, currency]) => [kind, network, amount, currency])).toEqual([
      ['deposit', chain.node.network, '0.25', 'USDC'],
      ['deposit', chain.node.network, '0.001666667', 'SOL'],
      ['deposit', chain.node.network, '0.35', 'USDC'],
      ['deposit', chain.node.network, '0.001666667', 'SOL'],
    ]);
    for (const [, , , address, path] of deposits) expect(addressAt(SEED, path!)).toBe(address);
    expect((await admin({ DATABASE_URL: marketplace.databaseUrl, ...onChain }, 'books', 'verify')).output).toBe('the books add up');
    await sweep(output);
    chain.node.finalize();
    expect((await admin({ DATABASE_URL: marketplace.databaseUrl, ...onChain }, 'payments', 'report')).output).toBe('no payment is open longer than expected, and no deposit address holds money');
  });

  /** As the operator's page says, and all of it arrives: what was paid, and what two token accounts had to hold. */
  async function sweep(report: string): Promise<void> {
    const [feePayer, treasury] = [randomBytes(32), (await generateKeyPairSigner()).address];
    await chain.sendCoin((await createKeyPairSignerFromPrivateKeyBytes(feePayer)).address, 10_000_000n);
    const script = spawn(process.execPath, ['docs/payments/sweep-solana.mjs', treasury], {
      env: { ...process.env, DEPOSIT_SEED: SEED.toString('hex'), FEE_PAYER: feePayer.toString('hex'), MINT: usdc.address, RPC_URL: chain.node.url },
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    script.stdin.end(report);
    expect(await once(script, 'exit')).toEqual([0, null]);
    const newest = { commitment: 'processed' } as const;
    expect((await chain.rpc.getBalance(treasury, newest).send()).value).toBe(2n * 1_666_667n + 2n * 2_039_280n);
    expect((await chain.rpc.getTokenAccountBalance(await chain.accountOf(usdc, treasury), newest).send()).value.amount).toBe('600000');
  }
});
