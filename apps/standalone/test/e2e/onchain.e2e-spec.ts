import type { PaymentOffer } from '@market/sdk';
import { eventually, startMarketplace, type RunningMarketplace } from '@market/testing';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/client';
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from '@x402/fetch';
import { wrapAxiosWithPayment } from '@x402/axios';
import axios from 'axios';
import { bytesToHex, parseEther, parseUnits, type Address } from 'viem';
import { HDKey, mnemonicToAccount, privateKeyToAddress } from 'viem/accounts';
import { startEvmWorld, type EvmWorld } from '../../../payments-ledger/test/support/evm-world.js';
import { admin } from '../support/admin.js';
import { expectBooksInOrder } from '../support/books.js';
import { bodyOf, callOnce, quote, resultOf, withRelayId } from '../support/buyer.js';
import { openShop, type Shop } from '../support/seller.js';
import { letTimePass } from '../support/subscriber.js';
import { inEachMode, registerAgent, type Agent } from '../support/world.js';

const CHAIN_ID = 84_532;
/** Where stock clients know USDC of Base Sepolia. */
const USDC: Address = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
const ON_CHAIN = { 'X-Market-Origin-Chain-Id': String(CHAIN_ID) };
const PRICE = 0.25;
/** Never told to the marketplace, but for its public half. */
const SPENDER = HDKey.fromMasterSeed(Buffer.alloc(32, 5));

