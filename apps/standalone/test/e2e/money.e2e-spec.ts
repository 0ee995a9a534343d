import { countOf, TEST_SEED } from '@market/test-servers/threats';
import {
  evmWallet,
  Marketplace,
  MarketplaceError,
  sandboxPayer,
  solanaWallet,
  x402Payer,
  type CallOptions,
  type Offer,
  type Payer,
  type Wallet,
} from '@market/sdk';
import {
  eventually,
  startMarketplace,
  startSolanaNode,
  withClient,
  type ProcessName,
  type RunningMarketplace,
  type SolanaNode,
} from '@market/testing';
import { x402Client, x402HTTPClient } from '@x402/fetch';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { createKeyPairSignerFromBytes } from '@solana/kit';
import bs58 from 'bs58';
import fc from 'fast-check';
import { encodeFunctionData, parseUnits, type Address, type Hash, type Hex } from 'viem';
import { mnemonicToAccount, privateKeyToAccount } from 'viem/accounts';
import { startEvmHarness, testAbi, type EvmHarness } from '../../../payments-ledger/test/support/evm-harness.js';
import { signedOnSolana } from '../../../payments-ledger/test/support/solana-ledger.js';
import { startRelayServer, type RelayServer } from '../../../payments-ledger/test/support/relay-server.js';
import { readCommandLine } from '../../src/admin/command-line.js';
import { adminCommands } from '../../src/admin/commands.js';
import { expectBooksInOrder } from '../support/books.js';
import { bodyOf, callOnce, quote } from '../support/buyer.js';
import { accountsOf, ExpectedMoney } from '../support/expected-money.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { used } from '@market/sdk/seller';
import { openShop, reply, type Shop } from '../support/seller.js';
import { letTimePass, listFeed } from '../support/subscriber.js';
import { retryUntil } from '../support/retrying-buyer.js';
import { takeTheMachine } from '../support/whole-machine.js';

const SEED = TEST_SEED;
const STEPS = countOf('money');
const KILLS = 2 + Math.floor(STEPS / 200);
const AT_ONCE = 12;

const CHAIN_ID = 84_532;
const NETWORK = `eip155:${CHAIN_ID}`;
/** The address at which stock clients expect USDC of Base Sepolia. */
const USDC: Address = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
const FEE_ADDRESS: Address = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';
const PLAY_NETWORK = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
const PRICES = [250_000n, 333_333n, 1_000_001n];
const usd = (micros: bigint): number => Number(micros) / 1e6;
const FEED_PRICE = 900_000n;
/** A unit costs a tenth of a cent, a call at most a quarter dollar; each buyer may try it. */
const UNIT_PRICE = 1_000n;
const BY_USE = { pricing_amount: 0.25, usage: { unit: 'page', tiers: [{ price: usd(UNIT_PRICE) }] }, free_calls: 2 };
const PLAN_PRICE = 2_000_000n;
const PLANS = [
  { pricing_model: 'usage_tiered', included_units: { unit: 'page', units: 1_000_000, per_call: 200 } },
  { pricing_model: 'monthly', included_calls: 1_000_000 },
] as const;
const FEE_PAYER = solanaWallet();
const SELLERS_ON_SOLANA = [solanaWallet(), solanaWallet(), solanaWallet()];
const BUYERS_ON_SOLANA = [solanaWallet(), solanaWallet(), solanaWallet(), solanaWallet()];

