import { x402Payer } from '@market/sdk';
import { eventually, startMarketplace, type RunningMarketplace } from '@market/testing';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from '@x402/fetch';
import { parseUnits, type Address, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from 'viem/accounts';
import { codeThatBurns, startEvmHarness, type EvmHarness } from '../../../payments-ledger/test/support/evm-harness.js';
import {
  MULTICALL3,
  walletsWithCode,
  type WalletsWithCode,
} from '../../../payments-ledger/test/support/wallets-with-code.js';
import { admin } from '../support/admin.js';
import { expectBooksInOrder } from '../support/books.js';
import { callOnce, quote, reasonOf, withRelayId } from '../support/buyer.js';
import { counting, jsonPost, payingFetch } from '../support/stock-client.js';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

const CHAIN_ID = 84_532;
/** The address at which stock clients expect USDC of Base Sepolia. */
const USDC: Address = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
const FEE_ADDRESS: Address = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';
const ON_CHAIN = { 'X-Market-Origin-Chain-Id': String(CHAIN_ID) };
const PRICE = 0.25;

/**
 * Uses a local chain and real settlement by the facilitator packages in the marketplace's process. The facilitator's
 * key pays gas and holds none of the payments.
 */
inEachMode('signed payments on a chain', ({ mode }) => {
  let chain: EvmHarness;
  let marketplace: RunningMarketplace;
  let onChain: Record<string, string>;
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;
  let wallets: WalletsWithCode;

  beforeAll(async () => {
    chain = await startEvmHarness(CHAIN_ID);
    await chain.place('SignedToken', USDC);
    await chain.place('Multicall3', MULTICALL3);
    wallets = await walletsWithCode(chain);
    await chain.send(USDC, 'mint', [chain.payer, parseUnits('1000', 6)]);
    onChain = {
      PAYMENTS_LEDGER_X402_CHAINS: `eip155:${CHAIN_ID}=${chain.node.url}`,
      PAYMENTS_LEDGER_FEE_ADDRESS: FEE_ADDRESS,
      PAYMENTS_LEDGER_X402_FACILITATOR_KEY: chain.gasKey,
      PAYMENTS_LEDGER_X402_WALLET_FACTORIES: wallets.factory,
      PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 6).toString('base64'),
      PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '250',
      PAYMENTS_LEDGER_SAMPLE_INTERVAL_MS: '250',
    };
    marketplace = await startMarketplace({ mode, env: onChain });
    seller = await registerAgent(marketplace, { displayName: 'Seller' });
    shop = await openShop(seller, undefined, { pricing_amount: PRICE });
  }, 240_000);
  beforeEach(async () => {
    buyer = await registerAgent(marketplace, { displayName: 'Buyer' });
  });
  afterAll(async () => {
    await expectBooksInOrder(marketplace, [shop]);
    await shop?.close();
    await marketplace?.stop();
    await chain?.stop();
  }, 120_000);

  /** The balance of the seller's own wallet. */
  const received = (): Promise<bigint> => chain.balanceOf(USDC, seller.wallet.address as Address);

  it('are asked for on that chain, and name no address for a transfer [spec: gateway.header-x-market-origin-chain-id]', async () => {
    const offer = await quote(buyer, shop.listing, { by: 'transfer' }, ON_CHAIN);
    expect(offer).toMatchObject({
      provider: 'x402',
      requirements: { network: `eip155:${CHAIN_ID}`, currency: 'USDC', amount: '0.25', depositAddress: null },
      x402: { accepts: [{ payTo: seller.wallet.address, amount: '250000' }] },
    });
    await chain.send(USDC, 'transfer', [seller.wallet.address, 250_000n]);
    const answer = await callOnce(buyer, shop.listing, { by: 'transfer' }, withRelayId(offer.relay_request_id));
    expect([answer.status, reasonOf(answer)]).toEqual([402, 'unpaid']);
    expect(shop.requests).toHaveLength(0);
  });

  it('are asked for by MCP with a key, too, since sandbox money pays nothing on a chain', async () => {
    const answer = await fetch(`${marketplace.baseUrl}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: buyer.registration.authorization_header,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'call_listing', arguments: { listing: shop.listing.slug, body: { by: 'mcp' } } },
      }),
    });
    expect(await answer.text()).toMatch(/"accepts":\[\{"scheme":"exact","network":"eip155:84532"/);
  });

  it.each(['a key', 'no key'])(
    'buy a call for a stock x402 client that has %s, settled on the chain from what it signed',
    async (key) => {
      const client = new x402Client().register('eip155:*', new ExactEvmScheme(chain.payerAccount as never));
      const keyed = key === 'a key';
      const before = await received();
      const { send, sent } = counting();
      const response = await wrapFetchWithPayment(send, client)(
        `${marketplace.baseUrl}/api/v1/${keyed ? 'gateway' : 'x402'}/${shop.listing.slug}`,
        {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            ...(keyed ? { authorization: buyer.registration.authorization_header, ...ON_CHAIN } : {}),
          },
          body: JSON.stringify({ with: key }),
        },
      );
      expect(await response.json()).toMatchObject({
        success: true,
        data: { billable: true, seller_response: { echo: { with: key } } },
      });
      const { success, transaction } = new x402HTTPClient(client).getPaymentSettleResponse((name) =>
        response.headers.get(name),
      );
      expect(success).toBe(true);
      const mined = await chain.node.request<{ gasUsed: string }>('eth_getTransactionReceipt', [transaction]);
      expect(mined).toMatchObject({ status: '0x1', to: USDC.toLowerCase() });
      // As docs/paying.md says it.
      expect([sent(), Number(mined.gasUsed) <= 75_000]).toEqual([2, true]);
      expect((await received()) - before).toBe(250_000n);
      expect((await seller.market.receipts.list({ role: 'seller' })).data[0]).toMatchObject({
        transaction_hash: transaction,
        gross_amount: PRICE,
      });
    },
  );

  it.each([
    ['deployed', 'no key'],
    ['deployed', 'a key'],
    ['delegated', 'no key'],
    ['delegated', 'a key'],
  ] as const)('of a wallet with code, %s, buy calls for a stock x402 client that has %s', async (kind, key) => {
    const wallet = await wallets[kind]();
    await chain.send(USDC, 'transfer', [wallet.address, 250_000n]);
    const before = await received();
    const keyed = key === 'a key';
    const { send, sent } = counting();
    const answer = await payingFetch(wallet, send)(
      `${marketplace.baseUrl}/api/v1/${keyed ? 'gateway' : 'x402'}/${shop.listing.slug}`,
      jsonPost({ kind }, keyed ? { authorization: buyer.registration.authorization_header, ...ON_CHAIN } : {}),
    );
    expect(await answer.json()).toMatchObject({ data: { billable: true, seller_response: { echo: { kind } } } });
    const settledBy = JSON.parse(Buffer.from(answer.headers.get('payment-response')!, 'base64').toString()) as {
      transaction: string;
    };
    const mined = await chain.node.request<{ gasUsed: string }>('eth_getTransactionReceipt', [settledBy.transaction]);
    expect([sent(), Number(mined.gasUsed) <= 75_000]).toEqual([2, true]);
    expect([(await received()) - before, await chain.balanceOf(USDC, wallet.address)]).toEqual([250_000n, 0n]);
  });

  it('of a wallet that is yet to be deployed are refused if that costs more than the fee, and paid once it is', async () => {
    const wallet = await wallets.undeployed();
    await chain.send(USDC, 'transfer', [wallet.address, 250_000n]);
    const pay = () =>
      payingFetch(wallet)(`${marketplace.baseUrl}/api/v1/x402/${shop.listing.slug}`, jsonPost({ by: 'undeployed' }));
    const before = shop.requests.length;
    const refused = await pay();
    expect([refused.status, await refused.json()]).toMatchObject([
      402,
      { error: { details: { reason: 'settlement_too_costly' } } },
    ]);
    expect(shop.requests).toHaveLength(before);
    await wallet.deploy();
    expect((await pay()).status).toBe(200);
    expect(await chain.balanceOf(USDC, wallet.address)).toBe(0n);
  });

  it('that others sign for a wallet with code are refused, and nothing is called', async () => {
    const { address } = await wallets.deployed();
    await chain.send(USDC, 'transfer', [address, 250_000n]);
    const { signTypedData } = await wallets.deployed();
    const before = shop.requests.length;
    const answer = await payingFetch({ address, signTypedData })(
      `${marketplace.baseUrl}/api/v1/x402/${shop.listing.slug}`,
      jsonPost({ by: 'another' }),
    );
    expect([answer.status, await answer.json()]).toMatchObject([
      402,
      { error: { details: { reason: 'invalid_exact_evm_signature' } } },
    ]);
    expect(shop.requests).toHaveLength(before);
  });

  it('are made by the SDK: the buyer sends nothing, and needs no RPC server', async () => {
    const sent = () => chain.node.request<string>('eth_getTransactionCount', [chain.payer, 'latest']);
    const before = [await sent(), await received()] as const;
    const answer = await buyer.market.call(
      shop.listing,
      { by: 'signature' },
      { pay: x402Payer(chain.payerAccount, { [`eip155:${CHAIN_ID}`]: {} }), originChainId: CHAIN_ID },
    );
    expect(answer).toMatchObject({ billable: true, settlement: { success: true, payer: chain.payer.toLowerCase() } });
    expect([await sent(), (await received()) - before[1]]).toEqual([before[0], 250_000n]);
  });

  it('of a wallet whose code burns gas are refused before the seller is called, and cost the operator nothing', async () => {
    const costly = privateKeyToAccount(generatePrivateKey());
    await chain.send(USDC, 'transfer', [costly.address, 250_000n]);
    await chain.node.request('anvil_setCode', [costly.address, codeThatBurns(500_000)]);
    const gas = (): Promise<unknown> =>
      chain.node.request('eth_getBalance', [privateKeyToAddress(chain.gasKey), 'latest']);
    const before = [await gas(), shop.requests.length];
    const answer = await payingFetch(costly)(
      `${marketplace.baseUrl}/api/v1/x402/${shop.listing.slug}`,
      jsonPost({ by: 'code' }),
    );
    expect([answer.status, await answer.json()]).toMatchObject([
      402,
      { error: { details: { reason: 'settlement_too_costly' } } },
    ]);
    expect([await gas(), shop.requests.length]).toEqual(before);
  });

  it('of a wallet that can pay one call, and signs 25 at once without a key, get no more work done than they pay for', async () => {
    const poor = privateKeyToAccount(generatePrivateKey());
    await chain.send(USDC, 'transfer', [poor.address, 250_000n]);
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(poor));
    const url = `${marketplace.baseUrl}/api/v1/x402/${shop.listing.slug}`;
    const post = (n: number, headers: Record<string, string> = {}) =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ n }),
      });
    for (const worked of [1, 0]) {
      const signed = await Promise.all(
        Array.from({ length: 25 }, async (_, n) => {
          const asked = await post(n);
          return client.createPaymentPayload(
            new x402HTTPClient(client).getPaymentRequiredResponse(
              (name) => asked.headers.get(name),
              await asked.json(),
            ),
          );
        }),
      );
      const before = [shop.requests.length, await received()] as const;
      const answers = await Promise.all(
        signed.map((payload, n) =>
          post(n, { 'payment-signature': Buffer.from(JSON.stringify(payload)).toString('base64') }),
        ),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([
        ...Array<number>(worked).fill(200),
        ...Array<number>(25 - worked).fill(402),
      ]);
      const refused = (await Promise.all(
        answers.filter(({ status }) => status === 402).map((answer) => answer.json()),
      )) as { error: { details: { reason: string } } }[];
      for (const { error } of refused) expect(error.details.reason).toMatch(/insufficient|simulation_failed/);
      expect([shop.requests.length, await received()]).toEqual([
        before[0] + worked,
        before[1] + BigInt(worked) * 250_000n,
      ]);
    }
  });

  it('make the fee a debt of the seller, who pays it on the chain with a stock x402 client', async () => {
    await buyer.market.call(
      shop.listing,
      { by: 'signature' },
      { pay: x402Payer(chain.payerAccount, { [`eip155:${CHAIN_ID}`]: {} }), originChainId: CHAIN_ID },
    );
    const before = await seller.market.balance();
    // Transfers to the wallet without a signature do not belong to the marketplace.
    const earned = (await received()) - 250_000n;
    expect(before.received).toEqual([
      {
        network: `eip155:${CHAIN_ID}`,
        wallet: seller.wallet.address,
        amount: { micros: String(earned), usd: Number(earned) / 1e6 },
      },
    ]);
    expect(BigInt(before.fees.due.micros)).toBe(earned / 20n);
    const client = new x402Client().register(
      'eip155:*',
      new ExactEvmScheme(privateKeyToAccount(seller.wallet.exportKey() as Hex)),
    );
    const paid = await wrapFetchWithPayment(fetch, client)(`${marketplace.baseUrl}/api/v1/fees/payments`, {
      method: 'POST',
      headers: { authorization: seller.registration.authorization_header },
    });
    expect([paid.status, await paid.json()]).toMatchObject([
      200,
      { data: { amount: before.fees.due, due: { usd: 0 } } },
    ]);
    expect(await chain.balanceOf(USDC, FEE_ADDRESS)).toBe(BigInt(before.fees.due.micros));
    expect((await seller.market.balance()).fees).toMatchObject({
      due: { usd: 0 },
      paid: before.fees.due,
      status: 'good',
    });
  });

  it('leave the books in order, and nothing open', async () => {
    for (const [command, says] of [
      [['payments', 'report'], 'no payment is open longer than expected, and nothing is owed back'],
      [['books', 'verify'], 'the books add up'],
    ] as const) {
      expect(await admin({ DATABASE_URL: marketplace.databaseUrl, ...onChain }, ...command)).toMatchObject({
        code: 0,
        output: says,
      });
    }
  });

  it('are not asked for while the account that pays the gas has none, and again when it has', async () => {
    const gasAccount = privateKeyToAccount(chain.gasKey).address;
    const fund = (wei: bigint): Promise<unknown> =>
      chain.node.request('anvil_setBalance', [gasAccount, `0x${wei.toString(16)}`]);
    const routeOf = async () => (await buyer.market.paymentRoutes()).find(({ provider }) => provider === 'x402')!;
    const price = (): Promise<Response> => fetch(`${marketplace.baseUrl}/api/v1/x402/${shop.listing.slug}`);
    expect([(await routeOf()).closed, (await price()).status]).toEqual([null, 402]);
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(chain.payerAccount as never));
    const asked = await price();
    const signed = await client.createPaymentPayload(
      new x402HTTPClient(client).getPaymentRequiredResponse((name) => asked.headers.get(name), await asked.json()),
    );
    await fund(1n);
    await eventually(async () => expect((await routeOf()).closed).toContain(gasAccount));
    expect((await price()).status).not.toBe(402);
    const before = shop.requests.length;
    const answer = await fetch(`${marketplace.baseUrl}/api/v1/x402/${shop.listing.slug}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'payment-signature': Buffer.from(JSON.stringify(signed)).toString('base64'),
      },
      body: '{"n":1}',
    });
    expect([answer.status, shop.requests.length]).toEqual([503, before]);
    await fund(10n ** 18n);
    await eventually(async () => expect((await routeOf()).closed).toBeNull());
    expect((await price()).status).toBe(402);
  });

  it('are not taken while the chain is away: an outage, with a key and without, of which nothing is held', async () => {
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(chain.payerAccount as never));
    const urls = ['gateway', 'x402'].map((path) => `${marketplace.baseUrl}/api/v1/${path}/${shop.listing.slug}`);
    const post = (url: string, headers: Record<string, string> = {}) =>
      fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: buyer.registration.authorization_header,
          ...ON_CHAIN,
          ...headers,
        },
        body: '{"by":"outage"}',
      });
    const signed = await Promise.all(
      urls.map(async (url) => {
        const asked = await post(url);
        const required = new x402HTTPClient(client).getPaymentRequiredResponse(
          (name) => asked.headers.get(name),
          await asked.json(),
        );
        return {
          'payment-signature': Buffer.from(JSON.stringify(await client.createPaymentPayload(required))).toString(
            'base64',
          ),
        };
      }),
    );
    const before = shop.requests.length;
    await chain.node.stop();
    for (const [index, url] of urls.entries()) {
      const refused = await post(url, signed[index]);
      expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toMatchObject([
        503,
        expect.stringMatching(/^\d+$/) as string,
        {
          success: false,
          error: { code: 'SERVICE_UNAVAILABLE', recovery: { next_action: expect.stringMatching(/^retry_/) as string } },
        },
      ]);
      expect((await post(url)).status).toBe(402);
    }
    expect(shop.requests).toHaveLength(before);
  });
});
