import { runCommand } from '@market/runtime';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { HDKey, privateKeyToAddress } from 'viem/accounts';
import { bytesToHex } from 'viem';
import { reportPayments } from '../../src/payments/report-payments.command.js';
import { paymentsLedger } from '../../src/service.js';
import { ON_CHAIN, startEvmLedger, type EvmLedger } from '../support/evm-ledger.js';
import { asClaimed, newOrder, type Offered } from '../support/ledger-world.js';

describe('payments report', () => {
  let world: EvmLedger;
  beforeAll(async () => {
    world = await startEvmLedger({ env: { PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '600000' } });
  }, 60_000);
  afterAll(() => world.stop());

  const report = (env: Record<string, string> = world.env): Promise<string> =>
    runCommand(paymentsLedger, reportPayments, { operator: 'ada', arguments: [], options: {} }, { DATABASE_URL: world.ledger.db.url, PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 1).toString('base64'), ...env });
  const failed = async (outcome: Promise<string>): Promise<string[]> => {
    const error: unknown = await outcome.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'CommandFailure' });
    return (error as Error).message.split('\n');
  };
  const set = (change: string, { offer }: Offered) => world.ledger.db.inspect(`UPDATE payments_ledger.payments SET ${change} WHERE id = $1`, [offer.payment_id]);
  const lineOf = (lines: string[], { offer }: Offered): string[] | undefined => lines.find((line) => line.includes(offer.payment_id))?.split('\t');

  it('has nothing to say where nothing is open', async () => {
    await world.ledger.quote(newOrder(), ON_CHAIN);
    expect(await report()).toBe('no payment is open longer than expected, and no deposit address holds money');
  });

  it('says what is paid and not delivered, and by which path the money at its address is reached, until that is swept', async () => {
    const order = newOrder();
    const offered = await world.ledger.quote(order, ON_CHAIN);
    await world.send(offered, 250_000n);
    await world.final();
    await world.ledger.release(asClaimed(await world.ledger.claim(order, offered)));
    const { depositAddress } = offered.offer.requirements;
    const deposits = (await report()).split('\n').map((line) => line.split('\t'));
    expect(deposits).toEqual([['deposit', offered.offer.payment_id, 'eip155:31337', depositAddress, expect.stringMatching(/^m(\/\d+){3}$/), '0.25', 'USDC']]);
    const key = HDKey.fromMasterSeed(Buffer.alloc(32, 11)).derive(deposits[0]![4]!).privateKey!;
    expect(privateKeyToAddress(bytesToHex(key))).toBe(depositAddress);

    await set("verified_at = now() - interval '11 minutes'", offered);
    expect((await report()).split('\n')[0]!.split('\t')).toEqual(['open', offered.offer.payment_id, 'onchain-evm', 'verified', expect.any(String), expect.stringMatching(/^paid and not delivered; its buyer may repeat the call until 20/)]);
    await set("retry_until = now() - interval '11 minutes'", offered);
    expect(lineOf(await failed(report()), offered)).toEqual(['unexplained', offered.offer.payment_id, 'onchain-evm', 'verified', expect.any(String), 'its window is over and it was not owed back']);
    await set("retry_until = now() + interval '1 day', verified_at = now()", offered);

    const node = world.chain.node;
    await node.request('anvil_setBalance', [depositAddress, '0xde0b6b3a7640000']);
    await node.request('anvil_impersonateAccount', [depositAddress]);
    const data = `0xa9059cbb${world.chain.payer.slice(2).padStart(64, '0')}${(250_000).toString(16).padStart(64, '0')}`;
    await node.request('eth_sendTransaction', [{ from: depositAddress, to: world.usdc, data }]);
    expect(await report()).toBe('no payment is open longer than expected, and no deposit address holds money');
  });

  it('says whether money holds an old offer open, or its rail, or nothing', async () => {
    const offered = await world.ledger.quote(newOrder(), ON_CHAIN);
    await set("expires_at = now() - interval '11 minutes'", offered);
    expect(lineOf(await failed(report()), offered)).toEqual(['unexplained', offered.offer.payment_id, 'onchain-evm', 'pending', expect.any(String), 'its time is over and nothing is on its way']);
    await world.send(offered, 1n);
    expect(lineOf((await report()).split('\n'), offered)?.at(-1)).toBe('money is on its way and not final');
    const deaf = { ...world.env, PAYMENTS_LEDGER_EVM_RPC_URLS: 'eip155:31337=http://127.0.0.1:9' };
    expect(lineOf((await report(deaf).catch((error: Error) => error.message)).split('\n'), offered)).toEqual(['open', offered.offer.payment_id, 'onchain-evm', 'pending', expect.any(String), expect.stringMatching(/^its rail does not know what came: /)]);
    expect(lineOf(await failed(report({})), offered)).toEqual(['unexplained', offered.offer.payment_id, 'onchain-evm', 'pending', expect.any(String), 'its rail onchain-evm is not configured here']);
    await set('expires_at = now()', offered);
  });

  it('says what became of a claim that nobody holds', async () => {
    const order = newOrder();
    const offered = await world.ledger.quote(order, { originCurrency: 'SOL' });
    await world.ledger.pay(order, offered);
    asClaimed(await world.ledger.claim(order, offered));
    expect(lineOf((await report()).split('\n'), offered)).toBeUndefined();
    await set("lease_until = now() - interval '11 minutes'", offered);
    expect(lineOf(await failed(report()), offered)?.slice(3)).toEqual(['in_flight', expect.any(String), 'whoever called the seller is gone, and the claim was not given back']);
    await set("lease_until = now()", offered);
  });

  it('says of a signed payment with an unknown outcome how often it was handed in, and how long it is good', async () => {
    const order = newOrder();
    const offered = await world.ledger.quote(order, ON_CHAIN);
    const { payload } = await new ExactEvmScheme(world.chain.payerAccount as never).createPaymentPayload(2, offered.offer.x402 as never);
    const claim = asClaimed(await world.ledger.claim(order, offered, { authorization: JSON.stringify({ x402Version: 2, accepted: offered.offer.x402, payload }) }));
    await world.chain.node.request('anvil_setBlockGasLimit', ['0x1']);
    await expect(world.ledger.settle(claim)).rejects.toThrow();
    await world.chain.node.request('anvil_setBlockGasLimit', ['0x1c9c380']);
    expect(await world.ledger.stateOf(claim.paymentId)).toBe('indeterminate');
    expect(lineOf((await report()).split('\n'), offered)?.slice(3)).toEqual(['indeterminate', expect.any(String), expect.stringMatching(/^handed to the facilitator 1 times, last 20.+, and its outcome is unknown; the signature is good until 20/)]);
  });
});
