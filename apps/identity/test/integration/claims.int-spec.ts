import type { PayloadOf, Scope } from '@market/contracts';
import {
  agentClaimed,
  agreeToClaim,
  claimAgent,
  closeSession,
  createClaimCode,
  createApiKey,
  getOwnedAgent,
  getProfile,
  linkWallet,
  updateWallet,
} from '@market/contracts/identity';
import { newId } from '@market/kernel';
import type { RequestContext } from '@market/messaging';
import { eventually } from '@market/testing';
import { reasonOf, startIdentity, type IdentityHarness, type Known } from '../support/identity-harness.js';
import { evmTestWallet, solanaTestWallet, type TestWallet } from '../support/test-wallets.js';

describe('claims', () => {
  let harness: IdentityHarness;
  let human: Known;
  let agent: Known;
  const received: PayloadOf<typeof agentClaimed>[] = [];
  beforeAll(async () => {
    harness = await startIdentity();
    human = await harness.human();
    await harness.link.consumeEvents(
      agentClaimed.subject,
      async (events) => void received.push(...events.map((event) => event.payload as PayloadOf<typeof agentClaimed>)),
    );
  });
  afterAll(() => harness.stop());
  beforeEach(async () => {
    agent = await harness.agent();
  });

  const proofFor = async (claimer: Known, wallet: TestWallet = agent.wallet, agentId = agent.id) => {
    const { nonce, signature } = await harness.prove(wallet, 'claim', { agentId, by: claimer });
    return { nonce, signature };
  };
  const claim = (claimer: Known, proof: { nonce: string; signature: string }, agentId = agent.id) =>
    harness.bus.request(claimAgent, { agent_id: agentId, ...proof }, claimer.context);
  const claimed = () =>
    harness.db.inspect<{ human_id: string }>('SELECT human_id FROM identity.claims WHERE agent_id = $1', [agent.id]);

  it.each([
    ['EVM', evmTestWallet],
    ['Solana', solanaTestWallet],
  ])("are made with the agent's %s wallet, told of once, and verify nobody", async (_chain, newWallet) => {
    agent = await harness.agent(newWallet());
    expect(await claim(human, await proofFor(human))).toEqual({
      agent_id: agent.id,
      claimed_by: human.id,
      status: 'claimed',
    });
    await eventually(() =>
      expect(received.filter(({ agentId }) => agentId === agent.id)).toEqual([
        { agentId: agent.id, humanId: human.id, claimedAt: expect.stringMatching(/Z$/) as string },
      ]),
    );
    expect((await harness.bus.request(getProfile, {}, agent.context)).is_verified).toBe(false);
  });

  it('stand once made: the second is refused, whoever makes it', async () => {
    const other = await harness.human();
    const [first, second, third] = [await proofFor(human), await proofFor(other), await proofFor(human)];
    await claim(human, first);
    for (const [claimer, proof] of [
      [other, second],
      [human, third],
      [human, first],
    ] as const)
      expect(await reasonOf(claim(claimer, proof))).toBe('agent_already_claimed');
    expect(await claimed()).toEqual([{ human_id: human.id }]);
  });

  it('go to one of 32 humans who claim at once', async () => {
    const humans = await Promise.all(Array.from({ length: 32 }, () => harness.human()));
    const proofs = await Promise.all(humans.map((each) => proofFor(each)));
    const outcomes = await Promise.allSettled(humans.map((each, index) => claim(each, proofs[index]!)));
    const won = outcomes.flatMap((outcome, index) => (outcome.status === 'fulfilled' ? [humans[index]!.id] : []));
    expect(won).toHaveLength(1);
    expect(await claimed()).toEqual([{ human_id: won[0] }]);
    expect(
      new Set(
        outcomes.flatMap((outcome) =>
          outcome.status === 'rejected' ? [(outcome.reason as { reason: string }).reason] : [],
        ),
      ),
    ).toEqual(new Set(['agent_already_claimed']));
  });

  describe('that an agent agrees to with a code', () => {
    const codeOf = (claimer: Known, agentId = agent.id) =>
      harness.bus.request(createClaimCode, { agent_id: agentId }, claimer.context);
    const proofWith = async (code: string, by: Known = agent, wallet: TestWallet = by.wallet) => {
      const { nonce, signature } = await harness.prove(wallet, 'claim', { claimCode: code, by });
      return { nonce, signature };
    };
    const agree = (proof: { nonce: string; signature: string }, by: Known = agent) =>
      harness.bus.request(agreeToClaim, proof, by.context);

    it('are of the human who made it, told of once, whatever way it is written', async () => {
      const { code, ...rest } = await codeOf(human);
      expect(rest).toEqual({ expires_in: 300, agent: { id: agent.id, display_name: expect.any(String) as string } });
      const proof = await proofWith(code.toLowerCase().replace('-', ' '));
      expect(await agree(proof)).toEqual({ agent_id: agent.id, claimed_by: human.id, status: 'claimed' });
      await eventually(() => expect(received.filter(({ agentId }) => agentId === agent.id)).toHaveLength(1));
      expect(await reasonOf(agree(proof))).toBe('agent_already_claimed');
      expect(await reasonOf(codeOf(human))).toBe('agent_already_claimed');
      expect(await reasonOf(codeOf(human, newId()))).toBe('agent_not_found');
    });

    it('need a code that was made for this agent, is the latest of its human, unused and not expired', async () => {
      const { code: earlier } = await codeOf(human);
      const { code } = await codeOf(human);
      const stranger = await harness.agent();
      expect(await reasonOf(proofWith(earlier))).toBe('claim_code_invalid');
      // Whoever else learns the code gets nothing for it, and does not use it up.
      expect(await reasonOf(proofWith(code, stranger))).toBe('claim_code_invalid');
      expect(await reasonOf(proofWith(code, human))).toBe('claim_code_needs_key');
      expect(await reasonOf(harness.challenge(agent.wallet, 'claim', { claimCode: code }))).toBe(
        'claim_code_needs_key',
      );
      const raced = await Promise.allSettled([proofWith(code), proofWith(code), proofWith(code)]);
      expect(raced.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
      const { code: late } = await codeOf(human);
      await harness.db.inspect(`UPDATE identity.claim_codes SET expires_at = now() WHERE agent_id = $1`, [agent.id]);
      expect(await reasonOf(proofWith(late))).toBe('claim_code_invalid');
      expect(await claimed()).toEqual([]);
    });

    it("need the signature of the agent's own wallet, sent with the agent's own key", async () => {
      const stranger = await harness.agent();
      const { code } = await codeOf(human);
      const proof = await proofWith(code);
      expect(await reasonOf(agree(proof, stranger))).toBe('claim_of_another_agent');
      expect(await reasonOf(agree({ ...proof, signature: await stranger.wallet.sign('yes') }))).toBe(
        'signature_invalid',
      );
      const foreign = await proofWith((await codeOf(human)).code, agent, stranger.wallet);
      expect(await reasonOf(agree(foreign))).toBe('wallet_not_of_agent');
      expect(await claimed()).toEqual([]);
    });
  });

  it('are for the agent and the human that the wallet agreed to', async () => {
    const [other, otherAgent] = [await harness.human(), await harness.agent()];
    expect(await reasonOf(claim(other, await proofFor(human)))).toBe('claim_of_another_human');
    expect(await reasonOf(claim(human, await proofFor(human, otherAgent.wallet, otherAgent.id)))).toBe(
      'claim_of_another_agent',
    );
    expect(await reasonOf(claim(human, await proofFor(human, agent.wallet, otherAgent.id)))).toBe(
      'claim_of_another_agent',
    );
    expect(await claimed()).toEqual([]);
  });

  it('need a wallet of the agent that may sign in', async () => {
    const linked = evmTestWallet();
    const { id: walletId } = await harness.bus.request(
      linkWallet,
      {
        existing_wallet: await harness.prove(agent.wallet, 'wallet_link'),
        new_wallet: await harness.prove(linked, 'wallet_link'),
      },
      agent.context,
    );
    const set = async (changes: object) =>
      harness.bus.request(
        updateWallet,
        { wallet_id: walletId, proof: await harness.prove(agent.wallet, 'wallet_update'), ...changes },
        agent.context,
      );
    for (const wallet of [evmTestWallet(), human.wallet, (await harness.agent()).wallet])
      expect(await reasonOf(claim(human, await proofFor(human, wallet)))).toBe('wallet_not_of_agent');
    await set({ capabilities: ['recovery', 'payer', 'payout'] });
    expect(await reasonOf(claim(human, await proofFor(human, linked)))).toBe('wallet_not_of_agent');
    await set({ capabilities: ['login'], status: 'disabled' });
    expect(await reasonOf(claim(human, await proofFor(human, linked)))).toBe('wallet_not_of_agent');
    await set({ status: 'active' });
    expect(await claim(human, await proofFor(human, linked))).toMatchObject({ status: 'claimed' });
  });

  it("are forbidden where the signature is not the wallet's, and use up the challenge", async () => {
    const proof = await proofFor(human);
    const error: unknown = await claim(human, { ...proof, signature: await evmTestWallet().sign('anything') }).catch(
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ reason: 'signature_invalid', declaration: { kind: 'forbidden' } });
    expect(await reasonOf(claim(human, proof))).toBe('challenge_invalid');
    expect(await reasonOf(claim(human, { ...proof, nonce: 'never-issued' }))).toBe('challenge_invalid');
  });

  it('are of agents that exist', async () => {
    for (const id of [newId(), human.id])
      expect(await reasonOf(claim(human, await proofFor(human), id))).toBe('agent_not_found');
  });

  describe('make an owner', () => {
    /** The context of a human that acts for the agent, as the edge creates it. */
    const asOwner = ({ context }: Known): RequestContext => ({
      ...context,
      principal: {
        ...context.principal!,
        accountId: agent.id,
        accountType: 'agent',
        scopes: ['read', 'write'],
        ownerId: context.principal!.accountId,
      },
    });
    const makeKey = (owner: Known, scopes: Scope[] = ['read', 'write', 'subscribe']) =>
      harness.bus.request(createApiKey, { name: 'by the owner', scopes }, asOwner(owner));

    it('that is known as such, and nobody else', async () => {
      const owned = (by: Known, agentId = agent.id) => harness.bus.request(getOwnedAgent, { agentId }, by.context);
      expect(await reasonOf(owned(human))).toBe('agent_not_found');
      await claim(human, await proofFor(human));
      expect(await owned(human)).toEqual({
        accountId: agent.id,
        accountType: 'agent',
        role: 'both',
        displayName: expect.any(String) as string,
        isSuspended: false,
      });
      const other = await harness.human();
      for (const [by, id] of [
        [other, agent.id],
        [agent, agent.id],
        [human, newId()],
        [human, human.id],
      ] as const)
        expect(await reasonOf(owned(by, id))).toBe('agent_not_found');
    });

    it('that sees its agents, and the agent no owner', async () => {
      const other = await harness.human();
      await claim(other, await proofFor(other));
      const { agents } = await harness.bus.request(getProfile, {}, other.context);
      expect(agents).toEqual([
        {
          agent_id: agent.id,
          display_name: expect.any(String) as string,
          claimed_at: expect.stringMatching(/Z$/) as string,
        },
      ]);
      expect(await harness.bus.request(getProfile, {}, agent.context)).not.toHaveProperty('agents');
    });

    it('that makes keys of any scope for as long as its session lasts', async () => {
      const other = await harness.human();
      await claim(other, await proofFor(other));
      const made = await makeKey(other);
      expect(made).toMatchObject({ scopes: ['read', 'write', 'subscribe'], expires_at: null });
      expect((await harness.contextWith(made.key)).principal).toMatchObject({ accountId: agent.id });
      expect(await reasonOf(makeKey(human))).toBe('key_invalid');
      await harness.bus.request(closeSession, {}, other.context);
      expect(await reasonOf(makeKey(other))).toBe('key_invalid');
    });
  });
});
