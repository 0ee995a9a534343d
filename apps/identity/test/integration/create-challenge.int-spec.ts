import { challengePurpose, createChallenge, register } from '@market/contracts/identity';
import { newCall } from '@market/messaging';
import { Jobs } from '@market/runtime';
import { parseSiweMessage } from 'viem/siwe';
import { ChallengesRepository } from '../../src/challenges/infra/challenges.repository.js';
import { SweepChallenges } from '../../src/challenges/sweep-challenges.job.js';
import { solve, startIdentity, type IdentityWorld } from '../support/identity-world.js';
import { evmTestWallet, solanaTestWallet } from '../support/test-wallets.js';

const LIMIT = 5;

describe('createChallenge', () => {
  let world: IdentityWorld;
  beforeAll(async () => {
    world = await startIdentity({ IDENTITY_MAX_OPEN_CHALLENGES: String(LIMIT), IDENTITY_CHALLENGE_TTL_SECONDS: '120', REGISTRATION_POW_DIFFICULTY: '2' });
  });
  afterAll(() => world.stop());

  it('asks for a text that names wallet, purpose, chain, agent, nonce and times, and for work', async () => {
    const { address } = evmTestWallet();
    const agentId = '018f6d1e-0000-7000-8000-000000000001';
    const challenge = await world.bus.request(createChallenge, { walletAddress: address.toLowerCase(), purpose: 'claim', chainId: 8453, agentId }, newCall());
    expect(challenge).toEqual({
      message: expect.any(String) as string,
      nonce: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      expires_in: 120,
      pow: { challenge: expect.stringMatching(/^[0-9a-f]{64}$/) as string, difficulty: 2, algorithm: 'sha256' },
    });
    const fields = parseSiweMessage(challenge.message);
    expect(fields).toMatchObject({ address, chainId: 8453, domain: 'market.example', uri: 'https://market.example', version: '1', nonce: challenge.nonce, resources: [`urn:uuid:${agentId}`] });
    expect(fields.statement).toContain('claim');
    expect(fields.expirationTime!.getTime() - fields.issuedAt!.getTime()).toBe(120_000);
  });

  it.each(challengePurpose.options)('is given for %s, to both kinds of wallets', async (purpose) => {
    for (const wallet of [evmTestWallet(), solanaTestWallet()]) {
      const { message } = await world.challenge(wallet, purpose);
      expect(message).toContain(wallet.address);
      expect(message).toContain(`Purpose: ${purpose}.`);
    }
  });

  it('is given to one wallet only so often until some are used or expire', async () => {
    const wallet = evmTestWallet();
    for (let count = 1; count < LIMIT; count += 1) await world.challenge(wallet);
    const last = await world.challenge({ address: wallet.address.toLowerCase() });
    const error: unknown = await world.challenge(wallet, 'recovery').catch((reason: unknown) => reason);
    expect(error).toMatchObject({ reason: 'too_many_challenges', details: { retry_after_seconds: expect.any(Number) as number } });
    const { retry_after_seconds } = (error as { details: { retry_after_seconds: number } }).details;
    expect(retry_after_seconds).toBeGreaterThan(100);
    expect(retry_after_seconds).toBeLessThanOrEqual(120);

    await world.challenge(evmTestWallet());
    await world.bus.request(register, { walletAddress: wallet.address, nonce: last.nonce, powNonce: solve(last.pow), signature: await wallet.sign(last.message) }, newCall());
    await world.challenge(wallet);
  });

  it('leaves nothing behind once it is expired, used or not, and loses nothing before', async () => {
    const wallet = evmTestWallet();
    const [open, expired, used] = [await world.challenge(wallet), await world.challenge(wallet), await world.challenge(wallet)];
    await world.db.inspect("UPDATE identity.challenges SET expires_at = now() - interval '1 second' WHERE nonce = ANY($1)", [[expired.nonce, used.nonce]]);
    await world.db.inspect('UPDATE identity.challenges SET consumed_at = issued_at WHERE nonce = $1', [used.nonce]);
    await new SweepChallenges(new ChallengesRepository(world.db.database), new Jobs(), { maxStoredChallenges: 1_000 }).run();
    const left = await world.db.inspect<{ nonce: string }>('SELECT nonce FROM identity.challenges WHERE address = $1', [wallet.address]);
    expect(left).toEqual([{ nonce: open.nonce }]);
  });
});
