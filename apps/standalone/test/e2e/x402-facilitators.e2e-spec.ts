import { solanaWallet } from '@market/sdk';
import {
  eventually,
  startMarketplace,
  startSolanaNode,
  type RunningMarketplace,
  type SolanaNode,
} from '@market/testing';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { Address } from 'viem';
import { cdpGuard, issueCdpKey } from '../../../payments-ledger/test/support/cdp-guard.js';
import { startEvmHarness, type EvmHarness } from '../../../payments-ledger/test/support/evm-harness.js';
import {
  serveFacilitatorOf,
  type RemoteFacilitator,
} from '../../../payments-ledger/test/support/remote-facilitator.js';
import { newSigner, serveSolanaFacilitator } from '../../../payments-ledger/test/support/solana-ledger.js';
import { expectBooksInOrder } from '../support/books.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { jsonPost, payingFetch } from '../support/stock-client.js';
import { openShop, type Shop } from '../support/seller.js';

const CHAIN_ID = 84_532;
const NETWORK = `eip155:${CHAIN_ID}`;
const USDC: Address = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
const AMOUNT = 250_000n;

/** The first takes the tokens of Coinbase's platform and checks every claim of them; the second has a key of its own. */
inEachMode('a marketplace with two facilitators, in an order', ({ mode }) => {
  let chain: EvmHarness;
  let first: RemoteFacilitator;
  let second: RemoteFacilitator;
  let marketplace: RunningMarketplace;
  let shop: Shop;

  beforeAll(async () => {
    chain = await startEvmHarness(CHAIN_ID);
    await chain.place('SignedToken', USDC);
    const key = issueCdpKey('EdDSA');
    first = await serveFacilitatorOf(chain, cdpGuard(key));
    second = await serveFacilitatorOf(chain);
    marketplace = await startMarketplace({
      mode,
      env: {
        PAYMENTS_LEDGER_X402_CHAINS: `${NETWORK}=${chain.node.url}`,
        PAYMENTS_LEDGER_FEE_ADDRESS: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
        PAYMENTS_LEDGER_X402_FACILITATOR_URL: `cdp+${first.url}/platform/v2/x402,${second.url}`,
        PAYMENTS_LEDGER_X402_FACILITATOR_API_KEY: 'secret',
        PAYMENTS_LEDGER_X402_CDP_API_KEY_ID: key.id,
        PAYMENTS_LEDGER_X402_CDP_API_KEY_SECRET: key.secret,
        PAYMENTS_LEDGER_X402_FACILITATOR_TIMEOUT_MS: '2000',
        PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 8).toString('base64'),
      },
    });
    shop = await openShop(await registerAgent(marketplace), ({ body }) => ({ echo: body }), { pricing_amount: 0.25 });
  }, 240_000);
  afterEach(() => {
    for (const facilitator of [first, second]) Object.assign(facilitator, { fault: null, behaviour: null });
    for (const facilitator of [first, second]) facilitator.handIns.clear();
  });
  afterAll(async () => {
    await expectBooksInOrder(marketplace, [shop]).finally(async () => {
      await shop?.close();
      await marketplace?.stop();
      for (const facilitator of [first, second]) facilitator?.stop();
      await chain?.stop();
    });
  }, 120_000);

  /** Buys once with an unmodified client. @returns how often each facilitator was given the signature to settle. */
  const buy = async (what: string): Promise<[first: number, second: number]> => {
    const account = privateKeyToAccount(generatePrivateKey());
    await chain.send(USDC, 'mint', [account.address, 4n * AMOUNT]);
    const answer = await payingFetch(account)(
      `${marketplace.baseUrl}/api/v1/x402/${shop.listing.slug}`,
      jsonPost({ what }),
    );
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { data: { billable: true, seller_response: { echo: { what } } } },
    ]);
    expect(await chain.balanceOf(USDC, account.address)).toBe(3n * AMOUNT);
    const handIns = ({ handIns: given }: RemoteFacilitator) => [...given.values()].reduce((sum, n) => sum + n, 0);
    return [handIns(first), handIns(second)];
  };
  const answerWith = (status: number) => (asked: { response: { writeHead(status: number): { end(): void } } }) => {
    asked.response.writeHead(status).end();
    return true;
  };

  it('pays through the first, with a token for each request', async () => {
    expect(await buy('all is well')).toEqual([1, 0]);
  });

  it('gives no second one what the first has moved and does not answer', async () => {
    first.fault = 'hang-after';
    const [given, other] = await buy('the first hangs');
    expect([given > 0, other]).toEqual([true, 0]);
  });

  it('gives the second what the first turns away', async () => {
    first.behaviour = (asked) => asked.operation === 'settle' && answerWith(401)(asked);
    const [, other] = await buy('the first wants another key');
    expect(other).toBe(1);
  });

  it('sells through the second while the first is away', async () => {
    first.behaviour = answerWith(503);
    expect((await buy('the first is away'))[1]).toBe(1);
  });
});

