import { evmWallet, Marketplace, MarketplaceError, solanaWallet, solveProofOfWork, type HttpAnswer, type Wallet } from '@market/sdk';
import { eventually } from '@market/testing';
import { request } from 'undici';
import { bodyOf, callOnce, reasonOf } from '../support/buyer.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/world.js';

inEachMode('an agent', (world) => {
  const anyone = stranger(world);
  const challengeFor = (wallet: Wallet, more: object = {}) => anyone.request<Awaited<ReturnType<Marketplace['challenge']>>>('POST', '/auth/challenge', { body: { wallet_address: wallet.address, ...more } });
  const proofOf = async (wallet: Wallet, more?: object) => {
    const { message, nonce, pow } = await challengeFor(wallet, more);
    return { wallet_address: wallet.address, nonce, signature: await wallet.sign(message), pow_nonce: await solveProofOfWork(pow) };
  };
  const register = (body: object): Promise<HttpAnswer> => anyone.send('POST', '/register', { body });

  describe.each([
    ['EVM', evmWallet],
    ['Solana', solanaWallet],
  ])('with an %s wallet', (_chain, newWallet: () => Wallet) => {
    it('registers by proving it, and sees itself with the key it gets', async () => {
      const wallet = newWallet();
      const challenge = await challengeFor(wallet);
      expect(challenge).toMatchObject({ message: expect.stringContaining(wallet.address), nonce: expect.any(String), expires_in: 300, pow: { challenge: expect.stringMatching(/^[0-9a-f]{64}$/), difficulty: 1, algorithm: 'sha256' } });
      const answer = await register({ ...(await proofOf(wallet)), display_name: 'Ada 🦀' });
      expect(answer.status).toBe(201);
      const registration = bodyOf(answer).data as Record<string, string>;
      expect(registration).toEqual({
        user_id: expect.any(String),
        wallet_address: wallet.address,
        account_type: 'agent',
        api_key: expect.stringMatching(/^am_k_[0-9A-Za-z]{49}$/),
        authorization_header: `Bearer ${registration.api_key}`,
      });
      const me = await new Marketplace({ baseUrl: world.baseUrl, authorization: registration.authorization_header }).me();
      expect(me).toMatchObject({ id: registration.user_id, display_name: 'Ada 🦀', wallet_address: wallet.address, account_type: 'agent', role: 'both', is_verified: false, bio: null, avatar_url: null, website: null });
      expect(me.wallets).toMatchObject([{ address: wallet.address, chain_type: wallet.chainType, is_primary: true, status: 'active' }]);
      expect(me.wallets[0]).not.toHaveProperty('verified_at');
    });

    it('registers once, also when it tries many times at once', async () => {
      const wallet = newWallet();
      const proofs = await Promise.all(Array.from({ length: 8 }, () => proofOf(wallet)));
      const answers = await Promise.all(proofs.map(register));
      expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(7).fill(409)]);
      expect(bodyOf(answers.find(({ status }) => status === 409)!).error).toMatchObject({ code: 'CONFLICT', recovery: { next_action: 'recover_key' } });
    });

    it('uses each proof once, also in parallel', async () => {
      const proof = await proofOf(newWallet());
      const answers = await Promise.all(Array.from({ length: 8 }, () => register(proof)));
      expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(7).fill(400)]);
      expect((await register(proof)).status).toBe(400);
    });

    it('is not let in with a proof that is wrong in any part', async () => {
      const [wallet, other] = [newWallet(), newWallet()];
      const proof = await proofOf(wallet);
      const foreign = await proofOf(other);
      const recovery = await proofOf(wallet, { purpose: 'recovery' });
      const wrong: [Record<string, unknown>, string | undefined][] = [
        [{ ...proof, pow_nonce: '-' }, undefined],
        [{ ...proof, pow_nonce: '0'.repeat(65) }, undefined],
        [{ ...proof, nonce: foreign.nonce }, 'challenge_invalid'],
        [{ ...proof, nonce: 'never-issued' }, 'challenge_invalid'],
        [recovery, 'challenge_invalid'],
        [{ ...proof, wallet_address: other.address }, 'challenge_invalid'],
        [{ ...proof, wallet_address: '0x123' }, 'wallet_address_invalid'],
        [{ ...proof, signature: await wallet.sign('another message') }, 'signature_invalid'],
      ];
      for (const [body, reason] of wrong) {
        const answer = await register(body);
        expect([answer.status, bodyOf(answer).error!.code]).toEqual([400, 'BAD_REQUEST']);
        if (reason) expect(reasonOf(answer)).toBe(reason);
      }
    });

    it.each(['', 'x', '0x', `0x${'00'.repeat(65)}`, '1'.repeat(88), '\u0000', 'é'.repeat(50)])('is not let in with the malformed signature %j', async (signature) => {
      const answer = await register({ ...(await proofOf(newWallet())), signature });
      expect([answer.status, bodyOf(answer).error!.code]).toEqual([400, 'BAD_REQUEST']);
    });
  });

  it('cannot be the account of a key that nobody holds', async () => {
    const wallet = { ...solanaWallet(), address: '11111111111111111111111111111111' };
    const zeros = Buffer.alloc(64).toString('base64');
    const challenge = await anyone.send('POST', '/auth/challenge', { body: { wallet_address: wallet.address } });
    if (challenge.status === 200) {
      const { nonce, pow } = bodyOf(challenge).data as { nonce: string; pow: { challenge: string; difficulty: number } };
      expect((await register({ wallet_address: wallet.address, nonce, signature: zeros, pow_nonce: await solveProofOfWork(pow) })).status).toBe(400);
    } else expect(challenge.status).toBe(400);
  });

  describe('with API keys', () => {
    let agent: Agent;
    const withKey = (apiKey: string): Marketplace => new Marketplace({ baseUrl: world.baseUrl, apiKey });

    beforeAll(async () => {
      agent = await registerAgent(world);
    });

    it('creates, lists and revokes them; the key itself is shown once, and is dead within a second', async () => {
      const created = await agent.market.apiKeys.create({ name: 'reader', scopes: ['read'] });
      expect(created).toMatchObject({ name: 'reader', scopes: ['read'], is_active: true, expires_at: null, key: expect.stringMatching(/^am_k_/) });
      expect(created.key.startsWith(created.key_prefix)).toBe(true);
      expect(created.key_prefix.length).toBe(12);
      const listed = await agent.market.apiKeys.list();
      expect(listed.map(({ name }) => name)).toContain('reader');
      expect(JSON.stringify(listed)).not.toContain(created.key);

      const reader = withKey(created.key);
      expect((await reader.me()).id).toBe(agent.id);
      expect(await agent.market.apiKeys.revoke(created)).toEqual({ id: created.id, revoked: true });
      await eventually(async () => expect((await reader.send('GET', '/me')).status).toBe(401), { withinMs: 1_000 });
      expect((await reader.send('GET', '/me')).status).toBe(401);
    });

    it('is kept to the scopes of the key', async () => {
      const [read, write, subscribe] = await Promise.all((['read', 'write', 'subscribe'] as const).map(async (scope) => ({ ...agent, market: withKey((await agent.market.apiKeys.create({ name: scope, scopes: [scope] })).key) })));
      const attempts: [Agent, string, () => Promise<HttpAnswer>][] = [
        [write!, 'read', () => write!.market.send('GET', '/receipts')],
        [subscribe!, 'read', () => subscribe!.market.send('GET', '/ledger')],
        [read!, 'write', () => read!.market.send('POST', '/listings/challenge')],
        [read!, 'write', () => read!.market.send('POST', '/api-keys', { body: { name: 'more', scopes: ['read'] } })],
        [read!, 'subscribe', () => callOnce(read!, 'anything', {})],
        [write!, 'subscribe', () => callOnce(write!, 'anything', {})],
      ];
      for (const [, required, attempt] of attempts) {
        const answer = await attempt();
        expect([answer.status, bodyOf(answer).error!.details!.required_scope]).toEqual([403, required]);
      }
      for (const { market } of [read!, write!, subscribe!]) expect((await market.me()).id).toBe(agent.id);
      const wider = await write!.market.send('POST', '/api-keys', { body: { name: 'wider', scopes: ['write', 'read'] } });
      expect([wider.status, reasonOf(wider)]).toEqual([403, 'scope_not_held']);
    });

    it('cannot use one past its time, nor make one for a time that has passed', async () => {
      const past = await agent.market.send('POST', '/api-keys', { body: { name: 'past', scopes: ['read'], expires_at: '2020-01-01T00:00:00Z' } });
      expect([past.status, reasonOf(past)]).toEqual([400, 'expiry_invalid']);
      const short = await agent.market.apiKeys.create({ name: 'short', scopes: ['read'], expires_at: new Date(Date.now() + 1_500).toISOString() });
      expect((await withKey(short.key).send('GET', '/me')).status).toBe(200);
      await eventually(async () => expect((await withKey(short.key).send('GET', '/me')).status).toBe(401));
    });

    it('makes one key for one Idempotency-Key, and shows it again to the same request', async () => {
      const idempotencyKey = `${world.mode}-one-key`;
      const answers = await Promise.all(Array.from({ length: 8 }, () => agent.market.send('POST', '/api-keys', { body: { name: 'once', scopes: ['read'] }, headers: { 'Idempotency-Key': idempotencyKey } })));
      const made = answers.filter(({ status }) => status === 201);
      expect(new Set(made.map(({ text }) => text)).size).toBe(1);
      expect(answers.every((answer) => answer.status === 201 || (answer.status === 409 && reasonOf(answer) === 'idempotency_in_progress'))).toBe(true);
      expect((await agent.market.apiKeys.list()).filter(({ name }) => name === 'once').length).toBe(1);
      const reused = await agent.market.send('POST', '/api-keys', { body: { name: 'another', scopes: ['read'] }, headers: { 'Idempotency-Key': idempotencyKey } });
      expect([reused.status, reasonOf(reused)]).toEqual([409, 'idempotency_key_reused']);
    });

    it('cannot see or revoke the keys of another', async () => {
      const other = await registerAgent(world);
      const [theirs] = await other.market.apiKeys.list();
      await expect(agent.market.apiKeys.revoke(theirs!.id)).rejects.toMatchObject({ status: 404 });
      await expect(agent.market.apiKeys.revoke('not-a-uuid')).rejects.toMatchObject({ status: 404 });
      expect((await other.market.me()).id).toBe(other.id);
    });

    it.each([{ scopes: [] }, { scopes: ['admin'] }, { scopes: 'read' }, { scopes: ['read', 'read', 7] }, { name: '', scopes: ['read'] }, { name: 'x'.repeat(101), scopes: ['read'] }, { name: 'x' }, {}])('refuses to make %j', async (body) => {
      const answer = await agent.market.send('POST', '/api-keys', { body: { name: 'fine', ...body, ...('name' in body || 'scopes' in body ? {} : { scopes: undefined }) } });
      expect([answer.status, bodyOf(answer).error!.code]).toEqual([400, 'BAD_REQUEST']);
    });
  });

  it('is nobody with anything but exactly one well-formed Bearer key', async () => {
    const agent = await registerAgent(world);
    const key = agent.registration.api_key;
    const url = `${world.baseUrl}/api/v1/me`;
    const wrong = [[], ['Bearer'], ['Bearer '], [key], [`Basic ${key}`], [`Token ${key}`], [`Bearer ${key}x`], [`Bearer ${key.slice(0, -1)}`], [`Bearer ${key.toUpperCase()}`], [`Bearer ${key}, Bearer ${key}`], [`Bearer  ${key}`], [`Bearer ${key.slice(0, 12)}`], [`Bearer am_k_${'A'.repeat(49)}`]];
    const answers = await Promise.all([...wrong.map(([value]) => (value === undefined ? [] : ['authorization', value])), ['authorization', `Bearer ${key}`, 'authorization', `Bearer ${key}`]].map((headers) => request(url, { headers })));
    const bodies = await Promise.all(answers.map(async ({ statusCode, headers, body }) => ({ statusCode, challenge: headers['www-authenticate'], body: await body.json() })));
    for (const answer of bodies) expect(answer).toEqual({ statusCode: 401, challenge: expect.stringContaining('Bearer'), body: bodies[0]!.body });
    expect((await request(`${url}?api_key=${key}`)).statusCode).toBe(401);
    expect((await request(url, { headers: { authorization: `bearer ${key}` } })).statusCode).toBe(200);
  });

  it('is told what to do by every refusal', async () => {
    const error = (await anyone.me().catch((reason: unknown) => reason)) as MarketplaceError;
    expect(error).toMatchObject({ status: 401, code: 'UNAUTHORIZED', recovery: { next_action: 'authenticate', links: { docs: expect.any(String), openapi: expect.any(String), llms: expect.any(String) } } });
  });
});
