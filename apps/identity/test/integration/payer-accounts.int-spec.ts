import { agentRegistered, getProfile, openPayerAccount, recover, walletLinked } from '@market/contracts/identity';
import { newRequestContext } from '@market/messaging';
import { reasonOf, startIdentity, type IdentityHarness } from '../support/identity-harness.js';
import { evmTestWallet, solanaTestWallet } from '../support/test-wallets.js';

describe('accounts of payers', () => {
  let harness: IdentityHarness;
  beforeAll(async () => {
    harness = await startIdentity();
  });
  afterAll(() => harness.stop());

  const open = async (walletAddress: string): Promise<string> =>
    (await harness.ledgerBus.request(openPayerAccount, { walletAddress }, newRequestContext())).accountId;
  const eventsOf = async (accountId: string): Promise<string[]> =>
    (
      await harness.db.inspect<{ subject: string }>(
        'SELECT subject FROM identity.outbox WHERE payload::text LIKE $1 ORDER BY id',
        [`%${accountId}%`],
      )
    ).map(({ subject }) => subject);
  const accountsOf = async (address: string): Promise<number> =>
    (
      await harness.db.inspect<{ n: number }>(
        'SELECT count(*)::int AS n FROM identity.wallets w JOIN identity.accounts a ON a.id = w.account_id WHERE w.address = $1',
        [address],
      )
    )[0]!.n;

  it.each([
    ['EVM', evmTestWallet],
    ['Solana', solanaTestWallet],
  ])('are opened once for an %s wallet, however often and in parallel it pays', async (_chain, newWallet) => {
    const { address } = newWallet();
    const ids = await Promise.all(Array.from({ length: 16 }, () => open(address)));
    expect(new Set(ids).size).toBe(1);
    expect(await open(address)).toBe(ids[0]);
    expect(await accountsOf(address)).toBe(1);
    expect(
      await harness.db.inspect(
        'SELECT 1 FROM identity.accounts a WHERE NOT EXISTS (SELECT 1 FROM identity.wallets w WHERE w.account_id = a.id)',
      ),
    ).toEqual([]);
    expect(await eventsOf(ids[0]!)).toEqual([walletLinked.subject]);
  });

  it('say whether the wallet may pay', async () => {
    const { address } = evmTestWallet();
    await open(address);
    const mayPayAfter = async (change: string): Promise<boolean> => {
      await harness.db.inspect(`UPDATE identity.wallets SET ${change} WHERE address = $1`, [address]);
      return (await harness.ledgerBus.request(openPayerAccount, { walletAddress: address }, newRequestContext()))
        .mayPay;
    };
    expect([
      await mayPayAfter("status = 'active'"),
      await mayPayAfter("capabilities = ARRAY['login']"),
      await mayPayAfter("capabilities = ARRAY['payer']"),
      await mayPayAfter("is_primary = false, is_default_payer = false, is_default_payout = false, status = 'disabled'"),
    ]).toEqual([true, false, true, false]);
  });

  it('know a wallet however its address is spelled', async () => {
    const { address } = evmTestWallet();
    expect(await open(address.toLowerCase())).toBe(await open(address));
  });

  it('become an agent’s own when it registers, with its first key and what it bought', async () => {
    const wallet = evmTestWallet();
    const accountId = await open(wallet.address);
    const registration = await harness.register(wallet, { display_name: 'Ada' });
    expect(registration.user_id).toBe(accountId);
    expect(await harness.bus.request(getProfile, {}, await harness.contextWith(registration.api_key))).toMatchObject({
      id: accountId,
      display_name: 'Ada',
      wallet_address: wallet.address,
    });
    expect((await eventsOf(accountId)).filter((subject) => subject === agentRegistered.subject)).toHaveLength(1);
    expect(await open(wallet.address)).toBe(accountId);
    expect(await reasonOf(harness.register(wallet))).toBe('wallet_already_registered');
  });

  it('keep the name they have where a registration gives none', async () => {
    const wallet = evmTestWallet();
    await open(wallet.address);
    const { api_key: key } = await harness.register(wallet);
    expect((await harness.contextWith(key)).principal?.displayName).toBe(
      `Agent ${wallet.address.slice(0, 6)}…${wallet.address.slice(-4)}`,
    );
  });

  it('are registered once of many at a time', async () => {
    const wallet = evmTestWallet();
    await open(wallet.address);
    const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => harness.register(wallet)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('have no key to recover before', async () => {
    const wallet = evmTestWallet();
    await open(wallet.address);
    expect(
      await reasonOf(
        harness
          .proveWithWork(wallet, 'recovery')
          .then((proof) => harness.bus.request(recover, proof, newRequestContext())),
      ),
    ).toBe('wallet_not_registered');
  });

  it('are those of agents that have the wallet already', async () => {
    const agent = await harness.agent();
    expect(await open(agent.wallet.address)).toBe(agent.id);
  });

  it('are never those of humans, and never those of what is no wallet', async () => {
    const human = await harness.human();
    expect(await reasonOf(open(human.wallet.address))).toBe('wallet_is_a_humans');
    expect(await reasonOf(open('0x1234'))).toBe('wallet_invalid');
  });
});
