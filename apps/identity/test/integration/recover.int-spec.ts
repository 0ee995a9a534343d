import {
  apiKeyRevoked,
  authenticate,
  createApiKey,
  hashApiKey,
  linkWallet,
  listApiKeys,
  recover,
  updateWallet,
  walletCapability,
  walletStatus,
} from '@market/contracts/identity';
import { newRequestContext, type RequestContext } from '@market/messaging';
import { eventually } from '@market/testing';
import { reasonOf, startIdentity, type IdentityHarness, type Known } from '../support/identity-harness.js';
import { evmTestWallet, solanaTestWallet, type TestWallet } from '../support/test-wallets.js';

describe('recover', () => {
  let harness: IdentityHarness;
  let agent: Known;
  const revoked: string[] = [];
  beforeAll(async () => {
    harness = await startIdentity();
    await harness.link.onSignal(apiKeyRevoked.subject, (payload) =>
      revoked.push((payload as { keyHash: string }).keyHash),
    );
  });
  afterAll(() => harness.stop());
  beforeEach(async () => {
    agent = await harness.agent();
  });

  const recoverBy = async (wallet: TestWallet, revokeExisting?: boolean) =>
    harness.bus.request(
      recover,
      { ...(await harness.proveWithWork(wallet, 'recovery')), revoke_existing: revokeExisting },
      newRequestContext(),
    );
  const works = (key: string): Promise<boolean> =>
    harness.bus.request(authenticate, { keyHash: hashApiKey(key)! }, newRequestContext()).then(
      () => true,
      () => false,
    );
  const newKey = async (context: RequestContext, name = 'more'): Promise<string> =>
    (await harness.bus.request(createApiKey, { name, scopes: ['read'] }, context)).key;

  it.each([
    ['EVM', evmTestWallet],
    ['Solana', solanaTestWallet],
  ])('gives an %s wallet a fresh key for everything, and leaves the others alone', async (_chain, newWallet) => {
    agent = await harness.agent(newWallet());
    const more = await newKey(agent.context);
    const recovery = await recoverBy(agent.wallet);
    expect(recovery).toEqual({
      user_id: agent.id,
      wallet_address: agent.wallet.address,
      account_type: 'agent',
      api_key: expect.stringMatching(/^am_k_[0-9A-Za-z]{49}$/) as string,
      authorization_header: `Bearer ${recovery.api_key}`,
      revoked_keys: 0,
    });
    expect((await harness.contextWith(recovery.api_key)).principal).toMatchObject({
      accountId: agent.id,
      scopes: ['read', 'write', 'subscribe'],
    });
    expect(await Promise.all([agent.credential, more].map(works))).toEqual([true, true]);
  });

  it('ends every other key when it is told to, counts those that worked, and tells at once', async () => {
    const [live, dead, expired] = [
      await newKey(agent.context),
      await newKey(agent.context),
      await newKey(agent.context),
    ];
    await harness.db.inspect('UPDATE identity.api_keys SET revoked_at = now() WHERE key_hash = $1', [
      Buffer.from(hashApiKey(dead)!, 'hex'),
    ]);
    await harness.db.inspect(
      "UPDATE identity.api_keys SET expires_at = now() - interval '1 second' WHERE key_hash = $1",
      [Buffer.from(hashApiKey(expired)!, 'hex')],
    );
    const bystander = await harness.agent();
    const { api_key: fresh, revoked_keys: count } = await recoverBy(agent.wallet, true);
    expect(count).toBe(2);
    expect(await Promise.all([agent.credential, live, dead, expired, fresh, bystander.credential].map(works))).toEqual([
      false,
      false,
      false,
      false,
      true,
      true,
    ]);
    await eventually(() => expect(revoked).toEqual(expect.arrayContaining([agent.credential, live].map(hashApiKey))));
    expect(revoked).not.toContain(hashApiKey(fresh));
    expect(
      (await harness.bus.request(listApiKeys, {}, await harness.contextWith(fresh))).keys.filter(
        (key) => key.is_active,
      ),
    ).toHaveLength(1);
  });

  it('leaves no key behind that an old one was making in the same moment, or that such a key makes in turn', async () => {
    for (let round = 0; round < 10; round += 1) {
      const victim = await harness.agent();
      const createdKeys: string[] = [];
      const createKeys = async (context: RequestContext): Promise<void> => {
        for (;;) {
          const { key } = await harness.bus.request(createApiKey, { name: 'heir', scopes: ['read', 'write'] }, context);
          createdKeys.push(key);
          context = await harness.contextWith(key);
        }
      };
      const breeding = Array.from({ length: 6 }, () =>
        createKeys(victim.context).catch((error: unknown) => (error as { reason: string }).reason),
      );
      await eventually(() => expect(createdKeys.length).toBeGreaterThan(6));
      const { api_key: fresh } = await recoverBy(victim.wallet, true);
      expect(new Set(await Promise.all(breeding))).toEqual(new Set(['key_invalid']));
      const left = await harness.db.inspect<{ name: string }>(
        'SELECT name FROM identity.api_keys WHERE account_id = $1 AND revoked_at IS NULL',
        [victim.id],
      );
      expect(left).toEqual([{ name: 'Recovery key' }]);
      expect(await works(fresh)).toBe(true);
    }
  });

  it('is for active wallets with the capability recovery, and for no others', async () => {
    const linked = evmTestWallet();
    const { id: walletId } = await harness.bus.request(
      linkWallet,
      {
        existing_wallet: await harness.prove(agent.wallet, 'wallet_link'),
        new_wallet: await harness.prove(linked, 'wallet_link'),
      },
      agent.context,
    );
    expect(await reasonOf(recoverBy(linked))).toBe('wallet_cannot_recover');
    for (const status of walletStatus.options) {
      for (const capability of walletCapability.options) {
        await harness.bus.request(
          updateWallet,
          {
            wallet_id: walletId,
            proof: await harness.prove(agent.wallet, 'wallet_update'),
            status,
            capabilities: [capability],
          },
          agent.context,
        );
        if (status === 'active' && capability === 'recovery') expect((await recoverBy(linked)).user_id).toBe(agent.id);
        else
          expect([status, capability, await reasonOf(recoverBy(linked, true))]).toEqual([
            status,
            capability,
            'wallet_cannot_recover',
          ]);
      }
    }
    expect(await works(agent.credential)).toBe(true);
  });

  it('sends a wallet that nobody registered to register, and a human to the door for humans', async () => {
    expect(await reasonOf(recoverBy(evmTestWallet()))).toBe('wallet_not_registered');
    expect(recover.refusals.wallet_not_registered).toMatchObject({
      kind: 'not-found',
      recovery: { nextAction: 'register' },
    });
    expect(await reasonOf(recoverBy((await harness.human()).wallet))).toBe('wallet_is_a_humans');
  });
});
