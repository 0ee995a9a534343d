import { newId } from '@market/kernel';
import type { EvmNode } from '@market/testing';
import { encodeFunctionData, erc20Abi, parseUnits, type Address, type Hash } from 'viem';
import { ON_CHAIN, startEvmLedger, type EvmLedger } from '../support/evm-ledger.js';
import { startEvmWorld, type TestContract } from '../support/evm-world.js';
import { digestOf, newOrder, reasonOf } from '../support/ledger-world.js';
import { asTwoServers, startRpcProxy, type RpcProxy } from '../support/rpc-proxy.js';
import { offered, subscriberOf } from '../support/subscriber.js';
import { OFFERS_A_CASE, salesOn, type Sale as SaleOn } from '../support/on-chain-offers.js';

type Currency = 'USDC' | 'ETH';
type Sale = SaleOn<Address>;

/** A call that fails would be refused where its gas is estimated. */
const ENOUGH_GAS = '0x186a0';

/** The same bytes, each time with other letters in capitals. */
function* spellingsOf(hash: Hash, count: number): Generator<string> {
  for (let n = 0; n < count; n += 1) {
    let letter = 0;
    yield `0x${hash.slice(2).replace(/[a-f]/g, (lower) => ((n >> letter++) & 1 ? lower.toUpperCase() : lower))}`;
  }
}