/** A real chain, real transfers, a real settlement; the marketplace holds no key that could spend what it is paid. */
inEachMode('money on a chain', ({ mode }) => {
  let chain: EvmWorld;
  let marketplace: RunningMarketplace;
  let onChain: Record<string, string>;
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;

  beforeAll(async () => {
    chain = await startEvmWorld(CHAIN_ID);
    await chain.place('SignedToken', USDC);
    await chain.mint(USDC, chain.payer, parseUnits('1000', 6));
    const gas = mnemonicToAccount(chain.node.mnemonic, { addressIndex: 3 }).getHdKey().privateKey!;
    onChain = {
      PAYMENTS_LEDGER_EVM_XPUB: SPENDER.publicExtendedKey,
      PAYMENTS_LEDGER_EVM_RPC_URLS: `eip155:${CHAIN_ID}=${chain.node.url}`,
      PAYMENTS_LEDGER_EVM_USDC: `eip155:${CHAIN_ID}=${USDC}`,
      PAYMENTS_LEDGER_X402_FACILITATOR_KEY: `0x${Buffer.from(gas).toString('hex')}`,
      PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 6).toString('base64'),
      PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '250',
      API_GATEWAY_X402_V1: 'true',
    };
    marketplace = await startMarketplace({ mode, env: onChain });
    seller = await registerAgent(marketplace, { displayName: 'Seller' });
    shop = await openShop(seller, undefined, { pricing_amount: PRICE });
  }, 120_000);
  beforeEach(async () => {
    buyer = await registerAgent(marketplace, { displayName: 'Buyer' });
  });
  afterAll(async () => {
    await expectBooksInOrder(marketplace, [shop]);
    await shop?.close();
    await marketplace?.stop();
    await chain?.stop();
  }, 60_000);

  const depositOf = ({ requirements }: PaymentOffer): Address => requirements.depositAddress as Address;
  const sendUsdc = (offer: PaymentOffer, amount: string) => chain.sendToken(USDC, depositOf(offer), parseUnits(amount, 6));
  const final = () => chain.node.mine(2);
  const call = (body: object, { relay_request_id }: PaymentOffer) => callOnce(buyer, shop.listing, body, withRelayId(relay_request_id));
  const owed = async () => (await buyer.market.ledger.list({ type: 'adjustment' })).data.map(({ direction, amount_cents }) => [direction, amount_cents]);

  it('buys a call by a plain transfer of USDC: not before it is final, and then once [spec: gateway.header-x-market-origin-chain-id]', async () => {
    const offer = await quote(buyer, shop.listing, { by: 'usdc' }, ON_CHAIN);
    expect(offer).toMatchObject({ provider: 'onchain-evm', requirements: { network: `eip155:${CHAIN_ID}`, currency: 'USDC', amount: '0.25', depositAddress: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/) as string } });
    expect((await call({ by: 'usdc' }, offer)).status).toBe(202);
    const hash = await sendUsdc(offer, '0.25');
    expect((await call({ by: 'usdc' }, offer)).status).toBe(202);
    await final();
    const answers = [await call({ by: 'usdc' }, offer), await call({ by: 'usdc' }, offer)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(resultOf(answers[0]!)).toMatchObject({ billable: true, charged_amount: { amount_cents: 25, currency: 'USD' }, seller_response: { echo: { by: 'usdc' } } });
    expect(await chain.balanceOf(USDC, depositOf(offer))).toBe(250_000n);
    for (const [agent, role] of [[buyer, 'buyer'], [seller, 'seller']] as const) expect((await agent.market.receipts.list({ role })).data[0]).toMatchObject({ transaction_hash: hash, gross_amount: PRICE });
    expect(await owed()).toEqual([]);
  });

  it('buys a call by ETH', async () => {
    const offer = await quote(buyer, shop.listing, { by: 'eth' }, { ...ON_CHAIN, 'X-Market-Origin-Currency': 'ETH' });
    expect(offer.requirements).toMatchObject({ network: `eip155:${CHAIN_ID}`, currency: 'ETH' });
    await chain.sendCoin(depositOf(offer), parseEther(offer.requirements.amount));
    expect((await call({ by: 'eth' }, offer)).status).toBe(202);
    await final();
    expect((await call({ by: 'eth' }, offer)).status).toBe(200);
    expect(BigInt(await chain.node.request<string>('eth_getBalance', [depositOf(offer), 'latest']))).toBe(parseEther(offer.requirements.amount));
  });

  it.each([
    ['fetch', 'a key'],
    ['fetch', 'no key'],
    ['axios', 'a key'],
    ['axios', 'no key'],
  ])('buys a call for a stock x402 %s client that has %s, settled on the chain from what it signed', async (library, key) => {
    const payer = chain.payerAccount;
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(payer as never));
    const keyed = key === 'a key';
    const url = `${marketplace.baseUrl}/api/v1/${keyed ? 'gateway' : 'x402'}/${shop.listing.slug}`;
    const headers = { 'content-type': 'application/json', ...(keyed ? { authorization: buyer.registration.authorization_header, ...ON_CHAIN } : {}) };
    const body = JSON.stringify({ by: library, with: key });
    const held = await chain.balanceOf(USDC, payer.address);
    let headerOf: (name: string) => string | null;
    let answer: unknown;
    if (library === 'fetch') {
      const response = await wrapFetchWithPayment(fetch, client)(url, { method: 'POST', headers, body });
      [headerOf, answer] = [(name) => response.headers.get(name), await response.json()];
    } else {
      const response = await wrapAxiosWithPayment(axios.create(), client as never).post<unknown>(url, body, { headers });
      [headerOf, answer] = [(name) => (response.headers[name.toLowerCase()] as string | undefined) ?? null, response.data];
    }
    expect(answer).toMatchObject({ success: true, data: { billable: true, seller_response: { echo: JSON.parse(body) as object } } });
    const { success, transaction } = new x402HTTPClient(client).getPaymentSettleResponse(headerOf);
    expect(success).toBe(true);
    expect(await chain.node.request('eth_getTransactionReceipt', [transaction])).toMatchObject({ status: '0x1', to: USDC.toLowerCase() });
    expect(held - (await chain.balanceOf(USDC, payer.address))).toBe(250_000n);
    expect((await seller.market.receipts.list({ role: 'seller' })).data[0]).toMatchObject({ transaction_hash: transaction, gross_amount: PRICE });
    if (keyed) expect(await owed()).toEqual([]);
  });

  it('buys a call for a client of x402 version 1, which reads the body and sends X-PAYMENT', async () => {
    const client = new x402Client().registerV1('base-sepolia', new ExactEvmSchemeV1(chain.payerAccount as never));
    const sent: Headers[] = [];
    // Version 1 knows no PAYMENT-REQUIRED: all it has is the body.
    const ofVersion1: typeof fetch = async (input, init) => {
      const request = new Request(input, init);
      sent.push(request.headers);
      const response = await fetch(request);
      const headers = new Headers(response.headers);
      headers.delete('payment-required');
      return new Response(await response.text(), { status: response.status, headers });
    };
    const ask = { method: 'POST', headers: { 'content-type': 'application/json', authorization: buyer.registration.authorization_header, ...ON_CHAIN }, body: '{"by":"v1"}' };
    const url = `${marketplace.baseUrl}/api/v1/gateway/${shop.listing.slug}`;
    const response = await wrapFetchWithPayment(ofVersion1, client)(url, ask);
    expect([response.status, await response.json()]).toEqual([200, expect.objectContaining({ data: expect.objectContaining({ billable: true, seller_response: { echo: { by: 'v1' } } }) as object })]);
    const settled = JSON.parse(Buffer.from(response.headers.get('x-payment-response')!, 'base64').toString()) as { success: boolean; transaction: string };
    expect(settled).toMatchObject({ success: true, transaction: (await buyer.market.receipts.list({ role: 'buyer' })).data[0]!.transaction_hash! });
    const signature = sent.map((headers) => headers.get('x-payment')).find((value) => value !== null)!;
    const again = await fetch(url, { ...ask, headers: { ...ask.headers, 'x-payment': signature } });
    expect([again.status, (await buyer.market.receipts.list({ role: 'buyer' })).pagination.total]).toEqual([200, 1]);
    const stranger = await registerAgent(marketplace);
    const stolen = await fetch(url, { ...ask, headers: { ...ask.headers, authorization: stranger.registration.authorization_header, 'x-payment': signature } });
    expect([stolen.status, ((await stolen.json()) as { error: { details: { reason: string } } }).error.details.reason]).toEqual([404, 'payment_not_found']);
    for (const odd of ['', 'e30=', Buffer.from('{"x402Version":1,"payload":{"authorization":{"to":"0x12"}}}').toString('base64')]) expect((await fetch(url, { ...ask, headers: { ...ask.headers, 'x-payment': odd } })).status).toBe(400);
  });

  it('that is too little is asked for the rest on the same id', async () => {
    const offer = await quote(buyer, shop.listing, { part: 1 }, ON_CHAIN);
    await sendUsdc(offer, '0.1');
    await final();
    const asked = await call({ part: 1 }, offer);
    expect([asked.status, bodyOf(asked).error?.details]).toMatchObject([402, { reason: 'underpaid', received: '0.1', missing: '0.15' }]);
    await sendUsdc(offer, '0.15');
    await final();
    expect((await call({ part: 1 }, offer)).status).toBe(200);
    expect(await chain.balanceOf(USDC, depositOf(offer))).toBe(250_000n);
    expect(await owed()).toEqual([]);
  });

  it('that is too much buys the call at its price, and the surplus is owed back, also what comes after it', async () => {
    const offer = await quote(buyer, shop.listing, { surplus: 1 }, ON_CHAIN);
    await sendUsdc(offer, '0.35');
    await final();
    expect(resultOf(await call({ surplus: 1 }, offer)).charged_amount.amount_cents).toBe(25);
    expect(await owed()).toEqual([['credit', 10]]);
    await sendUsdc(offer, '0.25');
    await final();
    await letTimePass(marketplace, { look: offer.payment_id });
    await eventually(async () => expect(await owed()).toEqual([['credit', 25], ['credit', 10]]));
    expect(await chain.balanceOf(USDC, depositOf(offer))).toBe(600_000n);
  });

  it('that comes too late buys nothing and is owed back, though nobody asks', async () => {
    const offer = await quote(buyer, shop.listing, { late: 1 }, ON_CHAIN);
    await letTimePass(marketplace, { offer: offer.payment_id });
    await eventually(async () => expect(bodyOf(await call({ late: 1 }, offer)).error?.details).toMatchObject({ reason: 'offer_expired' }));
    await sendUsdc(offer, '0.25');
    await final();
    await letTimePass(marketplace, { look: offer.payment_id });
    await eventually(async () => expect(await owed()).toEqual([['credit', 25]]));
    expect(bodyOf(await call({ late: 1 }, offer)).error?.details).toMatchObject({ reason: 'refund_due' });
    expect(await chain.balanceOf(USDC, depositOf(offer))).toBe(250_000n);
  });

  it('is found by its operator, with the path to the key of each address', async () => {
    const { code, output } = await admin({ DATABASE_URL: marketplace.databaseUrl, ...onChain }, 'payments', 'report');
    expect(code).toBe(0);
    const deposits = output.split('\n').map((line) => line.split('\t'));
    expect(deposits.map(([kind, , network, , , amount, currency]) => [kind, network, amount, currency])).toEqual([
      ['deposit', `eip155:${CHAIN_ID}`, '0.25', 'USDC'],
      ['deposit', `eip155:${CHAIN_ID}`, expect.stringMatching(/^0\.0000833/), 'ETH'],
      ...Array.from({ length: 5 }, () => ['deposit', `eip155:${CHAIN_ID}`, '0.25', 'USDC']),
      ['deposit', `eip155:${CHAIN_ID}`, '0.25', 'USDC'],
      ['deposit', `eip155:${CHAIN_ID}`, '0.6', 'USDC'],
      ['deposit', `eip155:${CHAIN_ID}`, '0.25', 'USDC'],
    ]);
    for (const [, , , address, path] of deposits) expect(privateKeyToAddress(bytesToHex(SPENDER.derive(path!).privateKey!))).toBe(address);
    expect((await admin({ DATABASE_URL: marketplace.databaseUrl, ...onChain }, 'books', 'verify')).output).toBe('the books add up');
  });
});
