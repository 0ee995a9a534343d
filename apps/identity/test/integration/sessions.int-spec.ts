import {
  authenticate,
  closeSession,
  getProfile,
  hashSessionToken,
  listWallets,
  openSession,
  sessionEnded,
  walletLinked,
} from '@market/contracts/identity';
import { newRequestContext } from '@market/messaging';
import { Jobs } from '@market/runtime';
import { eventually } from '@market/testing';
import { SweepSessions } from '../../src/sessions/sweep-sessions.job.js';
import { reasonOf, startIdentity, type IdentityHarness } from '../support/identity-harness.js';
import { evmTestWallet, solanaTestWallet, type TestWallet } from '../support/test-wallets.js';

describe('sessions', () => {
  let harness: IdentityHarness;
  beforeAll(async () => {
    harness = await startIdentity();
  });
  afterAll(() => harness.stop());

  const signIn = async (wallet: TestWallet) =>
    harness.bus.request(openSession, await harness.prove(wallet, 'session'), newRequestContext());
  const whoIs = (token: string) =>
    harness.bus.request(authenticate, { keyHash: hashSessionToken(token)!, kind: 'session' }, newRequestContext());
  const expireIn = (token: string, interval: string) =>
    harness.db.inspect(
      'UPDATE identity.sessions SET expires_at = now() + $2::interval WHERE token_hash = $1 RETURNING id',
      [Buffer.from(hashSessionToken(token)!, 'hex'), interval],
    );

  it.each([
    ['EVM', evmTestWallet],
    ['Solana', solanaTestWallet],
  ])(
    "open a human's account the first time an %s wallet signs in, and find it again afterwards",
    async (_chain, newWallet) => {
      const wallet = newWallet();
      const session = await signIn(wallet);
      expect(session).toEqual({
        session_token: expect.stringMatching(/^am_s_[0-9A-Za-z]{49}$/) as string,
        account: {
          id: expect.any(String) as string,
          display_name: `Operator ${wallet.address.slice(0, 6)}…${wallet.address.slice(-4)}`,
          avatar_url: null,
          account_type: 'human',
          is_verified: false,
          wallet_address: wallet.address,
        },
        expires_at: expect.stringMatching(/Z$/) as string,
      });
      const principal = await whoIs(session.session_token);
      expect(principal).toEqual({
        accountId: session.account.id,
        accountType: 'human',
        role: 'both',
        displayName: session.account.display_name,
        keyId: expect.any(String) as string,
        scopes: [],
      });
      const context = newRequestContext({ principal });
      expect(await harness.bus.request(getProfile, {}, context)).toMatchObject({
        id: session.account.id,
        account_type: 'human',
        wallet_address: wallet.address,
      });
      expect((await harness.bus.request(listWallets, {}, context)).wallets).toHaveLength(1);

      const again = await signIn({ ...wallet, address: wallet.address });
      expect(again.account).toEqual(session.account);
      expect(again.session_token).not.toBe(session.session_token);
      expect((await whoIs(session.session_token)).keyId).not.toBe((await whoIs(again.session_token)).keyId);
    },
  );

  it('open one account for one wallet that signs in for the first time many times at once, and tell of its wallet once', async () => {
    const received: { accountId: string }[] = [];
    await harness.link.consumeEvents(
      walletLinked.subject,
      async (events) => void received.push(...events.map((event) => event.payload as { accountId: string })),
    );
    const wallet = evmTestWallet();
    const sessions = await Promise.all(Array.from({ length: 12 }, () => signIn(wallet)));
    const ids = new Set(sessions.map(({ account }) => account.id));
    expect(ids.size).toBe(1);
    await eventually(() => expect(received.filter(({ accountId }) => ids.has(accountId))).toHaveLength(1));
  });

  it("are not opened by an agent's wallet, also when it registers and signs in at once", async () => {
    const agent = await harness.agent();
    expect(await reasonOf(signIn(agent.wallet))).toBe('wallet_is_an_agents');
    for (let round = 0; round < 8; round += 1) {
      const wallet = evmTestWallet();
      const [registered, signedIn] = await Promise.allSettled([harness.register(wallet), signIn(wallet)]);
      const reasons = [registered, signedIn].flatMap((outcome) =>
        outcome.status === 'rejected' ? [(outcome.reason as { reason: string }).reason] : [],
      );
      expect(reasons).toEqual([registered.status === 'rejected' ? 'wallet_is_a_humans' : 'wallet_is_an_agents']);
    }
  });

  it('last 12 hours by the clock of PostgreSQL, and not a moment longer', async () => {
    const { session_token: token } = await signIn(evmTestWallet());
    const [row] = await harness.db.inspect<{ hours: number }>(
      'SELECT extract(epoch FROM expires_at - created_at)::float / 3600 AS hours FROM identity.sessions WHERE token_hash = $1',
      [Buffer.from(hashSessionToken(token)!, 'hex')],
    );
    expect(row).toEqual({ hours: 12 });
    await expireIn(token, '1 minute');
    expect((await whoIs(token)).accountType).toBe('human');
    await expireIn(token, '-1 ms');
    expect(await reasonOf(whoIs(token))).toBe('key_invalid');
  });

  it('end when they are closed, one by one, and that is told at once', async () => {
    const received: unknown[] = [];
    await harness.link.onSignal(sessionEnded.subject, (payload) => received.push(payload));
    const wallet = evmTestWallet();
    const [one, other] = [await signIn(wallet), await signIn(wallet)];
    const context = newRequestContext({ principal: await whoIs(one.session_token) });
    for (let times = 0; times < 2; times += 1)
      expect(await harness.bus.request(closeSession, {}, context)).toEqual({ ended: true });
    expect(await reasonOf(whoIs(one.session_token))).toBe('key_invalid');
    expect((await whoIs(other.session_token)).accountId).toBe(one.account.id);
    await eventually(() => expect(received).toEqual([{ keyHash: hashSessionToken(one.session_token) }]));
  });

  it('are not keys, nor keys sessions, whatever they are called', async () => {
    const [agent, { session_token: token }] = [await harness.agent(), await signIn(evmTestWallet())];
    expect(
      await reasonOf(harness.bus.request(authenticate, { keyHash: hashSessionToken(token)! }, newRequestContext())),
    ).toBe('key_invalid');
    const keyHash = (
      await harness.db.inspect<{ hash: string }>(
        "SELECT encode(key_hash, 'hex') AS hash FROM identity.api_keys WHERE account_id = $1",
        [agent.id],
      )
    )[0]!.hash;
    expect(await reasonOf(harness.bus.request(authenticate, { keyHash, kind: 'session' }, newRequestContext()))).toBe(
      'key_invalid',
    );
  });

  it('are swept away when they are over, and not before', async () => {
    const [live, over] = [(await signIn(evmTestWallet())).session_token, (await signIn(evmTestWallet())).session_token];
    await expireIn(over, '-1 ms');
    await new SweepSessions(harness.db.database, new Jobs()).run();
    expect(await expireIn(over, '1 hour')).toEqual([]);
    expect((await whoIs(live)).accountType).toBe('human');
  });
});
