import { freshDatabase, type FreshDatabase } from '@market/testing';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { randomBytes } from 'node:crypto';
import { bytesToHex, createPublicClient, http, type Address } from 'viem';
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from 'viem/accounts';
import { paymentsLedgerDatabase } from '../../src/database.js';
import { parsePayload, type ExactPayload, type ExactRequirements } from '../../src/rails/x402/exact-payment.js';
import { GasAccounts } from '../../src/rails/x402/gas-accounts.js';
import { LocalFacilitator } from '../../src/rails/x402/local-facilitator.js';
import { MULTICALL3 } from '../../src/rails/x402/settlement-lane.js';
import { codeThatBurns, startEvmHarness, type EvmHarness } from '../support/evm-harness.js';

const PRICE = 250_000n;

/** The ledger's processes have one key for gas, and one database. */
describe('settlements of several processes with one account', () => {
  let db: FreshDatabase;
  let harness: EvmHarness;
  let usdc: Address;
  let ledgers: LocalFacilitator[];

  beforeEach(async () => {
    [db, harness] = await Promise.all([freshDatabase(paymentsLedgerDatabase), startEvmHarness()]);
    usdc = await harness.deploy('SignedToken');
    const chain = { network: 'eip155:31337', chainId: 31_337, rpcUrls: [harness.node.url] };
    ledgers = Array.from(
      { length: 3 },
      () => new LocalFacilitator([chain], harness.gasKey, undefined, new GasAccounts(db.database)),
    );
  });
  afterEach(async () => {
    await harness.stop();
    await db.drop();
  });

  interface Sale {
    payload: ExactPayload;
    asked: ExactRequirements;
  }
  const sale = async (payer = privateKeyToAccount(generatePrivateKey()), funds = PRICE): Promise<Sale> => {
    if (funds > 0n) await harness.send(usdc, 'mint', [payer.address, funds]);
    const asked: ExactRequirements = {
      scheme: 'exact',
      network: 'eip155:31337',
      amount: String(PRICE),
      asset: usdc,
      payTo: privateKeyToAddress(generatePrivateKey()),
      maxTimeoutSeconds: 300,
      extra: { name: 'USDC', version: '2', relayRequestId: bytesToHex(randomBytes(32)) },
    };
    const { payload } = await new ExactEvmScheme(payer).createPaymentPayload(2, asked as never);
    return { asked, payload: parsePayload(JSON.stringify({ x402Version: 2, accepted: asked, payload }))! };
  };
  const sales = async (count: number): Promise<Sale[]> => {
    const made: Sale[] = [];
    for (let n = 0; n < count; n += 1) made.push(await sale());
    return made;
  };
  const received = ({ asked }: Sale): Promise<bigint> => harness.balanceOf(usdc, asked.payTo as Address);
  /** Settles all at once, in turns by each of the ledgers. @returns the transactions, and undefined for what failed. */
  const settle = (sold: Sale[]): Promise<(string | null | undefined)[]> =>
    Promise.all(
      sold.map(async ({ payload, asked }, n) => {
        const outcome = await ledgers[n % ledgers.length]!.settle(payload, asked).catch((error: Error) => error);
        return 'settled' in outcome && outcome.settled ? outcome.transactionHash : undefined;
      }),
    );
  const transactionsOf = (key: `0x${string}`): Promise<number> =>
    createPublicClient({ transport: http(harness.node.url) }).getTransactionCount({
      address: privateKeyToAddress(key),
    });

  it('each have a number of their own: all settle, one transaction each where the chain groups none', async () => {
    const sold = await sales(30);
    const settled = await settle(sold);
    expect(settled).not.toContain(undefined);
    expect(new Set(settled).size).toBe(sold.length);
    expect(await Promise.all(sold.map(received))).toEqual(sold.map(() => PRICE));
    expect(await transactionsOf(harness.gasKey)).toBe(sold.length);
  });

  it('go together where the chain has Multicall3, and each is in the transaction that it names', async () => {
    await harness.place('Multicall3', MULTICALL3);
    const sold = await sales(30);
    const settled = await settle(sold);
    expect(settled).not.toContain(undefined);
    expect(await Promise.all(sold.map(received))).toEqual(sold.map(() => PRICE));
    expect(await transactionsOf(harness.gasKey)).toBeLessThan(sold.length / 2);
  });

  it('are not disturbed by one that fails beside them, nor by a payer whose code takes the gas', async () => {
    await harness.place('Multicall3', MULTICALL3);
    const poor = privateKeyToAccount(generatePrivateKey());
    const withCode = privateKeyToAccount(generatePrivateKey());
    await harness.node.request('anvil_setCode', [withCode.address, codeThatBurns(1)]);
    const [first, second] = [await sale(poor), await sale(poor, 0n)];
    const others = [...(await sales(20)), await sale(withCode)];
    const settled = await settle([first, ...others, second]);
    expect(settled.slice(1, -1)).not.toContain(undefined);
    expect(await Promise.all(others.map(received))).toEqual(others.map(() => PRICE));
    // The money was enough for one of the two.
    expect([settled[0], settled.at(-1)].filter((transaction) => transaction !== undefined)).toHaveLength(1);
    expect((await received(first)) + (await received(second))).toBe(PRICE);
  });

  it('go on after a transaction that another user of the account has sent', async () => {
    const [own, next] = [await sale(), await sale()];
    expect(await settle([own])).not.toContain(undefined);
    const elsewhere = new LocalFacilitator(
      [{ network: 'eip155:31337', chainId: 31_337, rpcUrls: [harness.node.url] }],
      harness.gasKey,
    );
    const { payload, asked } = await sale();
    expect(await elsewhere.settle(payload, asked)).toMatchObject({ settled: true });
    expect(await settle([next])).not.toContain(undefined);
  });

  it('are numbered further than a server knows, until it lacks a transaction for a minute, which is lost', async () => {
    const account = { network: 'eip155:1', address: '0x1' };
    const accounts = [new GasAccounts(db.database), new GasAccounts(db.database)];
    const send = (counted: number, n = 0): Promise<number> =>
      accounts[n]!.send(
        account,
        () => Promise.resolve(counted),
        (nonce) => Promise.resolve(nonce),
      );
    expect([await send(7), await send(7, 1), await send(8)]).toEqual([7, 8, 9]);
    const aMinute = `UPDATE payments_ledger.gas_accounts SET counted_since = now() - interval '61 seconds'`;
    await db.inspect(aMinute);
    expect([await send(9), await send(9)]).toEqual([10, 11]);
    await db.inspect(aMinute);
    expect([await send(9), await send(12)]).toEqual([9, 12]);
  });

  it('are sent once, also where their number cannot be kept', async () => {
    const sent: number[] = [];
    const send = (nonce: number): Promise<string> => {
      sent.push(nonce);
      return db
        .inspect(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`,
        )
        .then(() => 'hash');
    };
    const account = { network: 'eip155:1', address: '0x2' };
    expect(await new GasAccounts(db.database).send(account, () => Promise.resolve(3), send)).toBe('hash');
    expect(sent).toEqual([3]);
  });
});