/** What looks like a payment and is none, and what is one and must not be lost: each through the ledger's own contract, on a real chain seen by two RPC servers. */
describe('on a chain', () => {
  let world: EvmLedger;
  let second: RpcProxy;

  beforeAll(async () => {
    second = await startRpcProxy();
    world = await startEvmLedger({ rpcUrls: asTwoServers(second) });
  }, 60_000);
  afterEach(async () => {
    second.tamper = null;
    await world.ledger.reconcile();
  });
  afterAll(async () => {
    await world.stop();
    second.stop();
  });

  const { sell, outcomes, states, owed, expectNothing } = salesOn<Address>(() => world, () => ON_CHAIN);
  const transferOf = (to: Address, value: bigint): string => encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [to, value] });
  /** In one block, while blocks are made by themselves. */
  const send = async (values: [Sale, bigint][], { token = world.usdc, from = world.chain.payer, node = world.chain.node, ...fields }: { token?: Address; from?: Address; node?: EvmNode; gas?: string; nonce?: string; gasPrice?: string } = {}): Promise<Hash[]> => {
    const hashes: Hash[] = [];
    const sendEach = async (): Promise<void> => {
      for (const [{ offered, address }, value] of values) {
        const transaction = offered.offer.requirements.currency === 'ETH' ? { to: address, value: `0x${value.toString(16)}` } : { to: token, data: transferOf(address, value) };
        hashes.push(await node.request<Hash>('eth_sendTransaction', [{ from, gas: ENOUGH_GAS, ...transaction, ...fields }]));
      }
    };
    if (await node.request<boolean>('anvil_getAutomine')) await whileNobodyMines(async () => (await sendEach(), await node.mine(1)), node);
    else await sendEach();
    return hashes;
  };
  const exactly = (sales: Sale[], value: (price: bigint) => bigint = (price) => price): [Sale, bigint][] => sales.map((sale) => [sale, value(sale.price)]);
  const receiptOf = (hash: Hash) => world.chain.node.request<{ status: string; logs: unknown[] } | null>('eth_getTransactionReceipt', [hash]);
  const whileNobodyMines = async (act: () => Promise<void>, node = world.chain.node): Promise<void> => {
    await node.request('evm_setAutomine', [false]);
    try {
      await act();
    } finally {
      await node.request('evm_setAutomine', [true]);
    }
  };

  it('one transfer pays one of 100 offers of one buyer that are claimed together', async () => {
    const [buyer, { listing }] = [newId(), newOrder()];
    const sales = await sell(100, 'USDC', (n) => ({ buyer, listing, bodyDigest: digestOf(`call ${n}`) }));
    expect(new Set(sales.map(({ address }) => address)).size).toBe(100);
    await send(exactly(sales.slice(41, 42)));
    await world.final();
    const answers = await Promise.all(sales.map(({ order, offered }) => world.outcomeOf(order, offered)));
    expect(answers.flatMap((outcome, n) => (outcome === 'pending' ? [] : [n]))).toEqual([41]);
    // It holds what it claimed even where its answer came too late and it asked again.
    expect(['claimed', 'in_flight']).toContain(answers[41]);
    expect((await Promise.all(Array.from({ length: 10 }, () => outcomes([sales[41]!])))).flat()).toEqual(Array(10).fill('in_flight'));
  });

  it('one transaction named for 100 offers at once, in 100 spellings, pays its own, once', async () => {
    const each = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const subscriber = subscriberOf(world.ledger);
        return { subscriber, offer: await subscriber.offerOf(offered(world.ledger), { originCurrency: 'USDC' }) };
      }),
    );
    const { subscriber: payer, offer: paid } = each[41]!;
    const hash = await world.chain.sendToken(world.usdc, paid.requirements.depositAddress as Address, BigInt(paid.requirements.amount_base_units));
    await world.final();
    const spellings = [...spellingsOf(hash, each.length)];
    expect(new Set(spellings).size).toBe(100);
    const answers = await Promise.all(each.map(({ subscriber, offer }, n) => subscriber.verify(offer, { relayRequestId: offer.requirements.relayRequestId, transactionHash: spellings[n] })));
    expect(answers.flatMap(({ outcome }, n) => (outcome === 'pending' ? [] : [[n, outcome]]))).toEqual([[41, 'completed']]);
    const again = await Promise.all(spellings.map((transactionHash) => payer.verify(paid, { relayRequestId: paid.requirements.relayRequestId, transactionHash })));
    expect(new Set(again.map((answer) => JSON.stringify(answer)))).toEqual(new Set([JSON.stringify(answers[41])]));
    expect(answers[41]).toMatchObject({ payment: { transaction_hash: hash } });
    expect(await Promise.all(each.map(async ({ subscriber }) => (await subscriber.list()).total))).toEqual(each.map((_, n) => (n === 41 ? 1 : 0)));
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
    const sales = await sell(OFFERS_A_CASE);
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
    const sales = await sell(OFFERS_A_CASE);
    await world.chain.place(contract, world.usdc);
    await send(exactly(sales));
    await world.chain.place('SignedToken', world.usdc);
    await world.final();
    expect(await outcomes(sales)).toEqual([outcome]);
    await world.end(...sales.map(({ offered }) => offered));
    expect(await states(sales)).toEqual([received > 0n ? 'refund_due' : 'expired']);
    expect(await owed(sales)).toEqual(received > 0n ? [[['not_delivered', received.toString()]]] : [[]]);
  });

  it('a transaction that failed pays nothing', async () => {
    const sales = await sell(OFFERS_A_CASE);
    const [poor] = (await world.chain.node.request<Address[]>('eth_accounts')).slice(7);
    const [hash] = await send(exactly(sales), { from: poor });
    await world.final();
    expect(await receiptOf(hash!)).toMatchObject({ status: '0x0', logs: [] });
    await expectNothing(sales);
  });

  it.each<Currency>(['USDC', 'ETH'])('a transaction of %s that waits, is dropped or replaced pays nothing, or another', async (currency) => {
    const [waiting, other] = [await sell(OFFERS_A_CASE, currency), await sell(1, currency)];
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
    const sales = await sell(OFFERS_A_CASE, currency);
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
      const sales = await sell(OFFERS_A_CASE, 'ETH');
      await send(exactly(sales), { node: elsewhere.node });
      await elsewhere.node.mine(2);
      await world.final();
      await expectNothing(sales);
      const paid = await sell(OFFERS_A_CASE, 'ETH');
      await send(exactly(paid), { node: elsewhere.node });
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
    const [paid, unpaid] = [await sell(OFFERS_A_CASE, 'ETH'), await sell(3, 'ETH')];
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
      const sales = await sell(OFFERS_A_CASE, currency);
      await send(exactly(sales, (price) => price - 1n));
      await world.final();
      expect(await outcomes(sales)).toEqual(['underpaid']);
      await send(exactly(sales, () => 1n));
      await world.final();
      expect(await outcomes(sales)).toEqual(['claimed']);
      expect(await owed(sales)).toEqual([[]]);
    });

    it('paid twice buys one call, and the second payment is owed back to the last micro', async () => {
      const sales = await sell(OFFERS_A_CASE, currency);
      await send([...exactly(sales), ...exactly(sales)]);
      await world.final();
      expect(await outcomes(sales)).toEqual(['claimed']);
      expect(await owed(sales)).toEqual([[['overpaid', '250000']]]);
    });

    it('that comes too late buys nothing and is all owed back', async () => {
      const sales = await sell(OFFERS_A_CASE, currency);
      await world.end(...sales.map(({ offered }) => offered));
      await send(exactly(sales));
      await world.final();
      await world.lookAgain(...sales.map(({ offered }) => offered));
      expect(await states(sales)).toEqual(['refund_due']);
      expect(await owed(sales)).toEqual([[['paid_late', '250000']]]);
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
    const confused = await sell(OFFERS_A_CASE, 'ETH');
    await send(exactly(confused, () => 250_000n));
    await world.final();
    expect(await outcomes(confused)).toEqual(['underpaid']);
  });
});
