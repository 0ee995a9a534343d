import { challengePurpose } from '@market/contracts/identity';
import { Jobs } from '@market/runtime';
import { parseSiweMessage } from 'viem/siwe';
import { ChallengesRepository } from '../../src/challenges/challenges.repository.js';
import { ClaimCodesRepository } from '../../src/challenges/claim-codes.repository.js';
import { SweepChallenges } from '../../src/challenges/sweep-challenges.job.js';
import { reasonOf, solve, startIdentity, type IdentityHarness } from '../support/identity-harness.js';
import { evmTestWallet, solanaTestWallet } from '../support/test-wallets.js';

describe('createChallenge', () => {
  let harness: IdentityHarness;
  beforeAll(async () => {
    harness = await startIdentity({
      IDENTITY_CHALLENGE_TTL_SECONDS: '120',
      REGISTRATION_POW_DIFFICULTY: '2',
    });
  });
  afterAll(() => harness.stop());
  const sweep = (): Promise<void> => {
    const { database } = harness.db;
    const [challenges, codes] = [new ChallengesRepository(database), new ClaimCodesRepository(database)];
    return new SweepChallenges(challenges, codes, new Jobs(), { maxStoredChallenges: 1_000 }).run();
  };

  it('asks for a text that names wallet, purpose, chain, agent, human, nonce and times, and for work', async () => {
    const { address } = evmTestWallet();
    const agentId = '018f6d1e-0000-7000-8000-000000000001';
    const human = await harness.human();
    const challenge = await harness.challenge({ address: address.toLowerCase() }, 'claim', {
      chainId: 8453,
      agentId,
      by: human,
    });
    expect(challenge).toEqual({
      message: expect.any(String) as string,
      nonce: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      expires_in: 120,
      pow: { challenge: expect.stringMatching(/^[0-9a-f]{64}$/) as string, difficulty: 2, algorithm: 'sha256' },
    });
    const fields = parseSiweMessage(challenge.message);
    expect(fields).toMatchObject({
      address,
      chainId: 8453,
      domain: 'market.example',
      uri: 'https://market.example',
      version: '1',
      nonce: challenge.nonce,
      resources: [`urn:uuid:${agentId}`, `urn:uuid:${human.id}`],
    });
    expect(fields.statement).toContain('claim');
    expect(fields.expirationTime!.getTime() - fields.issuedAt!.getTime()).toBe(120_000);
  });

  it.each(challengePurpose.options)('is given for %s, to both kinds of wallets', async (purpose) => {
    const by = await harness.human();
    for (const wallet of [evmTestWallet(), solanaTestWallet()]) {
      const { message } = await harness.challenge(wallet, purpose, { agentId: by.id, by });
      expect(message).toContain(wallet.address);
      expect(message).toContain(`Purpose: ${purpose}.`);
    }
  });

  it('names the account that asks for one to manage wallets, and no other account unasked', async () => {
    const agent = await harness.agent();
    const [link, update, other, stranger] = await Promise.all([
      harness.challenge(agent.wallet, 'wallet_link', { by: agent }),
      harness.challenge(agent.wallet, 'wallet_update', { by: agent }),
      harness.challenge(agent.wallet, 'recovery', { by: agent }),
      harness.challenge(agent.wallet, 'wallet_link'),
    ]);
    for (const { message } of [link, update]) expect(message).toContain(`- urn:uuid:${agent.id}`);
    for (const { message } of [other, stranger]) expect(message).not.toContain('urn:uuid');
  });

  it('is not given for a claim without the agent, nor without the session of the human', async () => {
    const [agent, human] = [await harness.agent(), await harness.human()];
    expect(await reasonOf(harness.challenge(agent.wallet, 'claim', { by: human }))).toBe('claim_needs_agent');
    expect(await reasonOf(harness.challenge(agent.wallet, 'claim', { agentId: agent.id }))).toBe('claim_needs_session');
    expect(await reasonOf(harness.challenge(agent.wallet, 'claim', { agentId: agent.id, by: agent }))).toBe(
      'claim_needs_session',
    );
  });

  it('is always given, and stays answerable however many a stranger requests for the same wallet', async () => {
    const wallet = evmTestWallet();
    const { nonce, message, pow } = await harness.challenge(wallet);
    await Promise.all(Array.from({ length: 200 }, () => harness.challenge({ address: wallet.address })));
    await harness.register(wallet, { nonce, pow_nonce: solve(pow), signature: await wallet.sign(message) });
  });

  it('does not fill the table', async () => {
    const total = 1_200;
    await harness.db.inspect(
      `INSERT INTO identity.challenges (nonce, purpose, chain_type, address, pow_challenge, pow_difficulty, expires_at)
       SELECT 'flood ' || n, 'session', 'evm', 'flood ' || n, '', 1, now() + n * interval '1 second' FROM generate_series(1, $1::int) n`,
      [total],
    );
    await sweep();
    const left = await harness.db.inspect<{ n: number }>('SELECT count(*)::int AS n FROM identity.challenges');
    expect(left).toEqual([{ n: 1_000 }]);
    expect(
      await harness.db.inspect("DELETE FROM identity.challenges WHERE nonce LIKE 'flood %' RETURNING nonce"),
    ).toContainEqual({ nonce: `flood ${total}` });
  });

  it('leaves nothing behind once it is expired, used or not, and loses nothing before', async () => {
    const wallet = evmTestWallet();
    const [open, expired, used] = [
      await harness.challenge(wallet),
      await harness.challenge(wallet),
      await harness.challenge(wallet),
    ];
    await harness.db.inspect(
      "UPDATE identity.challenges SET expires_at = now() - interval '1 second' WHERE nonce = ANY($1)",
      [[expired.nonce, used.nonce]],
    );
    await harness.db.inspect('UPDATE identity.challenges SET consumed_at = issued_at WHERE nonce = $1', [used.nonce]);
    await sweep();
    const left = await harness.db.inspect<{ nonce: string }>(
      'SELECT nonce FROM identity.challenges WHERE address = $1',
      [wallet.address],
    );
    expect(left).toEqual([{ nonce: open.nonce }]);
  });
});
