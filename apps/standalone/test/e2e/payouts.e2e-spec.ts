import { x402Payer } from '@market/sdk';
import { eventually, startMarketplace, withClient, type RunningMarketplace } from '@market/testing';
import { encodeFunctionData, getAddress, parseUnits, type Address, type Hash } from 'viem';
import { startEvmHarness, testAbi, type EvmHarness } from '../../../payments-ledger/test/support/evm-harness.js';
import { readCommandLine } from '../../src/admin/command-line.js';
import { adminCommands } from '../../src/admin/commands.js';
import { operatorsEnv, startAdmin, type AdminAnswer } from '../support/admin.js';
import { expectBooksInOrder } from '../support/books.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop, type Shop } from '../support/seller.js';

const NETWORK = 'eip155:84532';
/** The address at which stock clients expect USDC of Base Sepolia. */
const USDC: Address = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
const STRANGER = getAddress(`0x${'d'.repeat(40)}`);
const [PRICE, NET] = [0.25, 237_500n];

interface SafeFile {
  chainId: string;
  meta: Record<string, string>;
  transactions: { to: Address; value: string; contractInputsValues: { to: Address; value: string } }[];
}

/**
 * The operator is paid at a contract like a Safe. It pays many sellers in one transaction, and no key can sign for it.
 */
