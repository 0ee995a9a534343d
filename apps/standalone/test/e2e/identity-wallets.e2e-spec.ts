import {
  evmWallet,
  Marketplace,
  solanaWallet,
  type HttpAnswer,
  type LinkedWallet,
  type RecoveredAccount,
  type UpdateWallet,
  type Wallet,
} from '@market/sdk';
import { eventually } from '@market/testing';
import { bodyOf, reasonOf } from '../support/buyer.js';
import { proofOf, workProofOf } from '../support/proofs.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';

const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

inEachMode('an account', (harness) => {
  const anyone = stranger(harness);
  let agent: Agent;
  beforeEach(async () => {
    agent = await registerAgent(harness);
  });
  const withKey = (apiKey: string): Marketplace => new Marketplace({ baseUrl: harness.baseUrl, apiKey });

  describe('that lost its key', () => {
    const recover = async (wallet: Wallet, more: object = {}): Promise<HttpAnswer> =>
      anyone.send('POST', '/auth/recover', { body: { ...(await workProofOf(anyone, wallet, 'recovery')), ...more } });

    it.each([
      ['EVM', evmWallet],
      ['Solana', solanaWallet],
    ])(
      'gets a fresh one with its %s wallet, and keeps those of before [spec: POST /auth/recover, authentication-rule.4]',
      async (_chain, newWallet: () => Wallet) => {
        const { id, wallet, registration } = await registerAgent(harness, { wallet: newWallet() });
        const answer = await recover(wallet);
        expect(answer.status).toBe(200);
        const recovery = bodyOf(answer).data as RecoveredAccount;
        expect(recovery).toEqual({
          user_id: id,
          wallet_address: wallet.address,
          account_type: 'agent',
          api_key: expect.stringMatching(/^am_k_[0-9A-Za-z]{49}$/),
          authorization_header: `Bearer ${recovery.api_key}`,
          revoked_keys: 0,
        });
        for (const key of [recovery.api_key, registration.api_key]) expect((await withKey(key).me()).id).toBe(id);
        expect((await withKey(recovery.api_key).apiKeys.list()).map(({ scopes }) => scopes)).toEqual([
          ['read', 'write', 'subscribe'],
          ['read', 'write', 'subscribe'],
        ]);
      },
    );

    it('ends all others when it says so, at once and counted', async () => {
      const more = await agent.market.apiKeys.create({ name: 'stolen', scopes: ['read', 'write'] });
      expect((await withKey(more.key).me()).id).toBe(agent.id);
      const { marketplace, recovery } = await anyone.recover(agent.wallet, { revokeExisting: true });
      expect(recovery.revoked_keys).toBe(2);
      for (const key of [more.key, agent.registration.api_key])
        await eventually(async () => expect((await withKey(key).send('GET', '/me')).status).toBe(401), {
          withinMs: 5_000,
        });
      expect((await marketplace.me()).id).toBe(agent.id);
      expect((await marketplace.apiKeys.list()).filter(({ is_active }) => is_active)).toHaveLength(1);
    });

    it('is told to register where the wallet is unknown', async () => {
      const answer = await recover(evmWallet());
      expect([
        answer.status,
        bodyOf(answer).error!.code,
        reasonOf(answer),
        bodyOf(answer).error!.recovery!.next_action,
      ]).toEqual([404, 'NOT_FOUND', 'wallet_not_registered', 'register']);
    });

    it('is not let in by a wallet that may not recover it', async () => {
      const linked = solanaWallet();
      const { id } = await agent.market.wallets.link(agent.wallet, linked);
      for (const change of [
        {},
        { capabilities: ['login', 'payer', 'payout'] },
        { capabilities: ['recovery'], status: 'disabled' },
      ] satisfies UpdateWallet[]) {
        await agent.market.wallets.update(id, agent.wallet, change);
        const answer = await recover(linked, { revoke_existing: true });
        expect([answer.status, reasonOf(answer)]).toEqual([403, 'wallet_cannot_recover']);
      }
      await agent.market.wallets.update(id, agent.wallet, { status: 'active' });
      expect((await recover(linked)).status).toBe(200);
      expect((await agent.market.me()).id).toBe(agent.id);
    });

    it('is not let in with a proof that is wrong in any part, nor twice with one that is right', async () => {
      const proof = await workProofOf(anyone, agent.wallet, 'recovery');
      const registration = await workProofOf(anyone, agent.wallet, 'registration');
      const wrong: [object, string | undefined][] = [
        [{ ...proof, pow_nonce: undefined }, 'request_invalid'],
        [{ ...proof, revoke_existing: 'yes' }, 'request_invalid'],
        [{ ...proof, pow_nonce: '-' }, 'proof_of_work_invalid'],
        [registration, 'challenge_invalid'],
        [{ ...proof, wallet_address: evmWallet().address }, 'challenge_invalid'],
      ];
      for (const [body, reason] of wrong) {
        const answer = await anyone.send('POST', '/auth/recover', { body });
        expect([answer.status, reasonOf(answer)]).toEqual([400, reason]);
      }
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => anyone.send('POST', '/auth/recover', { body: proof })),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(400)]);
    });
  });

  describe('with wallets', () => {
    const list = () => agent.market.wallets.list();
    const refusalOf = async (attempt: Promise<unknown>): Promise<[number, string | undefined]> => {
      const error = (await attempt.then(
        () => ({ status: 0 }),
        (reason: unknown) => reason,
      )) as { status: number; details?: { reason?: string } };
      return [error.status, error.details?.reason];
    };

    it('lists them, the one of its registration first of all, as its profile does [spec: GET /me/wallets]', async () => {
      const answer = await agent.market.send('GET', '/me/wallets');
      expect(answer.status).toBe(200);
      const wallets = bodyOf(answer).data as LinkedWallet[];
      expect(wallets).toEqual([
        {
          id: expect.any(String),
          address: agent.wallet.address,
          chain_type: 'evm',
          label: null,
          is_primary: true,
          is_default_payer: true,
          is_default_payout: true,
          capabilities: ['login', 'recovery', 'payer', 'payout'],
          status: 'active',
          verified_at: expect.stringMatching(TIMESTAMP),
          created_at: expect.stringMatching(TIMESTAMP),
        },
      ]);
      const { verified_at: _verified, ...summary } = wallets[0]!;
      expect((await agent.market.me()).wallets).toEqual([summary]);
      expect((await anyone.send('GET', '/me/wallets')).status).toBe(401);
    });

    it('links another of either chain, when both prove themselves [spec: POST /me/wallets]', async () => {
      for (const added of [solanaWallet(), evmWallet()]) {
        const body = {
          existing_wallet: await proofOf(anyone, agent.wallet, 'wallet_link'),
          new_wallet: await proofOf(anyone, added, 'wallet_link'),
          label: 'cold 🧊',
        };
        const answer = await agent.market.send('POST', '/me/wallets', { body });
        expect(answer.status).toBe(201);
        expect(bodyOf(answer).data).toEqual({
          id: expect.any(String),
          address: added.address,
          chain_type: added.chainType,
          label: 'cold 🧊',
          is_primary: false,
          is_default_payer: false,
          is_default_payout: false,
          capabilities: ['login', 'payer', 'payout'],
          status: 'active',
          verified_at: expect.stringMatching(TIMESTAMP),
          created_at: expect.stringMatching(TIMESTAMP),
        });
      }
      expect(await list()).toHaveLength(3);
      const stranded = await proofOf(anyone, evmWallet(), 'wallet_link');
      for (const body of [
        {},
        { new_wallet: stranded },
        { existing_wallet: stranded },
        { existing_wallet: stranded, new_wallet: 'me' },
        { existing_wallet: stranded, new_wallet: { ...stranded, nonce: 7 } },
      ]) {
        const answer = await agent.market.send('POST', '/me/wallets', { body });
        expect([answer.status, reasonOf(answer)]).toEqual([400, 'request_invalid']);
      }
    });

    it('does not link one that is taken, nor by a wallet that is not its own', async () => {
      const other = await registerAgent(harness);
      expect(await refusalOf(agent.market.wallets.link(agent.wallet, other.wallet))).toEqual([
        409,
        'wallet_already_linked',
      ]);
      expect(await refusalOf(agent.market.wallets.link(agent.wallet, agent.wallet))).toEqual([
        409,
        'wallet_already_linked',
      ]);
      expect(await refusalOf(agent.market.wallets.link(other.wallet, evmWallet()))).toEqual([
        403,
        'proof_not_sufficient',
      ]);
      const wanted = evmWallet();
      const agents = await Promise.all(Array.from({ length: 6 }, () => registerAgent(harness)));
      const outcomes = await Promise.all(
        agents.map(({ market, wallet }) => refusalOf(market.wallets.link(wallet, wanted))),
      );
      expect(outcomes.filter(([status]) => status === 0)).toHaveLength(1);
      expect(outcomes.filter(([, reason]) => reason === 'wallet_already_linked')).toHaveLength(5);
      expect(await refusalOf(anyone.register(wanted))).toEqual([409, 'wallet_already_registered']);
    });

    it("shows one of its own, and nobody else's [spec: GET /me/wallets/{id}]", async () => {
      const [own] = await list();
      expect(await agent.market.wallets.get(own!)).toEqual(own);
      const other = await registerAgent(harness);
      for (const id of [own!.id, '018f6d1e-0000-7000-8000-000000000001', 'not-a-uuid'])
        expect(await refusalOf(other.market.wallets.get(id))).toEqual([404, 'wallet_not_found']);
      expect(await refusalOf(other.market.wallets.update(own!, other.wallet, { label: 'mine' }))).toEqual([
        404,
        'wallet_not_found',
      ]);
      expect((await anyone.send('GET', `/me/wallets/${own!.id}`)).status).toBe(401);
    });

    it('changes defaults, capabilities and status, and keeps a wallet that recovers it [spec: PATCH /me/wallets/{id}]', async () => {
      const [first] = await list();
      const second = await agent.market.wallets.link(agent.wallet, solanaWallet());
      const body = {
        proof: await proofOf(anyone, agent.wallet, 'wallet_update'),
        label: 'savings',
        is_primary: true,
        is_default_payer: true,
        is_default_payout: true,
        capabilities: ['payer', 'login', 'payout'],
      };
      const answer = await agent.market.send('PATCH', `/me/wallets/${second.id}`, { body });
      expect([answer.status, bodyOf(answer).data]).toEqual([
        200,
        {
          ...second,
          label: 'savings',
          is_primary: true,
          is_default_payer: true,
          is_default_payout: true,
          capabilities: ['login', 'payer', 'payout'],
        },
      ]);
      expect(await list()).toEqual([
        bodyOf(answer).data,
        { ...first, is_primary: false, is_default_payer: false, is_default_payout: false },
      ]);
      expect((await agent.market.me()).wallet_address).toBe(second.address);

      for (const change of [{ status: 'disabled' }, { capabilities: ['login', 'payer'] }] satisfies UpdateWallet[]) {
        const refused = await agent.market.send('PATCH', `/me/wallets/${first!.id}`, {
          body: { proof: await proofOf(anyone, agent.wallet, 'wallet_update'), ...change },
        });
        expect([refused.status, bodyOf(refused).error!.code, reasonOf(refused)]).toEqual([
          409,
          'CONFLICT',
          'would_remove_last_recovery_wallet',
        ]);
      }
      const disabled = await agent.market.wallets.update(second, agent.wallet, { status: 'disabled' });
      expect(disabled).toMatchObject({
        status: 'disabled',
        is_primary: false,
        is_default_payer: false,
        is_default_payout: false,
      });
      expect(await agent.market.wallets.get(first!)).toEqual(first);
    });

    it('refuses what no wallet can be, and what no proof comes with', async () => {
      const [first] = await list();
      const second = await agent.market.wallets.link(agent.wallet, evmWallet(), { capabilities: ['payout'] });
      const update = (changes: object) => agent.market.wallets.update(second, agent.wallet, changes);
      expect(await refusalOf(update({ is_default_payer: true }))).toEqual([409, 'wallet_not_eligible']);
      expect(await refusalOf(agent.market.wallets.update(first!, agent.wallet, { is_primary: false }))).toEqual([
        409,
        'primary_wallet_required',
      ]);
      for (const changes of [
        { capabilities: [] },
        { capabilities: ['fly'] },
        { status: 'lost' },
        { is_primary: 'yes' },
        { label: '' },
        { label: 'x'.repeat(101) },
        { address: '0x1' },
        { verified_at: null },
      ])
        expect(await refusalOf(update(changes))).toEqual([400, 'request_invalid']);
      expect((await agent.market.send('PATCH', `/me/wallets/${second.id}`, { body: { label: 'x' } })).status).toBe(400);
      expect(await agent.market.wallets.get(second)).toEqual(second);
    });

    it('keeps one that recovers it, however many changes come at once', async () => {
      const others = [evmWallet(), solanaWallet()];
      const linked: LinkedWallet[] = [];
      for (const wallet of others)
        linked.push(await agent.market.wallets.link(agent.wallet, wallet, { capabilities: ['recovery', 'payer'] }));
      const targets = [(await list())[0]!, ...linked];
      const outcomes = await Promise.all(
        Array.from({ length: 24 }, (_, index) =>
          refusalOf(
            agent.market.wallets.update(
              targets[index % 3]!,
              agent.wallet,
              index % 2 ? { status: 'disabled' } : { capabilities: ['payer'] },
            ),
          ),
        ),
      );
      for (const [status, reason] of outcomes)
        expect([
          [0, undefined],
          [409, 'would_remove_last_recovery_wallet'],
          [403, 'proof_not_sufficient'],
        ]).toContainEqual([status, reason]);
      const recovering = (await list()).filter(
        ({ status, capabilities }) => status === 'active' && capabilities.includes('recovery'),
      );
      expect(recovering.length).toBeGreaterThanOrEqual(1);
      const wallet = [agent.wallet, ...others].find(({ address }) => address === recovering[0]!.address)!;
      expect((await anyone.recover(wallet)).recovery.user_id).toBe(agent.id);
    });
  });

  it('is not locked out by a stranger who asks for challenges in its name', async () => {
    const mine = await workProofOf(anyone, agent.wallet, 'recovery');
    await Promise.all(
      Array.from({ length: 40 }, () => anyone.challenge({ wallet_address: agent.wallet.address, purpose: 'session' })),
    );
    expect((await anyone.send('POST', '/auth/recover', { body: mine })).status).toBe(200);
    for (let count = 0; count < 4; count += 1)
      await Promise.all(Array.from({ length: 40 }, () => anyone.challenge({ wallet_address: agent.wallet.address })));
    expect((await anyone.recover(agent.wallet)).recovery.user_id).toBe(agent.id);
  });
});
