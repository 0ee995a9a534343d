import { newId } from '@market/kernel';
import { eventually } from '@market/testing';
import { encodeFunctionData, erc20Abi, parseUnits, type Address, type Hash } from 'viem';
import { ON_CHAIN, startEvmLedger, type EvmLedger } from '../support/evm-ledger.js';
import { startEvmWorld, type TestContract } from '../support/evm-world.js';
import { digestOf, newOrder, reasonOf, type Offered, type Order } from '../support/ledger-world.js';
import { startRpcProxy, type RpcProxy } from '../support/rpc-proxy.js';

type Currency = 'USDC' | 'ETH';
interface Sale {
  order: Order;
  offered: Offered;
  address: Address;
  price: bigint;
}

const MANY = 20;

/** What looks like a payment and is none, and what is one and must not be lost: each through the ledger's own contract, on a real chain seen by two RPC servers. */
describe('on a chain', () => {
  let world: EvmLedger;
  let second: RpcProxy;
  let isMining = true;

  beforeAll(async () => {
    second = await startRpcProxy();
    world = await startEvmLedger({
      rpcUrls: ({ node }) => {
        second.target = node.url;
        return [node.url, second.url];
      },
    });
  }, 60_000);
  afterEach(async () => {
    second.tamper = null;
    await world.ledger.reconcile();
  });
  afterAll(async () => {
    await world.stop();
    second.stop();
  });

  const sell = (count: number, currency: Currency = 'USDC', changes: (n: number) => Partial<Order> = () => ({})): Promise<Sale[]> =>
    Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const order = newOrder(changes(n));
        const offered = await world.ledger.quote(order, { ...ON_CHAIN, originCurrency: currency });
        const { depositAddress, amount_base_units } = offered.offer.requirements;
        return { order, offered, address: depositAddress as Address, price: BigInt(amount_base_units) };
      }),
    );
  const transferOf = (to: Address, value: bigint): string => encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [to, value] });
  /** One transaction after the other; all are in blocks when it returns, while blocks are made by themselves. */
  const send = async (values: [Sale, bigint][], { token = world.usdc, from = world.chain.payer, ...fields }: { token?: Address; from?: Address; gas?: string; nonce?: string; gasPrice?: string } = {}): Promise<Hash[]> => {
    const hashes: Hash[] = [];
    for (const [{ offered, address }, value] of values) {
      const transaction = offered.offer.requirements.currency === 'ETH' ? { to: address, value: `0x${value.toString(16)}` } : { to: token, data: transferOf(address, value) };
      hashes.push(await world.chain.node.request<Hash>('eth_sendTransaction', [{ from, ...transaction, ...fields }]));
    }
    if (isMining) await eventually(async () => expect(await receiptOf(hashes.at(-1)!)).not.toBeNull(), { everyMs: 5 });
    return hashes;
  };
  const exactly = (sales: Sale[], value: (price: bigint) => bigint = (price) => price): [Sale, bigint][] => sales.map((sale) => [sale, value(sale.price)]);
  const outcomes = async (sales: Sale[]): Promise<string[]> => [...new Set(await Promise.all(sales.map(({ order, offered }) => world.outcomeOf(order, offered))))];
  const states = async (sales: Sale[]): Promise<string[]> => [...new Set(await Promise.all(sales.map(({ offered }) => world.ledger.stateOf(offered.offer.payment_id))))];
  const receiptOf = (hash: Hash) => world.chain.node.request<{ status: string; logs: unknown[] } | null>('eth_getTransactionReceipt', [hash]);
  const whileNobodyMines = async (act: () => Promise<void>): Promise<void> => {
    await world.chain.node.request('evm_setAutomine', [false]);
    isMining = false;
    try {
      await act();
    } finally {
      isMining = true;
      await world.chain.node.request('evm_setAutomine', [true]);
    }
  };
  const expectNothing = async (sales: Sale[]): Promise<void> => {
    expect(await outcomes(sales)).toEqual(['pending']);
    await world.end(...sales.map(({ offered }) => offered));
    expect(await states(sales)).toEqual(['expired']);
  };

  it('one transfer pays one of 100 offers of one buyer that are claimed together', async () => {
    const [buyer, { listing }] = [newId(), newOrder()];
    const sales = await sell(100, 'USDC', (n) => ({ buyer, listing, bodyDigest: digestOf(`call ${n}`) }));
    expect(new Set(sales.map(({ address }) => address)).size).toBe(100);
    await send(exactly(sales.slice(41, 42)));
    await world.final();
    const answers = await Promise.all(sales.map(({ order, offered }) => world.outcomeOf(order, offered)));
    expect(answers.flatMap((outcome, n) => (outcome === 'pending' ? [] : [[n, outcome]]))).toEqual([[41, 'claimed']]);
    expect((await Promise.all(Array.from({ length: 10 }, () => outcomes([sales[41]!])))).flat()).toEqual(Array(10).fill('in_flight'));
  });

  it('a payment is good for its own buyer alone', async () => {
    const [sale] = await sell(1);
    await send(exactly([sale!]));
    await world.final();
    expect(await reasonOf(world.ledger.claim({ ...sale!.order, buyer: newId() }, sale!.offered))).toBe('payment_not_found');
    expect(await outcomes([sale!])).toEqual(['claimed']);
  });

  it.each<TestContract>(['Token', 'LyingToken', 'FeeToken'])('another contract that calls itself USDC and logs transfers (%s) pays nothing', async (contract) => {
    const token = await world.chain.deploy(contract);
    await world.chain.mint(token, world.chain.payer, 10n ** 12n);
    const sales = await sell(MANY);
    const hashes = await send(exactly(sales), { token });
    await world.final();
    expect(await receiptOf(hashes[0]!)).toMatchObject({ status: '0x1', logs: [{ address: token.toLowerCase() }] });
    await expectNothing(sales);
  });

  it.each([
    ['logs and moves nothing', 'LyingToken', 'pending', 0n],
    ['returns false and neither logs nor moves', 'RefusingToken', 'pending', 0n],
    ['keeps a tenth of what it logs', 'FeeToken', 'underpaid', 225_000n],
  ] as const)('USDC that %s is believed as far as log and balance agree', async (_what, contract, outcome, received) => {
    const sales = await sell(MANY);
    await world.chain.place(contract, world.usdc);
    await send(exactly(sales));
    await world.chain.place('SignedToken', world.usdc);
    await world.final();
    expect(await outcomes(sales)).toEqual([outcome]);
    await world.end(...sales.map(({ offered }) => offered));
    expect(await states(sales)).toEqual([received > 0n ? 'refund_due' : 'expired']);
    for (const { offered } of sales) expect(await world.owed(offered)).toEqual(received > 0n ? [['not_delivered', received.toString()]] : []);
  });

  it('a transaction that failed pays nothing', async () => {
    const sales = await sell(MANY);
    const [poor] = (await world.chain.node.request<Address[]>('eth_accounts')).slice(7);
    const [hash] = await send(exactly(sales), { from: poor, gas: '0x186a0' });
    await world.final();
    expect(await receiptOf(hash!)).toMatchObject({ status: '0x0', logs: [] });
    await expectNothing(sales);
  });

  it.each<Currency>(['USDC', 'ETH'])('a transaction of %s that waits, is dropped or replaced pays nothing, or another', async (currency) => {
    const [waiting, other] = [await sell(MANY, currency), await sell(1, currency)];
    await whileNobodyMines(async () => {
      const hashes = await send(exactly(waiting));
      expect(await outcomes(waiting)).toEqual(['pending']);
      const replaced = await world.chain.node.request<{ nonce: string }>('eth_getTransactionByHash', [hashes[0]]);
      await send(exactly(other), { nonce: replaced.nonce, gasPrice: '0x2540be4000' });
      for (const hash of hashes.slice(1)) await world.chain.node.request('anvil_dropTransaction', [hash]);
      await world.chain.node.mine(1);
      expect(await receiptOf(hashes[0]!)).toBeNull();
    });
    await world.final();
    expect(await outcomes(other)).toEqual(['claimed']);
    await expectNothing(waiting);
  });

  it.each<Currency>(['USDC', 'ETH'])('%s in a block that the chain drops again was never credited', async (currency) => {
    const sales = await sell(MANY, currency);
    await whileNobodyMines(async () => {
      const [hash] = await send(exactly(sales));
      await world.chain.node.mine(1);
      expect(await receiptOf(hash!)).toMatchObject({ status: '0x1' });
      expect(await outcomes(sales)).toEqual(['pending']);
      await world.chain.node.request('anvil_reorg', [1, []]);
      expect(await receiptOf(hash!)).toBeNull();
    });
    await world.final();
    await expectNothing(sales);
  });

  it('the same addresses on another chain pay nothing', async () => {
    const elsewhere = await startEvmWorld(31_338);
    try {
      const sales = await sell(MANY, 'ETH');
      for (const { address, price } of sales) await elsewhere.sendCoin(address, price);
      await elsewhere.node.mine(2);
      await world.final();
      await expectNothing(sales);
      const paid = await sell(MANY, 'ETH');
      for (const { address, price } of paid) await elsewhere.sendCoin(address, price);
      // The second server moves to that chain under the running service.
      second.target = elsewhere.node.url;
      expect(await outcomes(paid)).toEqual(['pending']);
    } finally {
      second.target = world.chain.node.url;
      await elsewhere.stop();
    }
  });

  const FAULTS: [string, NonNullable<RpcProxy['tamper']>][] = [
    ['says that more came', ({ method }, result) => (method === 'eth_getBalance' ? '0xde0b6b3a7640000' : result)],
    ['says that nothing came', ({ method }, result) => (method === 'eth_getBalance' ? '0x0' : result)],
    ['serves another chain', ({ method }, result) => (method === 'eth_chainId' ? '0x1' : result)],
    ['stands still', ({ method }, result) => (method === 'eth_getBlockByNumber' ? { ...(result as object), timestamp: '0x1' } : result)],
    ['has another history', ({ method }, result) => (method === 'eth_getBlockByNumber' ? { ...(result as object), hash: `0x${'ab'.repeat(32)}` } : result)],
    ['answers nonsense', () => 'nonsense'],
    [
      'hangs up',
      () => {
        throw new Error('hang up');
      },
    ],
  ];
  it.each(FAULTS)('one of two servers that %s stops credit, and loses none', async (_what, tamper) => {
    const [paid, unpaid] = [await sell(MANY, 'ETH'), await sell(3, 'ETH')];
    await send(exactly(paid));
    await world.final();
    second.tamper = tamper;
    expect(await outcomes([...paid, ...unpaid])).toEqual(['pending']);
    second.tamper = null;
    expect(await outcomes(paid)).toEqual(['claimed']);
    await expectNothing(unpaid);
  });

  describe.each<Currency>(['USDC', 'ETH'])('%s', (currency) => {
    it('one base unit too little waits for it, in two parts it is enough', async () => {
      const sales = await sell(MANY, currency);
      await send(exactly(sales, (price) => price - 1n));
      await world.final();
      expect(await outcomes(sales)).toEqual(['underpaid']);
      await send(exactly(sales, () => 1n));
      await world.final();
      expect(await outcomes(sales)).toEqual(['claimed']);
      for (const { offered } of sales) expect(await world.owed(offered)).toEqual([]);
    });

    it('paid twice buys one call, and the second payment is owed back to the last micro', async () => {
      const sales = await sell(MANY, currency);
      await send([...exactly(sales), ...exactly(sales)]);
      await world.final();
      expect(await outcomes(sales)).toEqual(['claimed']);
      for (const { offered } of sales) expect(await world.owed(offered)).toEqual([['overpaid', '250000']]);
    });

    it('that comes too late buys nothing and is all owed back', async () => {
      const sales = await sell(MANY, currency);
      await world.end(...sales.map(({ offered }) => offered));
      await send(exactly(sales));
      await world.final();
      await world.lookAgain(...sales.map(({ offered }) => offered));
      expect(await states(sales)).toEqual(['refund_due']);
      for (const { offered } of sales) expect(await world.owed(offered)).toEqual([['paid_late', '250000']]);
    });
  });

  it('prices are the same number as text and in base units, whatever they are, and base units of one currency are not those of another', async () => {
    const prices = Array.from({ length: 50 }, (_, n) => 100_000 + n * n * 7919 + n);
    for (const [currency, decimals] of [['USDC', 6], ['ETH', 18]] as const) {
      for (const { offered, price } of await sell(prices.length, currency, (n) => ({ priceMicros: String(prices[n]) }))) {
        expect(offered.offer.requirements.amount).toMatch(/^(0|[1-9]\d*)(\.\d*[1-9])?$/);
        expect(parseUnits(offered.offer.requirements.amount, decimals)).toBe(price);
      }
    }
    const confused = await sell(MANY, 'ETH');
    await send(exactly(confused, () => 250_000n));
    await world.final();
    expect(await outcomes(confused)).toEqual(['underpaid']);
  });
});
