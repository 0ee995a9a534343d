import {
  evmWallet,
  Marketplace,
  solanaWallet,
  solveProofOfWork,
  type AgentProfile,
  type ApiKey,
  type Challenge,
  type CreatedApiKey,
  type HttpAnswer,
  type Registration,
  type Wallet,
} from '@market/sdk';
import { eventually } from '@market/testing';
import { createHash } from 'node:crypto';
import { request } from 'undici';
import { bodyOf, reasonOf } from '../support/buyer.js';
import { allInStandalone, inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

inEachMode('an agent', (harness) => {
  const anyone = stranger(harness);
  const challengeFor = (wallet: Wallet, more: object = {}) =>
    anyone.request<Awaited<ReturnType<Marketplace['challenge']>>>('POST', '/auth/challenge', {
      body: { wallet_address: wallet.address, ...more },
    });
  const proofOf = async (wallet: Wallet, more?: object) => {
    const { message, nonce, pow } = await challengeFor(wallet, more);
    return {
      wallet_address: wallet.address,
      nonce,
      signature: await wallet.sign(message),
      pow_nonce: await solveProofOfWork(pow),
    };
  };
  const register = (body: object): Promise<HttpAnswer> => anyone.send('POST', '/register', { body });

  describe.each(
    allInStandalone(harness, [
      ['EVM', evmWallet],
      ['Solana', solanaWallet],
    ]),
  )('with an %s wallet', (_chain, newWallet: () => Wallet) => {
    it('is given a challenge and work, good for expires_in [spec: POST /auth/challenge, limit.auth-challenge-lifetime]', async () => {
      const { address } = newWallet();
      const answer = await anyone.send('POST', '/auth/challenge', { body: { wallet_address: address } });
      expect(answer.status).toBe(200);
      const challenge = bodyOf(answer).data as Challenge;
      expect(challenge).toEqual({
        message: expect.stringContaining(address),
        nonce: expect.stringMatching(/^[0-9A-Za-z]{8,}$/),
        expires_in: 300,
        pow: { challenge: expect.stringMatching(/^[0-9a-f]{64}$/), difficulty: 1, algorithm: 'sha256' },
      });
      const [issued, expires] = ['Issued At', 'Expiration Time'].map((name) =>
        Date.parse(new RegExp(`^${name}: (.*)$`, 'm').exec(challenge.message)![1]!),
      );
      expect(expires! - issued!).toBe(challenge.expires_in * 1_000);
      for (const body of [
        {},
        { wallet_address: 7 },
        { wallet_address: '0x123' },
        { wallet_address: 'vitalik.eth' },
        // The account of a key that nobody holds.
        { wallet_address: '11111111111111111111111111111111' },
        { wallet_address: address, purpose: 'theft' },
        { wallet_address: address, more: 1 },
      ]) {
        const refused = await anyone.send('POST', '/auth/challenge', { body });
        expect([refused.status, bodyOf(refused).error!.code]).toEqual([400, 'BAD_REQUEST']);
      }
    });

    it('registers by signature and work; key shown once [spec: POST /register, registration-result, authentication-rule.3]', async () => {
      const wallet = newWallet();
      const { message, nonce, pow } = await challengeFor(wallet);
      const powNonce = await solveProofOfWork(pow);
      expect(
        createHash('sha256')
          .update(pow.challenge + powNonce)
          .digest('hex')
          .startsWith('0'.repeat(pow.difficulty)),
      ).toBe(true);
      const body = {
        wallet_address: wallet.address,
        signature: await wallet.sign(message),
        nonce,
        pow_nonce: powNonce,
        display_name: 'Ada 🦀',
      };
      for (const missing of ['wallet_address', 'signature', 'nonce', 'pow_nonce'])
        expect((await register({ ...body, [missing]: undefined })).status).toBe(400);
      const answer = await register(body);
      expect(answer.status).toBe(201);
      const registration = bodyOf(answer).data as Registration;
      expect(registration).toEqual({
        user_id: expect.stringMatching(UUID),
        wallet_address: wallet.address,
        account_type: 'agent',
        api_key: expect.stringMatching(/^am_k_[0-9A-Za-z]{49}$/),
        authorization_header: `Bearer ${registration.api_key}`,
      });
      const market = new Marketplace({ baseUrl: harness.baseUrl, authorization: registration.authorization_header });
      for (const path of ['/me', '/api-keys', '/me/wallets']) {
        const shown = await market.send('GET', path);
        expect([shown.status, shown.text.includes(registration.api_key.slice(12))]).toEqual([200, false]);
      }
    });

    it(
      'sees itself with the key it gets ' +
        '[spec: GET /me, authentication-rule.7, profile.id, profile.display-name, profile.wallet-address, ' +
        'profile.account-type, profile.role, profile.is-verified, profile.bio-avatar-url-website, profile.created-at]',
      async () => {
        const wallet = newWallet();
        const before = Date.now() - 5_000;
        const { registration } = await registerAgent(harness, { wallet, displayName: 'Grace 🐞' });
        const answer = await new Marketplace({
          baseUrl: harness.baseUrl,
          authorization: registration.authorization_header,
        }).send('GET', '/me');
        expect(answer.status).toBe(200);
        const me = bodyOf(answer).data as AgentProfile;
        expect(me).toEqual({
          id: registration.user_id,
          display_name: 'Grace 🐞',
          wallet_address: wallet.address,
          account_type: 'agent',
          role: 'both',
          is_verified: false,
          bio: null,
          avatar_url: null,
          website: null,
          created_at: expect.stringMatching(TIMESTAMP),
          wallets: [
            {
              id: expect.stringMatching(UUID),
              address: wallet.address,
              chain_type: wallet.chainType,
              label: null,
              is_primary: true,
              is_default_payer: true,
              is_default_payout: true,
              capabilities: ['login', 'recovery', 'payer', 'payout'],
              status: 'active',
              created_at: expect.stringMatching(TIMESTAMP),
            },
          ],
        });
        expect(me.id).toMatch(UUID);
        expect(Date.parse(me.created_at)).toBeGreaterThan(before);
        expect(Date.parse(me.created_at)).toBeLessThan(Date.now() + 5_000);
      },
    );

    it('registers once, also when it tries many times at once', async () => {
      const wallet = newWallet();
      const proofs = await Promise.all(Array.from({ length: 8 }, () => proofOf(wallet)));
      const answers = await Promise.all(proofs.map(register));
      expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(7).fill(409)]);
      expect(bodyOf(answers.find(({ status }) => status === 409)!).error).toMatchObject({
        code: 'CONFLICT',
        recovery: { next_action: 'recover_key' },
      });
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
  });

  describe('with API keys', () => {
    let agent: Agent;
    const withKey = (apiKey: string): Marketplace => new Marketplace({ baseUrl: harness.baseUrl, apiKey });

    beforeAll(async () => {
      agent = await registerAgent(harness);
    });

    it(
      'creates them, each shown once ' +
        '[spec: POST /api-keys, api-key.id, api-key.name, api-key.key-prefix, api-key.scopes, api-key.is-active, ' +
        'api-key.created-at, api-key.key]',
      async () => {
        const answer = await agent.market.send('POST', '/api-keys', {
          body: { name: 'reader 📖', scopes: ['subscribe', 'read'] },
        });
        expect(answer.status).toBe(201);
        const created = bodyOf(answer).data as CreatedApiKey;
        expect(created).toEqual({
          id: expect.stringMatching(UUID),
          name: 'reader 📖',
          key_prefix: created.key.slice(0, 12),
          scopes: ['read', 'subscribe'],
          is_active: true,
          created_at: expect.stringMatching(TIMESTAMP),
          expires_at: null,
          budget: null,
          key: expect.stringMatching(/^am_k_[0-9A-Za-z]{49}$/),
        });
        expect((await withKey(created.key).me()).id).toBe(agent.id);
        expect((await withKey(created.key_prefix).send('GET', '/me')).status).toBe(401);
        expect((await anyone.send('POST', '/api-keys', { body: { name: 'x', scopes: ['read'] } })).status).toBe(401);
      },
    );

    it('lists what they are and never what they open with [spec: GET /api-keys, api-key.last-used-at, api-key.expires-at]', async () => {
      const owner = await registerAgent(harness);
      const end = new Date(Date.now() + 3_600_000).toISOString();
      const unused = await owner.market.apiKeys.create({ name: 'unused', scopes: ['write'] });
      const expiring = await owner.market.apiKeys.create({ name: 'expiring', scopes: ['read'], expires_at: end });
      await withKey(expiring.key).me();
      const list = async (): Promise<ApiKey[]> => {
        const answer = await owner.market.send('GET', '/api-keys');
        expect(answer.status).toBe(200);
        for (const key of [unused.key, expiring.key, owner.registration.api_key])
          expect(answer.text).not.toContain(key.slice(12));
        return bodyOf(answer).data as ApiKey[];
      };
      const listed = await list();
      const { key: _unused, ...unusedView } = unused;
      expect(listed.find(({ id }) => id === unused.id)).toEqual({
        ...unusedView,
        last_used_at: null,
        expires_at: null,
      });
      expect(listed.find(({ id }) => id === expiring.id)).toMatchObject({
        name: 'expiring',
        scopes: ['read'],
        is_active: true,
        expires_at: end,
      });
      expect(listed.map(({ name }) => name).sort()).toEqual(['Registration key', 'expiring', 'unused']);
      await eventually(
        async () => expect((await list()).find(({ id }) => id === expiring.id)!.last_used_at).toMatch(TIMESTAMP),
        { withinMs: 30_000, everyMs: 500 },
      );
      expect((await anyone.send('GET', '/api-keys')).status).toBe(401);
    });

    it('revokes them, and they are dead within a second [spec: DELETE /api-keys/{keyId}]', async () => {
      const created = await agent.market.apiKeys.create({ name: 'revokedKey', scopes: ['read'] });
      const revokedKey = withKey(created.key);
      expect((await revokedKey.me()).id).toBe(agent.id);
      const revoked = await agent.market.send('DELETE', `/api-keys/${created.id}`);
      expect([revoked.status, bodyOf(revoked).data]).toEqual([200, { id: created.id, revoked: true }]);
      await eventually(async () => expect((await revokedKey.send('GET', '/me')).status).toBe(401), { withinMs: 5_000 });
      expect((await revokedKey.send('GET', '/me')).status).toBe(401);
      expect((await agent.market.apiKeys.list()).find(({ id }) => id === created.id)!.is_active).toBe(false);
      expect((await agent.market.send('DELETE', `/api-keys/${agent.id}`)).status).toBe(404);
      expect((await anyone.send('DELETE', `/api-keys/${created.id}`)).status).toBe(401);
    });

    it('hands down no more than a key has, in scopes and in time', async () => {
      const end = new Date(Date.now() + 3_600_000).toISOString();
      const expiring = withKey(
        (await agent.market.apiKeys.create({ name: 'expiring', scopes: ['write'], expires_at: end })).key,
      );
      expect((await expiring.apiKeys.create({ name: 'child', scopes: ['write'] })).expires_at).toBe(end);
      const later = await expiring.send('POST', '/api-keys', {
        body: { name: 'child', scopes: ['write'], expires_at: new Date(Date.parse(end) + 1_000).toISOString() },
      });
      expect([later.status, reasonOf(later), bodyOf(later).error!.details!.latest_expires_at]).toEqual([
        403,
        'expiry_beyond_own',
        end,
      ]);
      const wider = await expiring.send('POST', '/api-keys', { body: { name: 'child', scopes: ['write', 'read'] } });
      expect([wider.status, reasonOf(wider)]).toEqual([403, 'scope_not_held']);
    });

    it('cannot use one past its time, nor make one for a time that has passed', async () => {
      const past = await agent.market.send('POST', '/api-keys', {
        body: { name: 'past', scopes: ['read'], expires_at: '2020-01-01T00:00:00Z' },
      });
      expect([past.status, reasonOf(past)]).toEqual([400, 'expiry_invalid']);
      const short = await agent.market.apiKeys.create({
        name: 'short',
        scopes: ['read'],
        expires_at: new Date(Date.now() + 1_500).toISOString(),
      });
      expect((await withKey(short.key).send('GET', '/me')).status).toBe(200);
      await eventually(async () => expect((await withKey(short.key).send('GET', '/me')).status).toBe(401));
    });

    it('makes one key for one Idempotency-Key, and shows it again to the same request', async () => {
      const idempotencyKey = `${harness.mode}-one-key`;
      const answers = await Promise.all(
        Array.from({ length: 8 }, () =>
          agent.market.send('POST', '/api-keys', {
            body: { name: 'once', scopes: ['read'] },
            headers: { 'Idempotency-Key': idempotencyKey },
          }),
        ),
      );
      const made = answers.filter(({ status }) => status === 201);
      expect(new Set(made.map(({ text }) => text)).size).toBe(1);
      expect(
        answers.every(
          (answer) =>
            answer.status === 201 || (answer.status === 409 && reasonOf(answer) === 'idempotency_in_progress'),
        ),
      ).toBe(true);
      expect((await agent.market.apiKeys.list()).filter(({ name }) => name === 'once').length).toBe(1);
      const reused = await agent.market.send('POST', '/api-keys', {
        body: { name: 'another', scopes: ['read'] },
        headers: { 'Idempotency-Key': idempotencyKey },
      });
      expect([reused.status, reasonOf(reused)]).toEqual([409, 'idempotency_key_reused']);
      // The stored answer contains a secret, so another key of the account must not get it, especially one with fewer
      // scopes.
      const lesser = await agent.market.apiKeys.create({ name: 'lesser', scopes: ['write'] });
      const stolen = await withKey(lesser.key).send('POST', '/api-keys', {
        body: { name: 'once', scopes: ['read'] },
        headers: { 'Idempotency-Key': idempotencyKey },
      });
      expect([stolen.status, reasonOf(stolen)]).toEqual([409, 'idempotency_key_reused']);
    });
  });

  it('is nobody with anything but exactly one well-formed Bearer key [spec: authentication-rule.1]', async () => {
    const agent = await registerAgent(harness);
    const key = agent.registration.api_key;
    const url = `${harness.baseUrl}/api/v1/me`;
    const wrong = [
      [],
      ['Bearer'],
      ['Bearer '],
      [key],
      [`Basic ${key}`],
      [`Token ${key}`],
      [`Bearer ${key}x`],
      [`Bearer ${key.slice(0, -1)}`],
      [`Bearer ${key.toUpperCase()}`],
      [`Bearer ${key}, Bearer ${key}`],
      [`Bearer  ${key}`],
      [`Bearer ${key.slice(0, 12)}`],
      [`Bearer am_k_${'A'.repeat(49)}`],
    ];
    const answers = await Promise.all(
      [
        ...wrong.map(([value]) => (value === undefined ? [] : ['authorization', value])),
        ['authorization', `Bearer ${key}`, 'authorization', `Bearer ${key}`],
      ].map((headers) => request(url, { headers })),
    );
    const bodies = await Promise.all(
      answers.map(async ({ statusCode, headers, body }) => ({
        statusCode,
        challenge: headers['www-authenticate'],
        body: await body.json(),
      })),
    );
    for (const answer of bodies)
      expect(answer).toEqual({ statusCode: 401, challenge: expect.stringContaining('Bearer'), body: bodies[0]!.body });
    expect((await request(`${url}?api_key=${key}`)).statusCode).toBe(401);
    expect((await request(url, { headers: { authorization: `bearer ${key}` } })).statusCode).toBe(200);
  });
});