const KINDS = [
  'sandbox',
  'signature',
  'without a key',
  'solana',
  'relay',
  'sent back',
  'subscription',
  'by use',
  'plan',
  'fees',
  'refund',
  'payout',
] as const;
const step = fc.record({
  kind: fc.oneof(
    ...KINDS.map((kind) => ({
      arbitrary: fc.constant(kind),
      weight: kind === 'subscription' || kind === 'sent back' ? 1 : 2,
    })),
  ),
  buyer: fc.nat(3),
  seller: fc.nat(2),
  price: fc.nat(PRICES.length - 1),
  /** What the seller does with a call. */
  does: fc.constantFrom('deliver', 'deliver', 'deliver', 'falter', 'fail', 'refuse'),
  /** The outcome of a sandbox payment. */
  outcome: fc.constantFrom('paid', 'overpaid', 'late'),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** The seller's part of a price that was paid through Relay and must be refunded. */
interface Debt {
  paymentId: string;
  buyer: Agent;
  seller: Agent;
  micros: bigint;
}

/**
 * Uses all rails, all outcomes and crashes in random order; at the end all records of money must agree. After the first
 * crash the operator becomes the merchant of record: from then on signed payments pay the operator, and it pays the
 * sellers.
 */
inEachMode('money', ({ mode }) => {
  takeTheMachine();
  const victims: ProcessName[] = mode === 'standalone' ? ['standalone'] : ['payments-ledger', 'gateway'];
  const expected = new ExpectedMoney();
  const debts: Debt[] = [];
  const subscriptions = new Map<string, Promise<unknown>>();
  let chain: EvmHarness;
  let relay: RelayServer;
  let solana: SolanaNode;
  let env: Record<string, string>;
  let operator: Address;
  let marketplace: RunningMarketplace;
  let buyers: Agent[];
  let sellers: Agent[];
  /** Shops by seller and price. */
  let shops: Shop[][];
  let feeds: { id: string }[];
  /** By seller: what is charged by use, and what is included in a period. */
  let metered: Shop[];
  let plans: Shop[];

  beforeAll(async () => {
    [chain, relay, solana] = await Promise.all([startEvmHarness(CHAIN_ID), startRelayServer(), startSolanaNode()]);
    await chain.place('SignedToken', USDC);
    // A network is closed while its fee payer is empty.
    solana.setLamports(FEE_PAYER.address, 10n ** 12n);
    env = {
      PAYMENTS_LEDGER_X402_CHAINS: `${NETWORK}=${chain.node.url},${solana.network}=${solana.url}`,
      PAYMENTS_LEDGER_X402_FACILITATOR_SOLANA_KEY: FEE_PAYER.exportKey() as string,
      PAYMENTS_LEDGER_X402_FACILITATOR_KEY: chain.gasKey,
      PAYMENTS_LEDGER_FEE_ADDRESS: FEE_ADDRESS,
      PAYMENTS_LEDGER_RELAY_URL: relay.url,
      PAYMENTS_LEDGER_RELAY_API_KEY: relay.apiKey,
      PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: '0x2222222222222222222222222222222222222222',
      PAYMENTS_LEDGER_RELAY_ROUTES: 'eip155:42161:USDC',
      PAYMENTS_LEDGER_RELAY_DESTINATION: `${NETWORK}:USDC`,
      PAYMENTS_LEDGER_RELAY_QUOTES_PER_MINUTE: '1000',
      PAYMENTS_LEDGER_RELAY_STATUSES_PER_MINUTE: '5000',
      PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 6).toString('base64'),
      PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '250',
      PAYMENTS_LEDGER_SANDBOX_REFUND_SECONDS: '0',
      GATEWAY_RESUME_INTERVAL_MS: '250',
      GATEWAY_FAILING_AFTER: '1000',
    };
    marketplace = await startMarketplace({ mode, env });
    // The node signs for accounts of its mnemonic, with which sellers and the operator send transfers.
    const accounts = [4, 5, 6].map((addressIndex) => mnemonicToAccount(chain.node.mnemonic, { addressIndex }));
    operator = mnemonicToAccount(chain.node.mnemonic, { addressIndex: 7 }).address;
    sellers = await Promise.all(
      accounts.map((account) =>
        registerAgent(marketplace, {
          wallet: evmWallet(`0x${Buffer.from(account.getHdKey().privateKey!).toString('hex')}`),
        }),
      ),
    );
    buyers = await Promise.all(Array.from({ length: 4 }, () => registerAgent(marketplace)));
    for (const buyer of buyers) {
      await chain.send(USDC, 'mint', [walletOf(buyer), parseUnits('10000', 6)]);
      expected.move(null, walletOf(buyer), parseUnits('10000', 6));
    }
    for (const [index, seller] of sellers.entries()) {
      await seller.market.wallets.link(seller.wallet, SELLERS_ON_SOLANA[index]!);
      await solana.openTokenAccount(SELLERS_ON_SOLANA[index]!.address);
    }
    for (const { address } of BUYERS_ON_SOLANA) await solana.fund(address, parseUnits('10000', 6));
    const failedOnce = new Set<unknown>();
    const handler = ({ body }: { body: unknown }) => {
      const { n, does } = body as { n: number; does: Step['does'] };
      if (does === 'refuse') return reply(422, { refused: n });
      if (does === 'fail' || (does === 'falter' && failedOnce.size < failedOnce.add(n).size))
        return reply(500, { failed: n });
      return used(unitsOf(n), { delivered: n });
    };
    const openShops = (fields: (seller: number) => Parameters<typeof openShop>[2]): Promise<Shop[]> =>
      Promise.all(sellers.map((seller, index) => openShop(seller, handler, fields(index))));
    const byPrice = await Promise.all(PRICES.map((price) => openShops(() => ({ pricing_amount: usd(price) }))));
    shops = sellers.map((_seller, index) => byPrice.map((ofPrice) => ofPrice[index]!));
    metered = await openShops(() => BY_USE as never);
    plans = await openShops((index) => ({ pricing_amount: usd(PLAN_PRICE), ...PLANS[index % 2]! }));
    feeds = await Promise.all(sellers.map((seller) => listFeed(seller, { pricing_amount: usd(FEED_PRICE) })));
  }, 360_000);
  afterAll(async () => {
    await Promise.all([...(shops ?? []).flat(), ...(metered ?? []), ...(plans ?? [])].map((shop) => shop.close()));
    await marketplace?.stop();
    relay?.stop();
    await solana?.stop();
    await chain?.stop();
  }, 120_000);

  const walletOf = (agent: Agent): Address => agent.wallet.address as Address;
  const signs = (agent: Agent): Payer => x402Payer(agent.wallet as never, { [NETWORK]: {} });

  /** Signs with the stock client and returns the header. */
  const signsOnSolana = (wallet: Wallet): Payer => ({
    rail: 'x402-solana',
    canPay: ({ provider }) => provider === 'x402-solana',
    prepare: async ({ x402 }) => {
      const signer = await createKeyPairSignerFromBytes(bs58.decode(wallet.exportKey() as string));
      const text = await signedOnSolana({ offer: { x402: x402!.accepts[0] } } as never, signer, solana.url);
      return { headers: { 'PAYMENT-SIGNATURE': Buffer.from(text).toString('base64') } };
    },
  });

  /** Transactions are sent one after another, because the node assigns the nonces. */
  const inTurn = turns();
  const crash = turns();
  const payOut = turns();

  /** Mints money if there is no sender. */
  const transfer = (from: Address | null, to: Address, micros: bigint): Promise<Hash> =>
    inTurn(async () => {
      const hash = await chain.node.request<Hash>('eth_sendTransaction', [
        {
          from: from ?? chain.payer,
          to: USDC,
          data: encodeFunctionData({ abi: testAbi, functionName: from ? 'transfer' : 'mint', args: [to, micros] }),
        },
      ]);
      // The node mines the transaction shortly; further blocks are needed to make it final.
      await eventually(async () =>
        expect(await chain.node.request('eth_getTransactionReceipt', [hash])).toMatchObject({ status: '0x1' }),
      );
      await chain.node.mine(3);
      expected.move(from, to, micros);
      return hash;
    });

  const sold = (buyer: Agent, seller: Agent, gross: bigint, by: 'sandbox' | 'relay'): void => {
    const net = gross - ExpectedMoney.feeOf(gross);
    expected.post(accountsOf.payments(buyer.id), -gross);
    if (by === 'relay') expected.post(accountsOf.received(seller.id, 'relay'), net);
    else expected.post(accountsOf.earnings(seller.id, `sandbox:${PLAY_NETWORK}`), net);
  };
  /** The signed offer states the payee. */
  const soldBySignature = (buyer: Agent, seller: Agent, gross: bigint, { x402 }: Offer): void => {
    const fee = ExpectedMoney.feeOf(gross);
    const payTo = x402!.accepts.find(({ network }) => network === NETWORK)!.payTo as Address;
    expected.post(accountsOf.payments(buyer.id), -gross);
    expected.move(walletOf(buyer), payTo, gross);
    if (payTo === operator) return expected.post(accountsOf.earnings(seller.id, `x402:${NETWORK}`), gross - fee);
    expect(payTo).toBe(walletOf(seller));
    expected.post(accountsOf.received(seller.id, `${NETWORK}:${payTo}`), gross);
    expected.post(accountsOf.fees(seller.id), -fee);
  };

  /**
   * A signature for a call that was not delivered moves no money, unless the payer had to pay before the call, as after a
   * settlement whose outcome was unknown for a while. That money is owed back at the end of the call's window.
   */
  const notSoldBySignature = async (
    buyer: Agent,
    seller: Agent,
    gross: bigint,
    { x402 }: Offer,
    [network, payer]: [string, string] = [NETWORK, walletOf(buyer)],
  ): Promise<void> => {
    const { payTo, extra } = x402!.accepts.find((accepted) => accepted.network === network)!;
    const find = async (): Promise<{ id: string; state: string; is_paid: boolean }> => {
      const { rows } = await withClient(marketplace.databaseUrl, (client) =>
        client.query<{ id: string; state: string; is_paid: boolean }>(
          `SELECT id, state, transaction_hash IS NOT NULL AS is_paid FROM payments_ledger.payments
           WHERE relay_request_id = $1`,
          [(extra as { relayRequestId: string }).relayRequestId],
        ),
      );
      expect(rows).toHaveLength(1);
      return rows[0]!;
    };
    const { id, is_paid } = await eventually(find, { withinMs: 60_000, everyMs: 200 });
    if (!is_paid) return;
    await giveUp(id);
    await eventually(async () => expect(await find()).toMatchObject({ state: 'refund_due' }), {
      withinMs: 60_000,
      everyMs: 200,
    });
    expected.move(payer, payTo, gross);
    expected.post(accountsOf.refunds(buyer.id), gross);
    if (payTo !== operator) expected.post(accountsOf.owed(seller.id), -gross);
  };

  /** Ends the retry window of the call. */
  const giveUp = (paymentId: string): Promise<unknown> =>
    eventually(() => letTimePass(marketplace, { window: paymentId }), { withinMs: 60_000, everyMs: 200 });

  const run = async (n: number, { kind, does, outcome, ...draw }: Step): Promise<void> => {
    const [buyer, seller, gross] = [buyers[draw.buyer]!, sellers[draw.seller]!, PRICES[draw.price]!];
    const { listing } = shops[draw.seller]![draw.price]!;
    const body = { n, does };
    const isDelivered = does === 'deliver' || does === 'falter';
    const call = async (market: Marketplace, options: CallOptions, shop: Shop = shops[draw.seller]![draw.price]!) => {
      const buy = () =>
        market.call(shop.listing, body, { maxPriceUsd: 2, retries: does === 'falter' ? 5 : 0, ...options });
      // A signature on Solana ends after a minute. A busy machine may need longer for a restart, and the buyer signs anew.
      const result = await buy().catch((error: unknown) => {
        if (error instanceof MarketplaceError && error.details?.reason === 'cancelled') return buy();
        throw error;
      });
      expect(result.billable).toBe(isDelivered);
      return result;
    };
    switch (kind) {
      case 'sandbox': {
        if (outcome === 'late') {
          const { relay_request_id: id } = await retryQuote(buyer, listing, body);
          await retryUntil(
            'the late payment',
            () => buyer.market.send('POST', `/sandbox/payments/${id}/pay`, { body: { outcome } }),
            ({ status }) => status === 200 || status === 409,
          );
          return;
        }
        const [pay, paid] = noting(sandboxPayer(buyer.market, outcome));
        await call(buyer.market, { pay, originCurrency: 'SOL' });
        if (isDelivered) sold(buyer, seller, gross, 'sandbox');
        else await giveUp(paid().payment_id!);
        return;
      }
      case 'signature': {
        const [pay, paid] = noting(signs(buyer));
        await call(buyer.market, { pay, originChainId: CHAIN_ID });
        if (isDelivered) soldBySignature(buyer, seller, gross, paid());
        else await notSoldBySignature(buyer, seller, gross, paid());
        return;
      }
      case 'without a key': {
        const [pay, paid] = noting(signs(buyer));
        await call(new Marketplace({ baseUrl: marketplace.baseUrl }), { pay });
        if (isDelivered) soldBySignature(buyer, seller, gross, paid());
        else await notSoldBySignature(buyer, seller, gross, paid());
        return;
      }
      case 'solana': {
        const [payer, payee] = [BUYERS_ON_SOLANA[draw.buyer]!, SELLERS_ON_SOLANA[draw.seller]!.address];
        const [pay, paid] = noting(signsOnSolana(payer));
        await call(buyer.market, { pay, originChainId: solana.network });
        if (!isDelivered) return notSoldBySignature(buyer, seller, gross, paid(), [solana.network, payer.address]);
        expected.post(accountsOf.payments(buyer.id), -gross);
        expected.post(accountsOf.received(seller.id, `${solana.network}:${payee}`), gross);
        expected.post(accountsOf.fees(seller.id), -ExpectedMoney.feeOf(gross));
        expected.move(payer.address, payee, gross);
        return;
      }
      case 'relay': {
        const [pay, paid] = noting({
          rail: 'relay',
          canPay: ({ provider }) => provider === 'relay',
          prepare: () => Promise.resolve({}),
          send: async ({ relayRequestId }) => {
            const request = relay.requests.get(relayRequestId)!;
            if (request.status !== 'waiting') return;
            relay.deposit(request.depositAddress);
            const hash = await transfer(null, request.quote.recipient as Address, BigInt(request.quote.amount));
            relay.fill(request);
            request.txHashes = [hash];
          },
        });
        await call(buyer.market, { pay, originChainId: 42_161, maxRouteFeeUsd: 1 });
        if (isDelivered) return sold(buyer, seller, gross, 'relay');
        const net = gross - ExpectedMoney.feeOf(gross);
        expected.post(accountsOf.refunds(buyer.id), gross);
        expected.post(accountsOf.owed(seller.id), -net);
        await giveUp(paid().payment_id!);
        debts.push({ paymentId: paid().payment_id!, buyer, seller, micros: net });
        return;
      }
      case 'sent back': {
        const offer = await retryQuote(buyer, listing, body, { 'X-Market-Origin-Chain-Id': '42161' });
        relay.deposit(offer.requirements.depositAddress!, 1n);
        return;
      }
      case 'subscription': {
        const [feed, pair] = [feeds[draw.seller]!, `${draw.buyer} ${draw.seller}`];
        const before = subscriptions.get(pair);
        const [pay, paid] = noting(signs(buyer));
        const subscribe = () => buyer.market.subscribe(feed, { pay });
        if (before) {
          await before;
          await expect(subscribe()).rejects.toMatchObject({ status: 409 });
        } else {
          const subscribed = subscribe();
          subscriptions.set(pair, subscribed);
          await subscribed;
          soldBySignature(buyer, seller, FEED_PRICE, paid());
        }
        return;
      }
      case 'by use': {
        let asked: Offer | undefined;
        const pay = sandboxPayer(buyer.market);
        const prepare: Payer['prepare'] = (offer) => pay.prepare((asked = offer));
        const options = { pay: { ...pay, prepare }, originCurrency: 'SOL' } as const;
        const result = await call(buyer.market, options, metered[draw.seller]!);
        if (!isDelivered) return asked && void (await giveUp(asked.payment_id!));
        // A call of the trial costs nothing, and does not say its units.
        const most = BigInt(BY_USE.pricing_amount * 1e6);
        const charged = asked ? [unitsOf(n) * Number(UNIT_PRICE), Number(most)].sort((a, b) => a - b)[0]! : 0;
        expect(result.charged_amount.amount_cents).toBe(charged / 10_000);
        if (charged > 0) sold(buyer, seller, BigInt(charged), 'sandbox');
        return;
      }
      case 'plan': {
        const plan = plans[draw.seller]!;
        const pair = `plan ${draw.buyer} ${draw.seller}`;
        if (!subscriptions.has(pair)) {
          const pay = sandboxPayer(buyer.market);
          subscriptions.set(pair, buyer.market.subscribe(plan.listing, { pay, originCurrency: 'SOL' }));
          sold(buyer, seller, PLAN_PRICE, 'sandbox');
        }
        await subscriptions.get(pair);
        expect((await call(buyer.market, {}, plan)).charged_amount.amount_cents).toBe(0);
        return;
      }
      case 'fees': {
        const post = (headers: Record<string, string> = {}) =>
          seller.market.send('POST', '/fees/payments', { headers, body: {} });
        // 409 if no fees are due, or if another payment of the same debt is in progress.
        const asked = await retryUntil(
          'the fees',
          () => post(),
          ({ status }) => status === 402 || status === 409,
        );
        if (asked.status === 409) return;
        const client = new x402HTTPClient(
          new x402Client().register(
            'eip155:*',
            new ExactEvmScheme(privateKeyToAccount(seller.wallet.exportKey() as Hex)),
          ),
        );
        const payload = await client.createPaymentPayload(
          client.getPaymentRequiredResponse((name) => asked.headers.get(name), asked.json),
        );
        const paid = await retryUntil(
          'the payment of fees',
          () => post(client.encodePaymentSignatureHeader(payload)),
          ({ status }) => [200, 402, 409].includes(status),
        );
        if (paid.status !== 200) return;
        const micros = BigInt((bodyOf(paid).data as { amount: { micros: string } }).amount.micros);
        expected.post(accountsOf.fees(seller.id), micros);
        expected.move(walletOf(seller), FEE_ADDRESS, micros);
        return;
      }
      case 'refund': {
        const debt = debts.shift();
        if (debt) await payBack(debt);
        return;
      }
      case 'payout':
        await payOut(payWhatIsDue);
    }
  };

  const retryQuote = async (...[buyer, listing, body, headers]: Parameters<typeof quote>): Promise<Offer> => {
    const answer = await retryUntil(
      'an offer',
      () => callOnce(buyer, listing, body, headers ?? { 'X-Market-Origin-Currency': 'SOL' }),
      ({ status }) => status === 402,
    );
    return (bodyOf(answer).data as { payment: Offer }).payment;
  };

  const payBack = async ({ paymentId, buyer, seller, micros }: Debt): Promise<void> => {
    const refund = await eventually(
      async () => {
        const { data } = await seller.market.refunds.list({ role: 'seller', status: 'refund_due', limit: 100 });
        const found = data.find(({ payment_id }) => payment_id === paymentId);
        expect(found).toMatchObject({ wallet: walletOf(buyer), amount: { micros: String(micros) } });
        return found!;
      },
      { withinMs: 60_000, everyMs: 200 },
    );
    const transaction = await transfer(walletOf(seller), walletOf(buyer), micros);
    await retryUntil(
      'the refund',
      () => seller.market.send('POST', `/refunds/${refund.id}/confirm`, { body: { transaction } }),
      ({ status }) => status === 200,
    );
    expected.post(accountsOf.refunds(buyer.id), -micros);
    expected.post(accountsOf.owed(seller.id), micros);
  };

  /** Runs an operator's command like `market-admin`, in this process. */
  const admin = (...words: string[]): Promise<string> => {
    const { command, input } = readCommandLine(words, adminCommands, 'ada')!;
    return command.run(input, { DATABASE_URL: marketplace.databaseUrl, ...env, ...merchantOfRecord() });
  };
  const merchantOfRecord = (): Record<string, string> => ({
    PAYMENTS_LEDGER_X402_PAY_TO: 'operator',
    PAYMENTS_LEDGER_X402_PAY_TO_ADDRESS: operator,
  });
  /** Repeats the command if a crash interrupted the database. */
  const untilDone = (...words: string[]): Promise<string> =>
    eventually(() => admin(...words), { withinMs: 60_000, everyMs: 500 });

  const payWhatIsDue = async (): Promise<void> => {
    const [, ...rows] = (await untilDone('payouts', 'export', '--again', 'all')).split('\n');
    for (const [network, , receiver, amount, sellerId] of rows.map((row) => row.split(','))) {
      const micros = parseUnits(amount!, 6);
      const transaction = await transfer(operator, receiver as Address, micros);
      expect(await untilDone('payouts', 'confirm', network!, transaction)).toContain(receiver);
      expected.post(accountsOf.earnings(sellerId!, `x402:${NETWORK}`), -micros);
      expected.post(accountsOf.received(sellerId!, `${NETWORK}:${receiver}`), micros);
    }
  };

  /** The non-zero balances of an agent's accounts in its statement. The entries must add up to them. */
  const stated = async ({ market }: Agent): Promise<Record<string, bigint>> => {
    const statement = await market.statements.get(new Date().toISOString().slice(0, 7));
    const sums = new Map<string, bigint>();
    for (const { account, direction, amount_cents } of statement.entries) {
      const micros = BigInt(Math.round(amount_cents * 10_000));
      sums.set(account, (sums.get(account) ?? 0n) + (direction === 'credit' ? micros : -micros));
    }
    const accounts = statement.accounts.map(({ account, opening_balance, closing_balance }) => {
      const closing = BigInt(closing_balance.micros);
      expect([account, closing - BigInt(opening_balance.micros)]).toEqual([account, sums.get(account) ?? 0n]);
      return [account, closing] as const;
    });
    return Object.fromEntries(accounts.filter(([, micros]) => micros !== 0n));
  };

  it(
    `is where books, wallets and statements say, after ${STEPS} steps on all rails with kills (TEST_SEED=${SEED} TEST_COUNT=${STEPS})`,
    async () => {
      const steps = fc.sample(step, { seed: SEED, numRuns: STEPS });
      const startedAt = performance.now();
      let [next, kills] = [0, 0];
      const work = async (): Promise<void> => {
        for (let n = next++; n < STEPS; n = next++) {
          if (n > 0 && n % Math.ceil(STEPS / (KILLS + 1)) === 0)
            await crash(async () => {
              const victim = victims[kills++ % victims.length]!;
              await marketplace.kill(victim);
              await marketplace.restart(victim, merchantOfRecord());
            });
          await run(n, steps[n]!).catch((cause: unknown) => {
            next = STEPS;
            throw new Error(`step ${n} of TEST_SEED=${SEED}, ${JSON.stringify(steps[n])}: ${String(cause)}`, { cause });
          });
        }
      };
      const workers = await Promise.allSettled(Array.from({ length: AT_ONCE }, work));
      const failed = workers.find(({ status }) => status === 'rejected');
      if (failed) throw (failed as PromiseRejectedResult).reason;
      process.stdout.write(
        `\n${mode}: TEST_SEED=${SEED}, ${STEPS} steps, ${kills} kills, ${((performance.now() - startedAt) / 1_000).toFixed(0)} s\n`,
      );

      // The operator pays some of its refunds.
      const owedByOperator = await eventually(
        async () => {
          const owed = await Promise.all(
            buyers.map(async (buyer) => {
              const { data } = await buyer.market.refunds.list({ status: 'refund_due', limit: 100 });
              return data.filter(({ owed_by }) => owed_by === 'operator').map((refund) => ({ buyer, refund }));
            }),
          );
          for (const { refund } of owed.flat()) expect(refund.wallet).not.toBeNull();
          return owed.flat();
        },
        { withinMs: 30_000 },
      );
      for (const { buyer, refund } of owedByOperator.slice(0, 3)) {
        const micros = BigInt(refund.amount.micros);
        const transaction = await transfer(null, walletOf(buyer), micros);
        await admin('refunds', 'confirm', refund.id, transaction);
        expected.post(accountsOf.refunds(buyer.id), -micros);
      }

      for (const agent of [...buyers, ...sellers])
        await eventually(async () => expect(await stated(agent)).toEqual(expected.of(agent.id)), {
          withinMs: 30_000,
          everyMs: 500,
        });
      for (const wallet of [...[...buyers, ...sellers].map(walletOf), FEE_ADDRESS, operator])
        expect([wallet, await chain.balanceOf(USDC, wallet)]).toEqual([wallet, expected.inWallet(wallet)]);
      for (const { address } of SELLERS_ON_SOLANA)
        expect([address, await solana.balanceOf(address)]).toEqual([address, expected.inWallet(address)]);
      for (const { address } of BUYERS_ON_SOLANA)
        expect([address, (await solana.balanceOf(address)) - parseUnits('10000', 6)]).toEqual([
          address,
          expected.inWallet(address),
        ]);
      await expectBooksInOrder(marketplace, [...shops.flat(), ...plans], { withinMs: 30_000 });
      expect(await admin('books', 'verify')).toBe('the books add up');
      // After this, unsettled signatures on Solana can no longer be settled.
      await letTimePass(marketplace, { signatures: true });
      solana.mine(400);
      expect(await admin('books', 'reconcile')).toMatch(/^[1-9]\d* settlements explained, 0 unexplained, 0 unknown$/);
      const owed = [...(await admin('payments', 'report')).matchAll(/^owed\t.*\$(\S+) to /gm)];
      expect(owed.reduce((sum, [, amount]) => sum + parseUnits(amount!, 6), 0n)).toBe(
        buyers.reduce((sum, { id }) => sum + (expected.of(id)[accountsOf.refunds(id)] ?? 0n), 0n),
      );
    },
    90_000 + STEPS * 4_000,
  );
});

/** What the seller of a step counts: nothing now and then, and now and then more than the most. */
const unitsOf = (n: number): number => (n % 6) * 60;

/** Returns a function that runs pieces of work one after another. */
function turns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}

/** Wraps a payer and records the last offer that it was asked to pay. */
function noting(payer: Payer): [Payer, () => Offer] {
  let noted: Offer;
  const prepare: Payer['prepare'] = (offer, signal) => {
    noted = offer;
    return payer.prepare(offer, signal);
  };
  return [{ ...payer, prepare }, () => noted];
}