/** On Solana a signature names the account of the facilitator that settles it, so the next one is signed for the second. */
inEachMode('a marketplace with two facilitators on Solana, in an order', ({ mode }) => {
  let node: SolanaNode;
  let first: Awaited<ReturnType<typeof serveSolanaFacilitator>>;
  let second: Awaited<ReturnType<typeof serveSolanaFacilitator>>;
  let marketplace: RunningMarketplace;
  let seller: Agent;
  let shop: Shop;

  beforeAll(async () => {
    node = await startSolanaNode();
    [first, second] = [await serveSolanaFacilitator(node), await serveSolanaFacilitator(node)];
    const feeWallet = solanaWallet();
    await node.openTokenAccount(feeWallet.address);
    marketplace = await startMarketplace({
      mode,
      env: {
        PAYMENTS_LEDGER_X402_CHAINS: `${node.network}=${node.url}`,
        PAYMENTS_LEDGER_FEE_SOLANA_ADDRESS: feeWallet.address,
        PAYMENTS_LEDGER_X402_FACILITATOR_URL: `${first.url},${second.url}`,
        PAYMENTS_LEDGER_X402_FACILITATOR_API_KEY: [first, second]
          .map(({ url }) => `${new URL(url).host}=secret`)
          .join(),
        PAYMENTS_LEDGER_X402_FACILITATOR_TIMEOUT_MS: '2000',
        PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 8).toString('base64'),
      },
    });
    seller = await registerAgent(marketplace, { wallet: solanaWallet() });
    await node.openTokenAccount(seller.wallet.address);
    shop = await openShop(seller, ({ body }) => ({ echo: body }), { pricing_amount: 0.25 });
  }, 240_000);
  afterEach(() => Object.assign(first, { fault: null, behaviour: null }));
  afterAll(async () => {
    await expectBooksInOrder(marketplace, [shop]).finally(async () => {
      await shop?.close();
      await marketplace?.stop();
      for (const facilitator of [first, second]) facilitator?.stop();
      await node?.stop();
    });
  }, 120_000);

  const buy = async (what: string): Promise<Response> => {
    const payer = await newSigner();
    await node.fund(payer.address, AMOUNT);
    const client = new x402Client().register('solana:*', new ExactSvmScheme(payer, { rpcUrl: node.url }));
    return wrapFetchWithPayment(fetch, client)(
      `${marketplace.baseUrl}/api/v1/x402/${shop.listing.slug}`,
      jsonPost({ what }),
    );
  };
  const handIns = ({ handIns: given }: RemoteFacilitator): number => [...given.values()].reduce((sum, n) => sum + n, 0);
  const expectBought = async (what: string): Promise<[first: number, second: number]> => {
    const before = await node.balanceOf(seller.wallet.address);
    const [ofFirst, ofSecond] = [handIns(first), handIns(second)];
    await eventually(async () => expect((await buy(what)).status).toBe(200), { withinMs: 30_000 });
    expect((await node.balanceOf(seller.wallet.address)) - before).toBe(AMOUNT);
    return [handIns(first) - ofFirst, handIns(second) - ofSecond];
  };

  it('pays through the first', async () => {
    expect(await expectBought('all is well')).toEqual([1, 0]);
  });

  it('gives no second one what the first has moved and does not answer', async () => {
    Object.assign(first, { fault: 'hang-after', times: 1 });
    const [given, other] = await expectBought('the first hangs');
    expect([given > 0, other]).toEqual([true, 0]);
  });

  it('sells through the second while the first is away', async () => {
    first.behaviour = ({ response }) => (response.writeHead(503).end(), true);
    expect(await expectBought('the first is away')).toEqual([0, 1]);
  });
});
