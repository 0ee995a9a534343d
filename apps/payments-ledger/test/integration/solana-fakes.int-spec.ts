import { newId } from '@market/kernel';
import { runCommand } from '@market/runtime';
import { generateKeyPairSigner, type Address, type Instruction } from '@solana/kit';
import { getTransferCheckedInstruction } from '@solana-program/token';
import { reportPayments } from '../../src/payments/report-payments.command.js';
import { paymentsLedger } from '../../src/service.js';
import { digestOf, newOrder, reasonOf, type Order } from '../support/ledger-world.js';
import { asTwoServers, startRpcProxy, type RpcProxy } from '../support/rpc-proxy.js';
import { startSolanaLedger, type SolanaLedger } from '../support/solana-ledger.js';
import { startSolanaWorld } from '../support/solana-world.js';
import { OFFERS_A_CASE, salesOn, type Sale as SaleOn } from '../support/on-chain-offers.js';

type Currency = 'USDC' | 'SOL';
type Sale = SaleOn<Address>;

const BOTH: Currency[] = ['USDC', 'SOL'];

/** What looks like a payment on Solana and is none, and what is one and must not be lost: each through the ledger's own contract, on a real virtual machine seen by two RPC servers. */
describe('on Solana', () => {
  let world: SolanaLedger;
  let second: RpcProxy;

  beforeAll(async () => {
    second = await startRpcProxy();
    world = await startSolanaLedger({ rpcUrls: asTwoServers(second) });
  }, 60_000);
  afterEach(async () => {
    second.tamper = null;
    await world.ledger.reconcile();
  });
  afterAll(async () => {
    await world.stop();
    second.stop();
  });

  const { sell, outcomes, states, owed, expectNothing } = salesOn<Address>(() => world, () => world.onChain);
  const pay = async (sales: Sale[], value: (price: bigint) => bigint = (price) => price, mint = world.usdc): Promise<void> => {
    for (const { offered, price } of sales) await world.send(offered, value(price), mint);
  };

  it.each(BOTH)('one transfer of %s pays one of 100 offers of one buyer that are claimed together', async (currency) => {
    const [buyer, { listing }] = [newId(), newOrder()];
    const sales = await sell(100, currency, (n) => ({ buyer, listing, bodyDigest: digestOf(`call ${n}`) }));
    expect(new Set(sales.map(({ address }) => address)).size).toBe(100);
    await pay(sales.slice(41, 42));
    world.final();
    const answers = await Promise.all(sales.map(({ order, offered }) => world.outcomeOf(order, offered)));
    expect(answers.flatMap((outcome, n) => (outcome === 'pending' ? [] : [n]))).toEqual([41]);
    // It holds what it claimed even where its answer came too late and it asked again.
    expect(['claimed', 'in_flight']).toContain(answers[41]);
    expect((await Promise.all(Array.from({ length: 10 }, () => outcomes([sales[41]!])))).flat()).toEqual(Array(10).fill('in_flight'));
  });

  it('a payment is good for its own buyer alone', async () => {
    const [sale] = await sell(1);
    await pay([sale!]);
    world.final();
    expect(await reasonOf(world.ledger.claim({ ...sale!.order, buyer: newId() }, sale!.offered))).toBe('payment_not_found');
    expect(await outcomes([sale!])).toEqual(['claimed']);
  });

  it.each([['of the same program', undefined], ['of Token-2022', 100]])('another mint %s pays nothing', async (_what, feeBps) => {
    const mint = await world.chain.mint(feeBps);
    const sales = await sell(OFFERS_A_CASE);
    await pay(sales, undefined, mint);
    world.final();
    const { value } = await world.chain.rpc.getTokenAccountBalance(await world.chain.accountOf(mint, sales[0]!.address)).send();
    expect(BigInt(value.amount)).toBeGreaterThanOrEqual(240_000n);
    await expectNothing(sales);
  });

  it('USDC to the account of somebody else pays nothing, whoever is named beside it', async () => {
    const sales = await sell(OFFERS_A_CASE);
    const somebody = (await generateKeyPairSigner()).address;
    for (const { address, price } of sales) {
      const [open, transfer] = await world.chain.tokenTransfer(world.usdc, somebody, price);
      const named: Instruction = { ...transfer!, accounts: [...transfer!.accounts!, { address, role: 0 }] };
      await world.chain.send([open!, named]);
    }
    world.final();
    await expectNothing(sales);
  });

  it.each(BOTH)('a transaction of %s that failed pays nothing', async (currency) => {
    const sales = await sell(OFFERS_A_CASE, currency);
    const poor = await generateKeyPairSigner();
    await world.chain.sendCoin(poor.address, 1_000_000_000n);
    for (const { address, price } of sales) {
      const pays = currency === 'SOL' ? [world.chain.coinTransfer(address, price)] : await world.chain.tokenTransfer(world.usdc, address, price);
      const source = await world.chain.accountOf(world.usdc, poor.address);
      // What comes last undoes everything before it.
      const fails = getTransferCheckedInstruction({ source, mint: world.usdc.address, destination: source, authority: poor, amount: 1n, decimals: 6 });
      const hash = await world.chain.send([...pays, fails], { payer: poor, isForced: true });
      expect((await world.chain.rpc.getTransaction(hash, { encoding: 'json', commitment: 'processed' as never, maxSupportedTransactionVersion: 0 }).send())!.meta!.err).not.toBeNull();
    }
    world.final();
    await expectNothing(sales);
  });

  it.each(BOTH)('%s that is not final pays nothing yet, and none where another fork wins', async (currency) => {
    const sales = await sell(OFFERS_A_CASE, currency);
    await pay(sales);
    expect(await outcomes(sales)).toEqual(['pending']);
    world.chain.node.confirm();
    expect(await outcomes(sales)).toEqual(['pending']);
    world.chain.node.dropFork();
    world.final();
    await expectNothing(sales);
  });

  it.each(BOTH)('each offer gets its own of many transfers of %s in one transaction, and all of several to it', async (currency) => {
    const [three, other] = [await sell(3, currency), await sell(1, currency)];
    const pays = async ({ address }: Sale, value: bigint) => (currency === 'SOL' ? [world.chain.coinTransfer(address, value)] : world.chain.tokenTransfer(world.usdc, address, value));
    const [a, b, c] = three as [Sale, Sale, Sale];
    await world.chain.send([...(await pays(a, a.price)), ...(await pays(b, b.price - 1n)), ...(await pays(c, c.price - 1n)), ...(await pays(c, 2n))]);
    world.final();
    expect([await outcomes([a]), await outcomes([b]), await outcomes([c]), await outcomes(other)]).toEqual([['claimed'], ['underpaid'], ['claimed'], ['pending']]);
    const hashes = await world.ledger.db.inspect<{ transaction_hash: string | null }>('SELECT DISTINCT transaction_hash FROM payments_ledger.payments WHERE id = ANY($1)', [[a, c].map(({ offered }) => offered.offer.payment_id)]);
    expect(hashes).toEqual([{ transaction_hash: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{86,88}$/) as string }]);
  });

  it('the same addresses on another chain pay nothing, and no server may move there', async () => {
    const elsewhere = await startSolanaWorld();
    try {
      const sales = await sell(OFFERS_A_CASE, 'SOL');
      for (const { address, price } of sales) await elsewhere.sendCoin(address, price);
      elsewhere.node.finalize();
      second.target = elsewhere.node.url;
      expect(await outcomes(sales)).toEqual(['pending']);
      second.target = world.chain.node.url;
      await expectNothing(sales);
    } finally {
      second.target = world.chain.node.url;
      elsewhere.stop();
    }
  });

  const withValue = (result: unknown, change: (account: Record<string, unknown> | null) => unknown): unknown => {
    const { value, ...rest } = result as { value: (Record<string, unknown> | null)[] };
    return { ...rest, value: value.map((account, n) => (n === 0 ? account : change(account))) };
  };
  const FAULTS: [string, NonNullable<RpcProxy['tamper']>][] = [
    ['says that more came', ({ method }, result) => (method === 'getMultipleAccounts' ? withValue(result, (account) => ({ ...account, lamports: 9_000_000_000 })) : result)],
    ['says that nothing came', ({ method }, result) => (method === 'getMultipleAccounts' ? withValue(result, () => null) : method === 'getSignaturesForAddress' ? [] : result)],
    ['serves another chain', ({ method }, result) => (method === 'getGenesisHash' ? '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d' : result)],
    ['stands still', ({ method }, result) => (method === 'getMultipleAccounts' ? { ...(result as object), value: [{ ...(result as { value: object[] }).value[0], data: [Buffer.alloc(40).toString('base64'), 'base64'] }, ...(result as { value: object[] }).value.slice(1)] } : result)],
    ['keeps no transactions', ({ method }, result) => (method === 'getTransaction' ? null : method === 'getSignaturesForAddress' ? [] : result)],
    ['leaves accounts of a lookup table out', ({ method }, result) => (method === 'getTransaction' ? { ...(result as object), transaction: { message: { accountKeys: [world.chain.payer.address], instructions: [] } } } : result)],
    ['answers nonsense', () => 'nonsense'],
    [
      'hangs up',
      () => {
        throw new Error('hang up');
      },
    ],
  ];
  it.each(FAULTS)('one of two servers that %s stops credit, and loses none', async (_what, tamper) => {
    const [paid, unpaid] = [await sell(OFFERS_A_CASE, 'SOL'), await sell(3, 'SOL')];
    await pay(paid);
    world.final();
    second.tamper = tamper;
    expect(await outcomes([...paid, ...unpaid])).toEqual(['pending']);
    second.tamper = null;
    expect(await outcomes(paid)).toEqual(['claimed']);
    await expectNothing(unpaid);
  });

  describe.each(BOTH)('%s', (currency) => {
    it('one base unit too little waits for it, in two parts it is enough', async () => {
      const sales = await sell(OFFERS_A_CASE, currency);
      await pay(sales, (price) => price - 1n);
      world.final();
      expect(await outcomes(sales)).toEqual(['underpaid']);
      await pay(sales, () => 1n);
      world.final();
      expect(await outcomes(sales)).toEqual(['claimed']);
      expect(await owed(sales)).toEqual([[]]);
    });

    it('paid twice buys one call, and the second payment is owed back to the last micro', async () => {
      const sales = await sell(OFFERS_A_CASE, currency);
      await pay(sales);
      await pay(sales);
      world.final();
      expect(await outcomes(sales)).toEqual(['claimed']);
      expect(await owed(sales)).toEqual([[['overpaid', '250000']]]);
    });

    it('that comes too late buys nothing and is all owed back', async () => {
      const sales = await sell(OFFERS_A_CASE, currency);
      await world.end(...sales.map(({ offered }) => offered));
      await pay(sales);
      world.final();
      await world.lookAgain(...sales.map(({ offered }) => offered));
      expect(await states(sales)).toEqual(['refund_due']);
      expect(await owed(sales)).toEqual([[['paid_late', '250000']]]);
    });
  });

  it('base units of one currency are not those of another, and what an address cannot get is not asked for', async () => {
    const confused = await sell(1, 'USDC', () => ({ priceMicros: '890880000' }));
    await pay(confused, () => 890_880n);
    world.final();
    expect(await outcomes(confused)).toEqual(['underpaid']);
    const least = { ...world.onChain, originCurrency: 'SOL' as const };
    expect((await world.ledger.quote(newOrder({ priceMicros: '133632' }), least)).offer.requirements.amount_base_units).toBe('890880');
    expect(await reasonOf(world.ledger.quote(newOrder({ priceMicros: '133631' }), least))).toBe('payment_route_minimum_not_met');
  });
});

