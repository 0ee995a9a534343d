import { solanaPayer, solanaWallet, type SolanaChain } from '@market/sdk';
import { startMarketplace, type RunningMarketplace } from '@market/testing';
import { createKeyPairSignerFromBytes, generateKeyPairSigner, getBase58Encoder, type Address, type KeyPairSigner } from '@solana/kit';
import { startSolanaWorld, type Mint, type SolanaWorld } from '../../../payments-ledger/test/support/solana-world.js';
import { expectBooksInOrder } from '../support/books.js';
import { commandsBelow, runAsWritten, withoutExamples } from '../support/paying-page.js';
import { clientOf, failureOf, TextStore } from '../support/sdk-buyer.js';
import { openShop, type Shop } from '../support/seller.js';
import { inOneMode, registerAgent, type Agent } from '../support/world.js';

const PRICE = 0.25;

inOneMode('the SDK on Solana', ({ mode }) => {
  const wallet = solanaWallet();
  let chain: SolanaWorld;
  let usdc: Mint;
  let signer: KeyPairSigner;
  /** An address that others use too: what is paid there names its offer. */
  let receiver: Address;
  let marketplace: RunningMarketplace;
  let chains: Record<string, SolanaChain>;
  let buyer: Agent;
  let shop: Shop;
  let passing: NodeJS.Timeout;

  beforeAll(async () => {
    chain = await startSolanaWorld();
    usdc = await chain.mint();
    signer = await createKeyPairSignerFromBytes(new Uint8Array(getBase58Encoder().encode(wallet.exportKey())));
    await chain.sendCoin(signer.address, 10n ** 10n);
    receiver = (await generateKeyPairSigner()).address;
    await chain.sendCoin(receiver, 10n ** 9n);
    await chain.sendToken(usdc, signer.address, 100_000_000n);
    chain.node.finalize();
    const { network, url } = chain.node;
    marketplace = await startMarketplace({
      mode,
      env: {
        PAYMENTS_LEDGER_SOLANA_SEED: Buffer.alloc(32, 9).toString('hex'),
        PAYMENTS_LEDGER_SOLANA_RPC_URLS: `${network}=${url}`,
        PAYMENTS_LEDGER_SOLANA_USDC: `${network}=${usdc.address}`,
        PAYMENTS_LEDGER_SOLANA_RECEIVER: receiver,
        PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 6).toString('base64'),
        PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '250',
      },
    });
    shop = await openShop(await registerAgent(marketplace, { displayName: 'Seller' }), undefined, { pricing_amount: PRICE });
    chains = { [network]: { rpcUrl: url, usdc: usdc.address } };
    passing = setInterval(() => chain.node.finalize(), 500);
  }, 120_000);
  beforeEach(async () => {
    buyer = await registerAgent(marketplace, { displayName: 'Buyer' });
  });
  afterAll(async () => {
    clearInterval(passing);
    await expectBooksInOrder(marketplace, [shop]);
    await shop?.close();
    await marketplace?.stop();
    chain?.stop();
  }, 60_000);

  const onSolana = () => ({ originChainId: chain.node.network, timeoutMs: 50_000 });
  const tokensOf = async (owner: string): Promise<string> => (await chain.rpc.getTokenAccountBalance(await chain.accountOf(usdc, owner as Address)).send()).value.amount;

  it.each(['USDC', 'SOL'] as const)('buys a call by a transfer of %s: waits until it is final, and sends it once', async (originCurrency) => {
    const store = new TextStore();
    const answer = await clientOf(buyer, { payments: store }).call(shop.listing, { by: originCurrency }, { pay: solanaPayer(signer, chains), originCurrency, ...onSolana() });
    expect(answer).toMatchObject({ billable: true, charged_amount: { amount_cents: 25 }, seller_response: { echo: { by: originCurrency } } });
    const { transaction, offer } = (await store.find(answer.relayRequestId!))!;
    expect((await buyer.market.receipts.list({ role: 'buyer' })).data[0]).toMatchObject({ transaction_hash: transaction, gross_amount: PRICE });
    const { depositAddress, amount_base_units: amount } = offer.requirements;
    const arrived = originCurrency === 'USDC' ? await tokensOf(depositAddress) : String((await chain.rpc.getBalance(depositAddress as Address).send()).value);
    expect(arrived).toBe(amount);
  });

  it('pays less SOL than an address of its own could hold by a transfer that names the offer', async () => {
    const cheap = await openShop(await registerAgent(marketplace, { displayName: 'Seller' }), undefined, { pricing_amount: 0.02 });
    try {
      const store = new TextStore();
      const before = (await chain.rpc.getBalance(receiver).send()).value;
      const answer = await clientOf(buyer, { payments: store }).call(cheap.listing, { cheap: 1 }, { pay: solanaPayer(signer, chains), originCurrency: 'SOL', ...onSolana() });
      expect(answer).toMatchObject({ billable: true, charged_amount: { amount_cents: 2 } });
      const { requirements } = (await store.find(answer.relayRequestId!))!.offer;
      expect(requirements).toMatchObject({ depositAddress: receiver, reference: expect.any(String) as string });
      expect((await chain.rpc.getBalance(receiver).send()).value - before).toBe(BigInt(requirements.amount_base_units!));
    } finally {
      await expectBooksInOrder(marketplace, [cheap]);
      await cheap.close();
    }
  });

  it.each(['before', 'after'] as const)('sends the same transaction when it crashed %s sending it', async (moment) => {
    const store = new TextStore();
    const payer = solanaPayer(signer, chains);
    const crash = async (): Promise<never> => Promise.reject(new Error('power cut'));
    const crashing = { ...payer, send: moment === 'before' ? crash : (payment: Parameters<typeof payer.send & object>[0]) => payer.send!(payment).then(crash) };
    const [body, options] = [{ crash: moment }, { idempotencyKey: `crash-${moment}-${buyer.id}`, originCurrency: 'USDC' as const, ...onSolana() }];
    expect(await failureOf(clientOf(buyer, { payments: store }).call(shop.listing, body, { pay: crashing, ...options }))).toMatchObject({ code: 'PAYMENT_FAILED' });
    const answer = await clientOf(buyer, { payments: store }).call(shop.listing, body, { pay: payer, ...options });
    expect([answer.billable, store.texts.size]).toEqual([true, 1]);
    expect(await tokensOf((await store.find(answer.relayRequestId!))!.offer.requirements.depositAddress)).toBe('250000');
  });

  it.each(['SOL', 'USDC'])('pays in %s as docs/paying.md says', async (CURRENCY) => {
    const line = withoutExamples(commandsBelow('With the SDK')[0]!.split('\n')[3]!);
    const env = { KEY: buyer.registration.api_key, PAYER_KEY: wallet.exportKey(), RPC_URL: chain.node.url, NETWORK: chain.node.network, CURRENCY, USDC: usdc.address };
    expect(await runAsWritten(line, buyer, shop.listing, env)).toContain('echo');
    expect((await buyer.market.receipts.list({ role: 'buyer' })).pagination.total).toBe(1);
  });
});