inEachMode('payouts of an operator who is the merchant of record', ({ mode }) => {
  let chain: EvmHarness;
  let marketplace: RunningMarketplace;
  let env: Record<string, string>;
  let wallet: Address;
  let buyer: Agent;
  let sellers: [Agent, Agent, Agent];
  const shops: Shop[] = [];

  beforeAll(async () => {
    chain = await startEvmHarness(84_532);
    await chain.place('SignedToken', USDC);
    await chain.send(USDC, 'mint', [chain.payer, parseUnits('1000', 6)]);
    wallet = await chain.deploy('Batch');
    const variables = {
      PAYMENTS_LEDGER_X402_CHAINS: `${NETWORK}=${chain.node.url}`,
      PAYMENTS_LEDGER_X402_PAY_TO: 'operator',
      PAYMENTS_LEDGER_X402_PAY_TO_ADDRESS: wallet,
      PAYMENTS_LEDGER_X402_FACILITATOR_KEY: chain.gasKey,
      PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 6).toString('base64'),
    };
    marketplace = await startMarketplace({ mode, env: variables });
    env = { DATABASE_URL: marketplace.databaseUrl, ...variables, ...operatorsEnv(marketplace) };
    buyer = await registerAgent(marketplace, { displayName: 'Buyer' });
    sellers = [
      await registerAgent(marketplace, { displayName: 'One' }),
      await registerAgent(marketplace, { displayName: 'Two' }),
      await registerAgent(marketplace, { displayName: 'Three' }),
    ];
    for (const seller of sellers) shops.push(await openShop(seller, undefined, { pricing_amount: PRICE }));
  }, 240_000);
  afterAll(async () => {
    await expectBooksInOrder(marketplace, shops);
    await Promise.all(shops.map((shop) => shop.close()));
    await marketplace?.stop();
    await chain?.stop();
  }, 120_000);

  let calls = 0;
  const sell = async (...numbers: number[]): Promise<void> => {
    for (const [index, number] of numbers.entries())
      for (let call = 0; call < number; call += 1)
        await buyer.market.call(
          shops[index]!.listing,
          { call: (calls += 1) },
          { pay: x402Payer(chain.payerAccount, { [NETWORK]: {} }), originChainId: 84_532 },
        );
  };
  /** Runs an operator's command like `market-admin`, in this process, because starting a process takes a second. */
  const admin = (...words: string[]): Promise<AdminAnswer> => {
    const { command, input } = readCommandLine(words, adminCommands, 'ada')!;
    return command.run(input, env).then(
      (output) => ({ code: 0, output }),
      (error: Error) => ({ code: 1, output: error.message }),
    );
  };
  const addressOf = (seller: Agent): Address => seller.wallet.address as Address;
  const exported = async (...words: string[]): Promise<string[][]> => {
    const { code, output } = await admin('payouts', 'export', ...words);
    expect([code, output.split('\n')[0]]).toEqual([
      0,
      'network,token_address,receiver,amount,seller_id,exported_and_not_confirmed',
    ]);
    return output
      .split('\n')
      .slice(1)
      .map((line) => line.split(','));
  };
  const confirm = (transaction: Hash, ...words: string[]): Promise<AdminAnswer> =>
    admin('payouts', 'confirm', NETWORK, transaction, ...words);
  const linesOf = ({ output }: AdminAnswer): string[][] => output.split('\n').map((line) => line.split('\t'));
  /** The arguments for one transaction of the operator's wallet with a transfer for each payment. */
  const batch = (payments: [Address, bigint][]): [Address, string[]] => [
    USDC,
    payments.map((args) => encodeFunctionData({ abi: testAbi, functionName: 'transfer', args })),
  ];
  const pay = async (...payments: [Address, bigint][]): Promise<Hash> => {
    const transaction = await chain.send(wallet, 'all', batch(payments));
    await chain.pass(60);
    return transaction;
  };
  /** The gas limit makes the node skip the estimate, which would fail. */
  const sendBlindly = (...payments: [Address, bigint][]): Promise<Hash> =>
    chain.node.request<Hash>('eth_sendTransaction', [
      {
        from: chain.payer,
        to: wallet,
        gas: '0x7a120',
        data: encodeFunctionData({ abi: testAbi, functionName: 'all', args: batch(payments) as never }),
      },
    ]);
  const payableOf = async (seller: Agent): Promise<bigint> => BigInt((await seller.market.balance()).payable.micros);

  it('are listed by wallet above a minimum, and noted', async () => {
    await sell(3, 2, 1);
    const [one, two, three] = sellers;
    const rows = await exported();
    expect(rows.map((row) => row.slice(0, 5)).sort()).toEqual(
      (
        [
          [one, '0.7125'],
          [two, '0.475'],
          [three, '0.2375'],
        ] as const
      )
        .map(([seller, amount]) => [NETWORK, USDC, addressOf(seller), amount, seller.id])
        .sort(),
    );
    expect(rows.map((row) => row[5])).toEqual(['', '', '']);
    expect((await admin('audit')).output).toContain('3 payouts of $1.425');
    expect(await chain.balanceOf(USDC, wallet)).toBe(1_500_000n);
  });

  it('that may have been paid are exported to nobody again, however often, until the operator says that they were not', async () => {
    const [one, two] = sellers;
    const payable = (rows: string[][]): string[][] => rows.filter(([, , receiver]) => receiver !== '');
    const held = await exported('--minimum', '0.475');
    expect(
      held.map(([, , receiver, , seller, since]) => [receiver, seller, !Number.isNaN(Date.parse(since!))]),
    ).toEqual(
      expect.arrayContaining([
        ['', one.id, true],
        ['', two.id, true],
      ]),
    );
    const { output } = await admin('payouts', 'export', '--format', 'safe');
    expect(JSON.parse(output)).toMatchObject({
      meta: { description: 'What is due to 0 sellers; left out: 3 exported before and not confirmed' },
      transactions: [],
    });
    // After the confirmation, the export includes what was earned since.
    await sell(0, 1);
    expect(payable(await exported())).toEqual([]);
    expect(payable(await exported('--again', two.id)).map((row) => row[4])).toEqual([two.id]);
    expect(await admin('payouts', 'export', '--again', 'yes')).toEqual({
      code: 1,
      output: '--again must be the id of a seller, or all',
    });
    expect(payable(await exported('--again', 'all'))).toHaveLength(3);
    const transaction = await pay([addressOf(two), NET]);
    expect((await confirm(transaction)).code).toBe(0);
    // Of several concurrent exports, only one includes it.
    const crowd = await Promise.all(Array.from({ length: 4 }, () => exported()));
    expect(crowd.flatMap(payable).map(([, , , amount, seller]) => [amount, seller])).toEqual([['0.475', two.id]]);
  });

  it('are paid as the file for a Safe says, and posted when the chain has it for good, each to its seller', async () => {
    const [one, two, three] = sellers;
    const { output } = await admin('payouts', 'export', '--format', 'safe', '--minimum', '0.3', '--again', 'all');
    const file = JSON.parse(output) as SafeFile;
    expect(file).toMatchObject({
      chainId: '84532',
      meta: { createdFromSafeAddress: wallet, checksum: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string },
    });
    expect(file.transactions.every(({ to, value }) => to === USDC && value === '0')).toBe(true);
    const calls = file.transactions.map(({ contractInputsValues: { to, value } }): [Address, bigint] => [
      to,
      BigInt(value),
    ]);
    await chain.node.request('evm_setAutomine', [false]);
    const transaction = await sendBlindly(...calls, [STRANGER, 10_000n], [addressOf(three), NET - 7n]);
    expect(await confirm(transaction)).toEqual({
      code: 1,
      output: `${transaction} is in no block yet; nothing was posted`,
    });
    await chain.node.mine(1);
    expect((await confirm(transaction)).output).toContain('not final yet');
    await chain.node.request('evm_setAutomine', [true]);
    await chain.pass(60);

    const answer = await confirm(transaction);
    expect(answer.code).toBe(1);
    const [unmatched, ...paid] = linesOf(answer).sort((a, b) =>
      a[0] === 'unmatched' ? -1 : b[0] === 'unmatched' ? 1 : 0,
    );
    expect(unmatched).toEqual(['unmatched', STRANGER, '0.01', '', 'no payout was exported to this wallet; not posted']);
    expect(paid.sort()).toEqual(
      [
        ['paid', addressOf(one), '0.7125', one.id],
        ['paid', addressOf(two), '0.475', two.id],
        ['paid', addressOf(three), '0.237493', three.id, 'exported were 0.2375'],
      ].sort(),
    );
    expect(await Promise.all(sellers.map(payableOf))).toEqual([0n, 0n, 7n]);
    for (const [seller, micros] of [
      [one, 712_500n],
      [three, 237_493n],
    ] as const) {
      expect(await chain.balanceOf(USDC, addressOf(seller))).toBe(micros);
      const amount = { micros: String(micros), usd: Number(micros) / 1e6 };
      expect(await seller.market.balance()).toMatchObject({
        received: [{ network: NETWORK, wallet: addressOf(seller), amount }],
        payouts: [{ network: NETWORK, wallet: addressOf(seller), transaction_hash: transaction, amount }],
      });
      expect((await seller.market.ledger.list({ type: 'adjustment' })).data).toMatchObject([
        { account: `agent:${seller.id}:received:${NETWORK}:${addressOf(seller)}`, transaction_hash: transaction },
        { account: `agent:${seller.id}:earnings:x402:${NETWORK}`, transaction_hash: transaction },
      ]);
    }
    expect((await admin('audit')).output).toContain(`payouts confirm\t${NETWORK} ${transaction}`);
  });

  it('are posted once, however often and by how many at once they are confirmed, and from addresses of the operator alone', async () => {
    await sell(1, 1);
    await exported();
    const [one, two] = sellers;
    const transaction = await pay([addressOf(one), NET], [addressOf(two), NET]);
    const answers = await Promise.all(
      [1, 2, 3].map(() => confirm(transaction.toUpperCase().replace('X', 'x') as Hash)),
    );
    expect(answers.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(
      answers
        .flatMap(linesOf)
        .map(([outcome]) => outcome)
        .sort(),
    ).toEqual([...Array<string>(4).fill('already_confirmed'), 'paid', 'paid']);
    expect(await Promise.all(sellers.map(payableOf))).toEqual([0n, 0n, 7n]);

    // A buyer's own transfer to a seller is not counted as the operator's, unless the operator declares the address as
    // its own.
    const other = await chain.send(USDC, 'transfer', [addressOf(sellers[2]), 5n]);
    await chain.pass(60);
    expect(await confirm(other)).toMatchObject({
      code: 1,
      output: expect.stringContaining('transferred no USDC from an address of yours') as string,
    });
    expect(linesOf(await confirm(other, '--from', chain.payer))[0]!.slice(0, 3)).toEqual([
      'paid',
      addressOf(sellers[2]),
      '0.000005',
    ]);
    expect(await payableOf(sellers[2])).toBe(2n);
  });

  it('that were undone by the chain post nothing', async () => {
    const transaction = await sendBlindly([addressOf(sellers[0]), parseUnits('1000000', 6)]);
    await chain.pass(60);
    expect(await confirm(transaction)).toEqual({
      code: 1,
      output: `${transaction} was undone by the chain and paid nobody; nothing was posted`,
    });
    expect((await confirm(`0x${'ab'.repeat(32)}`)).output).toContain('is in no block yet');
    expect((await admin('payouts', 'confirm', 'eip155:1', transaction)).output).toBe(
      'eip155:1 is not among PAYMENTS_LEDGER_X402_CHAINS',
    );
  });

  it('are posted by the next that asks where the one before was killed, once; more than was due comes off what is due next', async () => {
    await sell(1);
    await exported();
    const [one] = sellers;
    const transaction = await pay([addressOf(one), NET + 1_000n]);
    await withClient(marketplace.databaseUrl, async (client) => {
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM payments_ledger.journal_head FOR UPDATE');
      const killed = startAdmin(env, 'payouts', 'confirm', NETWORK, transaction);
      await eventually(
        async () => {
          // PostgreSQL caches statistics within a transaction.
          await client.query('SELECT pg_stat_clear_snapshot()');
          const { rows } = await client.query(
            `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%UPDATE journal_head%'`,
          );
          expect([killed.output(), rows.length]).toEqual(['', 1]);
        },
        { withinMs: 30_000 },
      );
      await killed.stop('SIGKILL');
      await client.query('ROLLBACK');
    });
    expect(await payableOf(one)).toBe(NET);
    expect(linesOf(await confirm(transaction))).toEqual([
      [
        'paid',
        addressOf(one),
        '0.2385',
        one.id,
        'exported were 0.2375',
        'paid 0.001 more than was due, which comes off what is due next',
      ],
    ]);
    expect(linesOf(await confirm(transaction))[0]![0]).toBe('already_confirmed');
    expect(await payableOf(one)).toBe(0n);
    await sell(1);
    expect(await payableOf(one)).toBe(NET - 1_000n);
  });

  it('leave books that equal the chain to the base unit', async () => {
    expect(await admin('books', 'verify')).toEqual({ code: 0, output: 'the books add up' });
    expect(await admin('books', 'reconcile')).toEqual({
      code: 0,
      output: `${calls} settlements explained, 0 unexplained, 0 unknown`,
    });
    const received = await Promise.all(sellers.map((seller) => chain.balanceOf(USDC, addressOf(seller))));
    const booked = await Promise.all(sellers.map(async (seller) => (await seller.market.balance()).received));
    expect(booked.map(([place]) => BigInt(place!.amount.micros))).toEqual(received);
    // The operator's money consists of what it owes, its fees, and what it sent elsewhere.
    const { output } = await admin('books', 'report', '--format', 'json');
    type Column = 'volume' | 'revenue' | 'payouts_due' | 'payouts_paid';
    const rows = JSON.parse(output) as Record<Column, { micros: string }>[];
    const sum = (column: Column): bigint => rows.reduce((total, row) => total + BigInt(row[column].micros), 0n);
    expect([sum('volume'), sum('revenue')]).toEqual([BigInt(calls) * 250_000n, BigInt(calls) * 12_500n]);
    expect(sum('payouts_paid')).toBe(received.reduce((total, micros) => total + micros, 0n));
    expect(await chain.balanceOf(USDC, wallet)).toBe(sum('payouts_due') + sum('revenue') - 10_000n + 5n);
  });
});