describe('on Solana, at one address for many offers', () => {
  let world: SolanaLedger;
  beforeAll(async () => {
    world = await startSolanaLedger({ hasReceiver: true });
  }, 60_000);
  afterEach(() => world.ledger.reconcile());
  afterAll(() => world.stop());

  const sell = (count: number, changes: (n: number) => Partial<Order> = () => ({})): Promise<Sale[]> =>
    Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const order = newOrder({ priceMicros: '10000', ...changes(n) });
        const offered = await world.ledger.quote(order, { ...world.onChain, originCurrency: 'SOL' });
        const { reference, amount_base_units } = offered.offer.requirements;
        return { order, offered, address: reference as Address, price: BigInt(amount_base_units) };
      }),
    );
  const outcomes = (sales: Sale[]): Promise<string[]> => Promise.all(sales.map(({ order, offered }) => world.outcomeOf(order, offered)));
  const receiverOf = ({ offered }: Sale): Address => offered.offer.requirements.depositAddress as Address;

  it('one transfer pays the one of 100 offers that it names', async () => {
    const sales = await sell(100);
    expect([new Set(sales.map(receiverOf)).size, new Set(sales.map(({ address }) => address)).size]).toEqual([1, 100]);
    const { requirements } = sales[0]!.offered.offer;
    expect(requirements.payment_url).toBe(`solana:${requirements.depositAddress}?amount=0.000066667&reference=${requirements.reference}`);
    await world.send(sales[41]!.offered, sales[41]!.price);
    world.final();
    expect((await outcomes(sales)).flatMap((outcome, n) => (outcome === 'pending' ? [] : [[n, outcome]]))).toEqual([[41, 'claimed']]);
  });

  it('one transfer pays no two of 100, however they are named in it and beside it', async () => {
    const sales = await sell(100);
    for (let first = 0; first < sales.length; first += 10) {
      const group = sales.slice(first, first + 10);
      const [paid, ...named] = group as [Sale, ...Sale[]];
      const kinds: Instruction[][] = [
        [world.chain.coinTransfer(receiverOf(paid), paid.price, ...group.map(({ address }) => address))],
        [world.chain.coinTransfer(receiverOf(paid), paid.price, paid.address), world.chain.coinTransfer(world.chain.payer.address, paid.price, ...named.map(({ address }) => address))],
        [world.chain.coinTransfer(receiverOf(paid), paid.price, paid.address), ...named.slice(0, 3).map(({ address }) => world.chain.coinTransfer(receiverOf(paid), 0n, address))],
        [world.chain.coinTransfer(receiverOf(paid), paid.price), ...group.slice(0, 3).map(({ address }) => world.chain.coinTransfer(world.chain.payer.address, paid.price, address))],
      ];
      await world.chain.send(kinds[(first / 10) % kinds.length]!);
    }
    world.final();
    const claimed = (await outcomes(sales)).flatMap((outcome, n) => (outcome === 'pending' ? [] : [[n, outcome]]));
    expect(claimed).toEqual([10, 20, 50, 60, 90].map((n) => [n, 'claimed']));
  });

  it("what names an offer and pays none is in the operator's report, and nowhere in the books", async () => {
    const [sale, other] = (await sell(2)) as [Sale, Sale];
    const hash = await world.chain.send([world.chain.coinTransfer(receiverOf(sale), sale.price, sale.address, other.address)]);
    world.final();
    expect(await outcomes([sale, other])).toEqual(['pending', 'pending']);
    await world.end(sale.offered, other.offered);
    const settings = { DATABASE_URL: world.ledger.db.url, PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 1).toString('base64'), ...world.env };
    const report = (await runCommand(paymentsLedger, reportPayments, { operator: 'ada', arguments: [], options: {} }, settings)).split('\n').map((line) => line.split('\t'));
    const lineOf = ({ offered }: Sale): string[] => ['unclear', offered.offer.payment_id, 'onchain-solana', 'expired', expect.any(String) as string, `${hash} names it and pays ${receiverOf(sale)}, but not for it alone; it is not counted`];
    expect(report).toEqual(expect.arrayContaining([lineOf(sale), lineOf(other)]));
    expect([await world.owed(sale.offered), await world.owed(other.offered)]).toEqual([[], []]);
  });

  it('the rest of a part payment is asked for, a surplus and what comes too late are owed back', async () => {
    const [parts, twice, late] = (await sell(3)) as [Sale, Sale, Sale];
    await world.send(parts.offered, parts.price - 1n);
    await world.send(twice.offered, twice.price);
    await world.send(twice.offered, twice.price);
    world.final();
    expect(await outcomes([parts, twice])).toEqual(['underpaid', 'claimed']);
    await world.send(parts.offered, 1n);
    await world.end(late.offered);
    await world.send(late.offered, late.price);
    world.final();
    await world.lookAgain(late.offered);
    expect(await outcomes([parts])).toEqual(['claimed']);
    expect(await Promise.all([parts, twice, late].map(({ offered }) => world.owed(offered)))).toEqual([[], [['overpaid', '10000']], [['paid_late', '10000']]]);
  });
});

it('USDC with a fee on transfers pays what arrives', async () => {
  const world = await startSolanaLedger({ usdcFeeBps: 1_000 });
  try {
    const order = newOrder();
    const offered = await world.ledger.quote(order, { ...world.onChain, originCurrency: 'USDC' });
    await world.send(offered, 250_000n);
    world.final();
    expect(await world.outcomeOf(order, offered)).toBe('underpaid');
    await world.end(offered);
    expect(await world.owed(offered)).toEqual([['not_delivered', '225000']]);
    await world.ledger.reconcile();
  } finally {
    await world.stop();
  }
});
