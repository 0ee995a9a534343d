import {
  apiKeyRevoked,
  challengePurpose,
  claimAgent,
  linkWallet,
  openSession,
  recover,
  register,
  updateWallet,
  type ChallengePurpose,
} from '@market/contracts/identity';
import { newRequestContext } from '@market/messaging';
import {
  reasonOf,
  startIdentity,
  type IdentityHarness,
  type Known,
  type Proof,
  type WorkProof,
} from '../support/identity-harness.js';
import { evmTestWallet, solanaTestWallet, type TestWallet } from '../support/test-wallets.js';

/** A use of a challenge: who proves what, and the request that takes the proof. */
interface Use {
  purpose: ChallengePurpose;
  wallet: TestWallet;
  submit(proof: WorkProof): Promise<unknown>;
}

const withoutWork = ({ pow_nonce: _work, ...proof }: WorkProof): Proof => proof;

describe('wallet proofs', () => {
  let harness: IdentityHarness;
  let human: Known;
  let agent: Known;
  beforeAll(async () => {
    harness = await startIdentity();
    human = await harness.human();
  });
  afterAll(() => harness.stop());
  beforeEach(async () => {
    agent = await harness.agent();
  });

  const usesOf = async (newWallet: () => TestWallet): Promise<Use[]> => {
    const { id: walletId } = (
      await harness.db.inspect<{ id: string }>('SELECT id FROM identity.wallets WHERE account_id = $1', [agent.id])
    )[0]!;
    const added = newWallet();
    return [
      {
        purpose: 'registration',
        wallet: newWallet(),
        submit: (proof) => harness.bus.request(register, proof, newRequestContext()),
      },
      {
        purpose: 'recovery',
        wallet: agent.wallet,
        submit: (proof) => harness.bus.request(recover, proof, newRequestContext()),
      },
      {
        purpose: 'session',
        wallet: newWallet(),
        submit: (proof) => harness.bus.request(openSession, withoutWork(proof), newRequestContext()),
      },
      {
        purpose: 'claim',
        wallet: agent.wallet,
        submit: ({ nonce, signature }) =>
          harness.bus.request(claimAgent, { agent_id: agent.id, nonce, signature }, human.context),
      },
      {
        purpose: 'wallet_update',
        wallet: agent.wallet,
        submit: (proof) =>
          harness.bus.request(
            updateWallet,
            { wallet_id: walletId, proof: withoutWork(proof), label: 'changed' },
            agent.context,
          ),
      },
      {
        purpose: 'wallet_link',
        wallet: agent.wallet,
        submit: async (proof) =>
          harness.bus.request(
            linkWallet,
            { existing_wallet: withoutWork(proof), new_wallet: await harness.prove(added, 'wallet_link') },
            agent.context,
          ),
      },
      {
        purpose: 'wallet_link',
        wallet: newWallet(),
        submit: async (proof) =>
          harness.bus.request(
            linkWallet,
            { existing_wallet: await harness.prove(agent.wallet, 'wallet_link'), new_wallet: withoutWork(proof) },
            agent.context,
          ),
      },
    ];
  };
  const prove = (wallet: TestWallet, purpose: ChallengePurpose) =>
    harness.proveWithWork(wallet, purpose, { agentId: agent.id, by: human });

  it('of one purpose are good for no other, in any of the ordered pairs', async () => {
    let pairs = 0;
    for (const use of await usesOf(evmTestWallet)) {
      for (const purpose of challengePurpose.options.filter((option) => option !== use.purpose)) {
        expect([use.purpose, purpose, await reasonOf(use.submit(await prove(use.wallet, purpose)))]).toEqual([
          use.purpose,
          purpose,
          'challenge_invalid',
        ]);
        pairs += 1;
      }
    }
    expect(pairs).toBe(7 * 5);
    expect(
      await harness.db.inspect(
        "SELECT 1 FROM identity.challenges WHERE consumed_at IS NOT NULL AND purpose NOT IN ('registration', 'wallet_link', 'session')",
      ),
    ).toEqual([]);
  });

  it('of one purpose do not become those of another by taking its nonce, or the other way round', async () => {
    for (const use of await usesOf(evmTestWallet)) {
      for (const purpose of challengePurpose.options.filter((option) => option !== use.purpose)) {
        const [own, foreign] = [await prove(use.wallet, use.purpose), await prove(use.wallet, purpose)];
        expect(await reasonOf(use.submit({ ...own, signature: foreign.signature }))).toBe('signature_invalid');
      }
    }
  });

  it.each([
    ['EVM', evmTestWallet],
    ['Solana', solanaTestWallet],
  ])(
    'of %s wallets are consumed once, whoever of 32 at the same time comes first, for every purpose',
    async (_chain, newWallet) => {
      agent = await harness.agent(newWallet());
      for (const use of await usesOf(newWallet)) {
        const proof = await prove(use.wallet, use.purpose);
        const outcomes = await Promise.allSettled(Array.from({ length: 32 }, () => use.submit(proof)));
        const refused = outcomes.flatMap((outcome) =>
          outcome.status === 'rejected' ? [(outcome.reason as { reason: string }).reason] : [],
        );
        expect([use.purpose, refused.length]).toEqual([use.purpose, 31]);
        expect(
          refused.filter((reason) => reason !== 'challenge_invalid' && reason !== 'agent_already_claimed'),
        ).toEqual([]);
        expect(['challenge_invalid', 'agent_already_claimed']).toContain(await reasonOf(use.submit(proof)));
      }
    },
  );

  it('ask for work where nothing else was shown before: to register and to recover, and nowhere else', async () => {
    for (const use of await usesOf(evmTestWallet)) {
      const proof = { ...(await prove(use.wallet, use.purpose)), pow_nonce: '-' };
      if (use.purpose === 'registration' || use.purpose === 'recovery')
        expect(await reasonOf(use.submit(proof))).toBe('proof_of_work_invalid');
      else await use.submit(proof);
    }
  });

  it('say which of two wallets they are about', async () => {
    const added = evmTestWallet();
    const [existing_wallet, newWallet] = [
      await harness.prove(agent.wallet, 'wallet_link'),
      await harness.prove(added, 'wallet_link'),
    ];
    const outcome: unknown = await harness.bus
      .request(
        linkWallet,
        { existing_wallet, new_wallet: { ...newWallet, signature: existing_wallet.signature } },
        agent.context,
      )
      .catch((error: unknown) => error);
    expect(outcome).toMatchObject({ reason: 'signature_invalid', details: { wallet_address: added.address } });
  });

  it("that name an account are good for no other account's wallets", async () => {
    const other = await harness.agent();
    const named = {
      existing_wallet: await harness.prove(agent.wallet, 'wallet_link', { by: agent }),
      new_wallet: await harness.prove(evmTestWallet(), 'wallet_link', { agentId: other.id }),
    };
    expect(await reasonOf(harness.bus.request(linkWallet, named, agent.context))).toBe('challenge_invalid');
  });

  it('do not signal anything when they fail', async () => {
    const received: unknown[] = [];
    await harness.link.onSignal(apiKeyRevoked.subject, (payload) => received.push(payload));
    const proof = await harness.proveWithWork(agent.wallet, 'recovery');
    expect(
      await reasonOf(
        harness.bus.request(recover, { ...proof, signature: '0x', revoke_existing: true }, newRequestContext()),
      ),
    ).toBe('signature_invalid');
    expect(received).toEqual([]);
    expect((await harness.contextWith(agent.credential)).principal?.accountId).toBe(agent.id);
  });
});
