import { evmWallet, Marketplace, solanaWallet, type HttpAnswer, type Session, type Wallet } from '@market/sdk';
import { eventually } from '@market/testing';
import { request } from 'undici';
import { bodyOf, reasonOf } from '../support/buyer.js';
import { proofOf } from '../support/proofs.js';
import { allInStandalone, inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';

inEachMode('a human', (harness) => {
  const anyone = stranger(harness);
  const api = `${harness.baseUrl}/api/v1`;
  const signIn = async (wallet: Wallet = evmWallet()) => ({ wallet, ...(await anyone.signIn(wallet)) });
  const openSession = async (wallet: Wallet): Promise<HttpAnswer> =>
    anyone.send('POST', '/auth/session', { body: await proofOf(anyone, wallet, 'session') });
  const cookieOf = (answer: HttpAnswer): string => answer.headers.get('set-cookie')!.split(';')[0]!;
  const statusOf = async (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    headers: Record<string, string | string[]>,
    body?: object,
  ): Promise<number> =>
    (
      await request(api + path, {
        method,
        headers: { ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
        body: body && JSON.stringify(body),
      })
    ).statusCode;

  describe.each(
    allInStandalone(harness, [
      ['EVM', evmWallet],
      ['Solana', solanaWallet],
    ]),
  )('with an %s wallet', (_chain, newWallet: () => Wallet) => {
    it('signs in, has an account from the first time on, and sees it with the session [spec: GET /me]', async () => {
      const wallet = newWallet();
      const answer = await openSession(wallet);
      expect(answer.status).toBe(201);
      const session = bodyOf(answer).data as Session;
      expect(session).toEqual({
        session_token: expect.stringMatching(/^am_s_[0-9A-Za-z]{49}$/),
        account: {
          id: expect.any(String),
          display_name: expect.stringContaining(wallet.address.slice(0, 6)),
          avatar_url: null,
          account_type: 'human',
          is_verified: false,
          wallet_address: wallet.address,
        },
        expires_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      });
      const hours = (Date.parse(session.expires_at) - Date.now()) / 3_600_000;
      expect(hours).toBeGreaterThan(11.9);
      expect(hours).toBeLessThan(12.1);
      const me = await anyone.authorizedBy(`Bearer ${session.session_token}`).me();
      expect(me).toMatchObject({
        id: session.account.id,
        account_type: 'human',
        wallet_address: wallet.address,
        is_verified: false,
      });
      expect((await anyone.signIn(wallet)).session.account.id).toBe(session.account.id);
    });

    it('opens one account, however often it signs in for the first time at once', async () => {
      const wallet = newWallet();
      const sessions = await Promise.all(Array.from({ length: 8 }, () => anyone.signIn(wallet)));
      expect(new Set(sessions.map(({ session }) => session.account.id)).size).toBe(1);
    });
  });

  it('does not sign in with the wallet of an agent, nor does an agent register with the wallet of a human', async () => {
    const agent = await registerAgent(harness);
    const refused = await openSession(agent.wallet);
    expect([refused.status, reasonOf(refused)]).toEqual([409, 'wallet_is_an_agents']);
    const human = await signIn();
    await expect(anyone.register(human.wallet)).rejects.toMatchObject({
      status: 409,
      details: { reason: 'wallet_is_a_humans' },
    });
    await expect(anyone.recover(human.wallet)).rejects.toMatchObject({
      status: 409,
      details: { reason: 'wallet_is_a_humans' },
    });
  });

  it('is not let in with a proof that is wrong in any part', async () => {
    const wallet = evmWallet();
    const proof = await proofOf(anyone, wallet, 'session');
    const wrong: [object, string][] = [
      [await proofOf(anyone, wallet, 'recovery'), 'challenge_invalid'],
      [{ ...proof, nonce: 'never-issued' }, 'challenge_invalid'],
      [{ ...proof, wallet_address: evmWallet().address }, 'challenge_invalid'],
      [{ ...proof, wallet_address: '0x123' }, 'wallet_address_invalid'],
      [{ ...proof, signature: await wallet.sign('another message') }, 'signature_invalid'],
      [proof, 'challenge_invalid'],
    ];
    for (const [body, reason] of wrong) {
      const answer = await anyone.send('POST', '/auth/session', { body });
      expect([answer.status, reasonOf(answer)]).toEqual([400, reason]);
      expect(answer.headers.get('set-cookie')).toBeNull();
    }
  });

  it('signs out, one session at a time, and is out everywhere within a second', async () => {
    const wallet = evmWallet();
    const [one, other] = [await signIn(wallet), await signIn(wallet)];
    const answer = await one.marketplace.send('DELETE', '/auth/session');
    expect([answer.status, bodyOf(answer).data]).toEqual([200, { ended: true }]);
    expect(answer.headers.get('set-cookie')).toMatch(
      /^am_session=; Path=\/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; Secure; SameSite=Lax$/,
    );
    await eventually(async () => expect((await one.marketplace.send('GET', '/me')).status).toBe(401), {
      withinMs: 5_000,
    });
    expect((await one.marketplace.send('DELETE', '/auth/session')).status).toBe(401);
    expect((await other.marketplace.me()).wallet_address).toBe(wallet.address);
  });

  describe('in a browser', () => {
    it('is kept by a cookie that no script reads, no plain connection carries and no other site sends', async () => {
      const answer = await openSession(evmWallet());
      const { session_token: token, expires_at } = bodyOf(answer).data as Session;
      expect(answer.headers.get('set-cookie')).toBe(
        `am_session=${token}; Path=/; Expires=${new Date(expires_at).toUTCString()}; HttpOnly; Secure; SameSite=Lax`,
      );
      expect(await statusOf('GET', '/me', { cookie: cookieOf(answer) })).toBe(200);
      expect(await statusOf('GET', '/me', { cookie: `theme=dark; ${cookieOf(answer)}; lang=en` })).toBe(200);
    });

    it('changes things from pages of the marketplace alone', async () => {
      const cookie = cookieOf(await openSession(evmWallet()));
      const foreign: Record<string, string>[] = [
        {},
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { 'sec-fetch-site': 'none' },
        { origin: 'https://evil.example' },
        { origin: 'null' },
      ];
      for (const headers of foreign)
        expect([headers, await statusOf('DELETE', '/auth/session', { cookie, ...headers })]).toEqual([headers, 403]);
      expect(await statusOf('GET', '/me', { cookie, 'sec-fetch-site': 'cross-site' })).toBe(200);
      expect(await statusOf('DELETE', '/auth/session', { cookie, 'sec-fetch-site': 'same-origin' })).toBe(200);
    });

    it('is nobody with a cookie in any other form, nor with a token anywhere but in the cookie or after Bearer', async () => {
      const answer = await openSession(evmWallet());
      const { session_token: token } = bodyOf(answer).data as Session;
      const { api_key: key } = (await registerAgent(harness)).registration;
      const odd: Record<string, string | string[]>[] = [
        { cookie: `am_session=${key}` },
        { cookie: `am_session="${token}"` },
        { cookie: `am_session=${token}; am_session=${token}` },
        { cookie: `session=${token}` },
        { 'api-key': key },
        { 'x-api-key': token },
        { authorization: `Bearer am_session=${token}` },
        // An invalid header is refused even with a valid cookie.
        { authorization: `Bearer ${key}x`, cookie: `am_session=${token}` },
      ];
      for (const headers of odd) expect([headers, await statusOf('GET', '/me', headers)]).toEqual([headers, 401]);
      expect(await statusOf('GET', `/me?access_token=${token}`, {})).toBe(401);
      expect(await statusOf('GET', '/me', { cookie: `am_session=${token}` })).toBe(200);
    });

    it('reads public pages whatever its cookie is', async () => {
      for (const cookie of ['am_session=', 'am_session=old', cookieOf(await openSession(evmWallet()))])
        for (const path of ['/listings', '/categories', '/health'])
          expect(await statusOf('GET', path, { cookie })).toBe(200);
    });
  });

  describe('claims an agent', () => {
    let agent: Agent;
    let human: Marketplace;
    let humanId: string;
    beforeEach(async () => {
      agent = await registerAgent(harness);
      const signedIn = await signIn();
      human = signedIn.marketplace;
      humanId = signedIn.session.account.id;
    });
    const proofBy = async (market: Marketplace, wallet: Wallet = agent.wallet, agentId = agent.id) => {
      const { nonce, signature } = await proofOf(market, wallet, 'claim', { agent_id: agentId });
      return { nonce, signature };
    };
    const claim = (market: Marketplace, body: object, agentId = agent.id): Promise<HttpAnswer> =>
      market.send('POST', `/agents/${agentId}/claim`, { body });

    it('whose wallet agreed to it by name; it verifies nothing [spec: POST /agents/{agentId}/claim, authentication-rule.6]', async () => {
      const { message, nonce } = await human.challenge({
        wallet_address: agent.wallet.address,
        purpose: 'claim',
        agent_id: agent.id,
      });
      for (const id of [agent.id, humanId]) expect(message).toContain(`- urn:uuid:${id}`);
      const answer = await claim(human, { nonce, signature: await agent.wallet.sign(message) });
      expect([answer.status, bodyOf(answer).data]).toEqual([
        200,
        { agent_id: agent.id, claimed_by: humanId, status: 'claimed' },
      ]);
      expect((await agent.market.me()).is_verified).toBe(false);
      expect((await claim(anyone, await proofBy(human))).status).toBe(401);
      expect((await claim(agent.market, await proofBy(human))).status).toBe(403);
      const nobody = await claim(human, await proofBy(human), '018f6d1e-0000-7000-8000-000000000001');
      expect([nobody.status, reasonOf(nobody)]).toEqual([404, 'agent_not_found']);
      expect((await claim(human, await proofBy(human), 'not-a-uuid')).status).toBe(404);
      for (const body of [{}, { nonce: 'n' }, { signature: 's' }, { nonce: 1, signature: 's' }])
        expect((await claim(human, body)).status).toBe(400);
    });

    it('with the SDK in one line, with a Solana wallet too', async () => {
      const solana = await registerAgent(harness, { wallet: solanaWallet() });
      expect(await human.claim(solana, solana.wallet)).toEqual({
        agent_id: solana.id,
        claimed_by: humanId,
        status: 'claimed',
      });
    });

    it('that agrees where its wallet is, with a code and the key of the agent alone', async () => {
      const stranger = await registerAgent(harness);
      const { code, agent: named } = await human.claimCode(agent.id);
      expect(named.id).toBe(agent.id);
      await expect(stranger.market.agreeToClaim(code, stranger.wallet)).rejects.toMatchObject({
        details: { reason: 'claim_code_invalid' },
      });
      const messages: string[] = [];
      const confirm = (message: string): void => void messages.push(message);
      expect(await agent.market.agreeToClaim(code, agent.wallet, { confirm })).toEqual({
        agent_id: agent.id,
        claimed_by: humanId,
        status: 'claimed',
      });
      for (const id of [agent.id, humanId]) expect(messages.join()).toContain(`- urn:uuid:${id}`);
      expect((await human.send('GET', `/me/wallets?agent_id=${agent.id}`)).status).toBe(200);
    });

    it('first of all who try, and for good', async () => {
      const humans = [
        human,
        ...(await Promise.all(Array.from({ length: 7 }, () => signIn()))).map(({ marketplace }) => marketplace),
      ];
      const proofs = await Promise.all(humans.map((each) => proofBy(each)));
      const late = await proofBy(human);
      const answers = await Promise.all(humans.map((each, index) => claim(each, proofs[index]!)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(409)]);
      const again = await claim(human, late);
      expect([again.status, bodyOf(again).error!.code, reasonOf(again)]).toEqual([
        409,
        'CONFLICT',
        'agent_already_claimed',
      ]);
    });

    it('not with what was agreed with another human, for another agent or by another wallet', async () => {
      const other = (await signIn()).marketplace;
      const otherAgent = await registerAgent(harness);
      const wrong: [Marketplace, object, string][] = [
        [other, await proofBy(human), 'claim_of_another_human'],
        [human, await proofBy(human, otherAgent.wallet, otherAgent.id), 'claim_of_another_agent'],
        [human, await proofBy(human, otherAgent.wallet), 'wallet_not_of_agent'],
        [human, { ...(await proofBy(human)), signature: await otherAgent.wallet.sign('yes') }, 'signature_invalid'],
      ];
      for (const [market, body, reason] of wrong) {
        const answer = await claim(market, body);
        expect([answer.status, reasonOf(answer)]).toEqual([403, reason]);
      }
      expect((await claim(human, await proofBy(human))).status).toBe(200);
    });

    it('with a challenge that it asked for itself, naming the agent', async () => {
      const challenge = (market: Marketplace, body: object) =>
        market.send('POST', '/auth/challenge', {
          body: { wallet_address: agent.wallet.address, purpose: 'claim', ...body },
        });
      const answers = [
        await challenge(human, {}),
        await challenge(anyone, { agent_id: agent.id }),
        await challenge(agent.market, { agent_id: agent.id }),
      ];
      expect(answers.map((answer) => [answer.status, reasonOf(answer)])).toEqual([
        [400, 'claim_needs_agent'],
        [400, 'claim_needs_session'],
        [400, 'claim_needs_session'],
      ]);
      // An invalid credential does not restrict public access.
      expect(
        (
          await anyone
            .authorizedBy('Bearer am_k_dead')
            .send('POST', '/auth/challenge', { body: { wallet_address: agent.wallet.address } })
        ).status,
      ).toBe(200);
    });
  });
});
