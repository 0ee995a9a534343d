import { evmWallet, solanaWallet } from '@market/sdk';
import { eventually, startMarketplace, type RunningMarketplace } from '@market/testing';
import { type Address } from 'viem';
import { startEvmHarness, type EvmHarness } from '../../../payments-ledger/test/support/evm-harness.js';
import { callOnce, reasonOf } from '../support/buyer.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { attemptListing, perCall } from '../support/listings.js';

const CHAIN_ID = 84_532;
const NETWORK = `eip155:${CHAIN_ID}`;
/** Sellers are called at public addresses alone; none is called here. */
const SALE = perCall({ private_endpoint_url: 'https://1.1.1.1/call' });
const USDC: Address = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';

/** Real money alone: nothing but USDC on one EVM chain, paid to the wallets of sellers. */
inEachMode('a marketplace that pays sellers on one chain', ({ mode }) => {
  let chain: EvmHarness;
  let marketplace: RunningMarketplace;
  let seller: Agent;
  let buyer: Agent;

  beforeAll(async () => {
    chain = await startEvmHarness(CHAIN_ID);
    await chain.place('SignedToken', USDC);
    marketplace = await startMarketplace({
      mode,
      env: {
        PAYMENTS_MODE: 'live',
        CATALOG_SWEEP_INTERVAL_MS: '500',
        ALLOW_PRIVATE_ENDPOINTS: 'false',
        PAYMENTS_LEDGER_X402_CHAINS: `${NETWORK}=${chain.node.url}`,
        PAYMENTS_LEDGER_FEE_ADDRESS: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
        PAYMENTS_LEDGER_X402_FACILITATOR_KEY: chain.gasKey,
        PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 6).toString('base64'),
      },
    });
    seller = await registerAgent(marketplace, { wallet: solanaWallet(), displayName: 'Elsewhere' });
    buyer = await registerAgent(marketplace, { displayName: 'Buyer' });
  }, 240_000);
  afterAll(async () => {
    await marketplace?.stop();
    await chain?.stop();
  }, 120_000);

  it('lists nothing that nobody can pay for, names the chain, and takes it once a wallet is there', async () => {
    const refused = await attemptListing(seller, SALE);
    expect([refused.status, reasonOf(refused)]).toEqual([409, 'payout_wallet_missing']);
    expect(refused.json).toMatchObject({
      error: { details: { networks: [NETWORK] }, recovery: { next_action: 'link_wallet' } },
    });
    const draft = await attemptListing(seller, { ...SALE, status: 'draft' });
    expect(draft).toMatchObject({ status: 201, json: { data: { warnings: [{ code: 'payout_wallet_missing' }] } } });
    const { id } = (draft.json as { data: { id: string } }).data;
    const activate = () => seller.market.send('PATCH', `/listings/${id}`, { body: { status: 'active' } });
    expect(reasonOf(await activate())).toBe('payout_wallet_missing');

    expect(await attemptListing(seller, { ...SALE, pricing_amount: 0 })).toMatchObject({ status: 201 });
    await seller.market.wallets.link(seller.wallet, evmWallet(), { capabilities: ['payout'] });
    expect(await activate()).toMatchObject({ status: 200, json: { data: { status: 'active' } } });
  });

  it('does not send a buyer in a circle when the seller has unlinked its wallet, and shows no such listing', async () => {
    const other = await registerAgent(marketplace, { displayName: 'Leaves' });
    const { json } = await attemptListing(other, SALE);
    const { id, slug } = (json as { data: { id: string; slug: string } }).data;
    const cold = solanaWallet();
    await other.market.wallets.link(other.wallet, cold, { capabilities: ['recovery'] });
    const [wallet] = (await other.market.wallets.list()).filter(({ address }) => address === other.wallet.address);
    const isShown = async () => (await buyer.market.send('GET', `/listings/${slug}`)).status === 200;
    expect(await isShown()).toBe(true);
    await other.market.wallets.update(wallet!, cold, { status: 'disabled' });

    // A wallet is looked up at most every two seconds. Then the listing leaves the market, and is not there any more.
    const refusal = {
      error: {
        details: { reason: expect.stringMatching(/^(seller_not_payable|listing_(unavailable|not_found))$/) as string },
        recovery: { next_action: 'choose_another_listing' },
      },
    };
    await eventually(async () => {
      const keyed = await callOnce(buyer, slug, {});
      expect([404, 409]).toContain(keyed.status);
      expect(keyed.json).toMatchObject(refusal);
    });
    const keyless = await fetch(`${marketplace.baseUrl}/api/v1/x402/${slug}`, { method: 'POST' });
    expect([404, 409]).toContain(keyless.status);
    expect(await keyless.json()).toMatchObject(refusal);

    await eventually(async () => expect(await isShown()).toBe(false));
    const own = await other.market.send('GET', `/listings/${id}`);
    expect(own.json).toMatchObject({ data: { status: 'suspended' } });
    const { checks } = await other.market.listings.validate(id);
    expect(checks.find(({ name }) => name === 'wallet')).toMatchObject({ status: 'failed' });
    await other.market.wallets.update(wallet!, cold, { status: 'active' });
    await eventually(async () => expect(await isShown()).toBe(true));
  });
});
