import { countOf } from '@market/test-servers/threats';
import {
  agentRegistered,
  authenticate,
  challengePurpose,
  getAgents,
  getProfile,
  hashApiKey,
  register,
  registrationWorkSolved,
  walletLinked,
} from '@market/contracts/identity';
import { solvesProofOfWork } from '@market/kernel';
import { newRequestContext } from '@market/messaging';
import { eventually } from '@market/testing';
import bs58 from 'bs58';
import { plusGroupOrder, smallOrderEncodings } from '../support/edwards25519.js';
import { reasonOf, solve, startIdentity, type IdentityHarness } from '../support/identity-harness.js';
import { evmTestWallet, solanaTestWallet, type TestWallet } from '../support/test-wallets.js';

describe('register', () => {
  let harness: IdentityHarness;
  beforeAll(async () => {
    harness = await startIdentity();
  });
  afterAll(() => harness.stop());

  const countAccounts = async (): Promise<number> =>
    (await harness.db.inspect<{ n: number }>('SELECT count(*)::int AS n FROM identity.accounts'))[0]!.n;
  const written = async (): Promise<unknown> =>
    (
      await harness.db
        .inspect(`SELECT (SELECT count(*) FROM identity.accounts) AS accounts, (SELECT count(*) FROM identity.wallets) AS wallets,
        (SELECT count(*) FROM identity.api_keys) AS keys, (SELECT count(*) FROM identity.outbox) AS events`)
    )[0];

  it.each([
    ['EVM', evmTestWallet, 'evm'],
    ['Solana', solanaTestWallet, 'solana'],
  ])(
    'opens an account for an %s wallet, with a key that authenticates and may do everything',
    async (_name, newWallet, chainType) => {
      const wallet = newWallet();
      const registration = await harness.register(wallet, { display_name: 'Ada 🦉' });
      expect(registration).toEqual({
        user_id: expect.any(String) as string,
        wallet_address: wallet.address,
        account_type: 'agent',
        api_key: expect.stringMatching(/^am_k_[0-9A-Za-z]{49}$/) as string,
        authorization_header: `Bearer ${registration.api_key}`,
      });
      const context = await harness.contextWith(registration.api_key);
      expect(context.principal).toEqual({
        accountId: registration.user_id,
        accountType: 'agent',
        role: 'both',
        displayName: 'Ada 🦉',
        keyId: expect.any(String) as string,
        scopes: ['read', 'write', 'subscribe'],
      });
      const profile = await harness.bus.request(getProfile, {}, context);
      expect(profile).toEqual({
        id: registration.user_id,
        display_name: 'Ada 🦉',
        wallet_address: wallet.address,
        account_type: 'agent',
        role: 'both',
        is_verified: false,
        bio: null,
        avatar_url: null,
        website: null,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
        wallets: [
          {
            id: expect.any(String) as string,
            address: wallet.address,
            chain_type: chainType,
            label: null,
            is_primary: true,
            is_default_payer: true,
            is_default_payout: true,
            capabilities: ['login', 'recovery', 'payer', 'payout'],
            status: 'active',
            created_at: expect.stringMatching(/Z$/) as string,
          },
        ],
      });
      expect(getProfile.output.safeParse(profile).error).toBeUndefined();
    },
  );

  it('names an account after its wallet when no name is given, and tells of it, of its wallet and of its work', async () => {
    const received: Record<string, unknown[]> = {};
    for (const { subject } of [agentRegistered, walletLinked, registrationWorkSolved])
      await harness.link.consumeEvents(
        subject,
        async (events) => void (received[subject] ??= []).push(...events.map((event) => event.payload)),
      );
    const wallet = evmTestWallet();
    const { user_id: id } = await harness.register(wallet);
    const display_name = `Agent ${wallet.address.slice(0, 6)}…${wallet.address.slice(-4)}`;
    const agent = { id, display_name, avatar_url: null, account_type: 'agent', is_verified: false };
    const at = expect.stringMatching(/^\d{4}-.*Z$/) as string;
    // Events of earlier accounts may still arrive.
    const ofThis = (payloads: unknown[]): unknown[] =>
      payloads.filter((payload) => JSON.stringify(payload).includes(id));
    await eventually(() =>
      expect(
        Object.fromEntries(Object.entries(received).map(([subject, payloads]) => [subject, ofThis(payloads)])),
      ).toEqual({
        [agentRegistered.subject]: [{ agent, registeredAt: at }],
        [walletLinked.subject]: [{ accountId: id, address: wallet.address, chainType: 'evm', linkedAt: at }],
        [registrationWorkSolved.subject]: [
          { accountId: id, difficulty: 1, solveMs: expect.any(Number) as number, solvedAt: at },
        ],
      }),
    );
    const unknown = '018f6d1e-0000-7000-8000-000000000001';
    expect(await harness.bus.request(getAgents, { ids: [unknown, id] }, newRequestContext())).toEqual({
      agents: [agent],
    });
  });

  it('consumes a nonce once, whoever of 64 at the same time comes first, and never again', async () => {
    for (let n = 0; n < countOf('signers'); n += 1) {
      const wallet = evmTestWallet();
      const { message, nonce, pow } = await harness.challenge(wallet);
      const answer = {
        wallet_address: wallet.address,
        signature: await wallet.sign(message),
        nonce,
        pow_nonce: solve(pow),
      };
      const before = await countAccounts();
      const outcomes = await Promise.allSettled(
        Array.from({ length: 64 }, () => harness.bus.request(register, answer, newRequestContext())),
      );
      const refused = outcomes
        .filter((outcome) => outcome.status === 'rejected')
        .map((outcome) => (outcome.reason as { reason: string }).reason);
      expect(refused).toEqual(Array.from({ length: 63 }, () => 'challenge_invalid'));
      expect(await reasonOf(harness.bus.request(register, answer, newRequestContext()))).toBe('challenge_invalid');
      expect(await countAccounts()).toBe(before + 1);
    }
  });

  it('gives one account and one key to a wallet that registers 16 times at once, in any spelling', async () => {
    for (let n = 0; n < countOf('registrations'); n += 1) {
      const wallet = evmTestWallet();
      const spellings = [wallet.address, wallet.address.toLowerCase(), `0x${wallet.address.slice(2).toUpperCase()}`];
      const answers = await Promise.all(
        Array.from({ length: 16 }, async (_, index) => {
          const walletAddress = spellings[index % spellings.length]!;
          const { message, nonce, pow } = await harness.challenge({ address: walletAddress });
          return { wallet_address: walletAddress, signature: await wallet.sign(message), nonce, pow_nonce: solve(pow) };
        }),
      );
      const outcomes = await Promise.allSettled(
        answers.map((answer) => harness.bus.request(register, answer, newRequestContext())),
      );
      const registered = outcomes.filter((outcome) => outcome.status === 'fulfilled');
      const refused = outcomes
        .filter((outcome) => outcome.status === 'rejected')
        .map((outcome) => (outcome.reason as { reason: string }).reason);
      expect(registered).toHaveLength(1);
      expect(refused).toEqual(Array.from({ length: 15 }, () => 'wallet_already_registered'));
      const rows = await harness.db.inspect(
        'SELECT k.id FROM identity.wallets w JOIN identity.api_keys k USING (account_id) WHERE w.address = $1',
        [wallet.address],
      );
      expect(rows).toHaveLength(1);
      expect(await reasonOf(harness.register({ ...wallet, address: spellings[1]! }))).toBe('wallet_already_registered');
    }
  });

  it('refuses the answer to a challenge of any other purpose', async () => {
    const wallet = solanaTestWallet();
    const by = await harness.human();
    for (const purpose of challengePurpose.options.filter((option) => option !== 'registration')) {
      const { message, nonce, pow } = await harness.challenge(wallet, purpose, { agentId: by.id, by });
      expect(
        await reasonOf(
          harness.register(wallet, { signature: await wallet.sign(message), nonce, pow_nonce: solve(pow) }),
        ),
      ).toBe('challenge_invalid');
      expect(await reasonOf(harness.register(wallet, { signature: await wallet.sign(message) }))).toBe(
        'signature_invalid',
      );
    }
  });

  it("refuses another wallet's challenge and another wallet's signature", async () => {
    const [mine, theirs] = [evmTestWallet(), evmTestWallet()];
    const { message, nonce, pow } = await harness.challenge(theirs);
    expect(
      await reasonOf(harness.register(mine, { nonce, pow_nonce: solve(pow), signature: await mine.sign(message) })),
    ).toBe('challenge_invalid');
    expect(
      await reasonOf(harness.register(theirs, { nonce, pow_nonce: solve(pow), signature: await mine.sign(message) })),
    ).toBe('signature_invalid');
  });

  it('refuses a signature over the message with any one line changed', async () => {
    const wallet = evmTestWallet();
    const lines = (await harness.challenge(wallet)).message.split('\n').length;
    for (let line = 0; line < lines; line += 1) {
      const { message, nonce, pow } = await harness.challenge(wallet);
      const changed = message.split('\n').map((text, index) => (index === line ? `${text}x` : text));
      expect(
        await reasonOf(
          harness.register(wallet, { nonce, pow_nonce: solve(pow), signature: await wallet.sign(changed.join('\n')) }),
        ),
      ).toBe('signature_invalid');
    }
    const { message, nonce, pow } = await harness.challenge(wallet);
    const elsewhere = await wallet.sign(message.replaceAll('market.example', 'evil.example'));
    expect(await reasonOf(harness.register(wallet, { nonce, pow_nonce: solve(pow), signature: elsewhere }))).toBe(
      'signature_invalid',
    );
  });

  describe('with a bad signature', () => {
    const evm = evmTestWallet();
    const solana = solanaTestWallet();
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const highS = (signature: string): string => {
      const s = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0');
      return `${signature.slice(0, 66)}${s}${signature.endsWith('1b') ? '1c' : '1b'}`;
    };
    const weak = smallOrderEncodings()[0]!;

    it.each<[string, TestWallet, (signature: string) => string]>([
      ['text', evm, () => 'signed, Ada'],
      ['a NUL', evm, () => '\0'],
      ['one that lacks a byte', evm, (signature) => signature.slice(0, -2)],
      ['one with a byte more', evm, (signature) => `${signature}00`],
      ['0X', evm, (signature) => `0X${signature.slice(2)}`],
      ['high s', evm, highS],
      ['v of 0 or 1', evm, (signature) => `${signature.slice(0, -2)}${signature.endsWith('1b') ? '00' : '01'}`],
      ['the other v', evm, (signature) => `${signature.slice(0, -2)}${signature.endsWith('1b') ? '1c' : '1b'}`],
      ['zeros', evm, () => `0x${'0'.repeat(130)}`],
      ['ones', evm, () => `0x${'f'.repeat(130)}`],
      ['one of the longest text', evm, () => 'f'.repeat(1024)],
      ['hex', solana, (signature) => Buffer.from(bs58.decode(signature)).toString('hex')],
      [
        'base64 without padding',
        solana,
        (signature) => Buffer.from(bs58.decode(signature)).toString('base64').replace('==', ''),
      ],
      ['63 bytes', solana, (signature) => bs58.encode(bs58.decode(signature).slice(1))],
      ['65 bytes', solana, (signature) => bs58.encode(Uint8Array.of(1, ...bs58.decode(signature)))],
      ['S + L', solana, (signature) => bs58.encode(plusGroupOrder(bs58.decode(signature)))],
      ['R of small order', solana, (signature) => bs58.encode(Buffer.concat([weak, bs58.decode(signature).slice(32)]))],
      ['zeros', solana, () => bs58.encode(new Uint8Array(64))],
    ])('refuses %s (%#) and writes nothing', async (_name, wallet, spoil) => {
      const before = await written();
      const { message, nonce, pow } = await harness.challenge(wallet);
      const signature = await wallet.sign(message);
      expect(
        await reasonOf(harness.register(wallet, { nonce, pow_nonce: solve(pow), signature: spoil(signature) })),
      ).toBe('signature_invalid');
      expect(await written()).toEqual(before);
      // A second signature for the same proof of work is not checked.
      expect(await reasonOf(harness.register(wallet, { nonce, pow_nonce: solve(pow), signature }))).toBe(
        'challenge_invalid',
      );
    });
  });

  it('refuses wallets nobody holds and text that is none', async () => {
    const addresses = [
      'vitalik.eth',
      '11111111111111111111111111111111',
      `0X${'a'.repeat(40)}`,
      '0x\0',
      '\0',
      ...smallOrderEncodings().map((bytes) => bs58.encode(bytes)),
    ];
    for (const walletAddress of addresses) {
      expect(await reasonOf(harness.challenge({ address: walletAddress }))).toBe('wallet_address_invalid');
      expect(await reasonOf(harness.register(evmTestWallet(), { wallet_address: walletAddress }))).toBe(
        'wallet_address_invalid',
      );
    }
  });

  it('refuses nonces it never gave, whatever they look like', async () => {
    for (const nonce of ['\0', "' OR 1=1", '0'.repeat(32), 'é'.repeat(64), 'a'.repeat(128)])
      expect(await reasonOf(harness.register(evmTestWallet(), { nonce }))).toBe('challenge_invalid');
  });

  it('refuses a wrong proof of work without using up the challenge', async () => {
    const wallet = evmTestWallet();
    const { message, nonce, pow } = await harness.challenge(wallet);
    const signature = await wallet.sign(message);
    const unsolved = Array.from({ length: 100 }, (_, index) => `x${index}`).find(
      (powNonce) => !solvesProofOfWork(pow.challenge, powNonce, pow.difficulty),
    )!;
    for (const powNonce of [unsolved, '\0', '!', ' ']) {
      const error: unknown = await harness.bus
        .request(
          register,
          { wallet_address: wallet.address, signature, nonce, pow_nonce: powNonce },
          newRequestContext(),
        )
        .catch((reason: unknown) => reason);
      expect(error).toMatchObject({ reason: 'proof_of_work_invalid', details: { difficulty: pow.difficulty } });
    }
    await harness.register(wallet, { nonce, signature, pow_nonce: solve(pow) });
  });

  it('refuses an expired challenge', async () => {
    const wallet = evmTestWallet();
    const { message, nonce, pow } = await harness.challenge(wallet);
    await harness.db.inspect("UPDATE identity.challenges SET expires_at = now() - interval '1 ms' WHERE nonce = $1", [
      nonce,
    ]);
    expect(
      await reasonOf(harness.register(wallet, { nonce, pow_nonce: solve(pow), signature: await wallet.sign(message) })),
    ).toBe('challenge_invalid');
  });

  it('measures the work from handing out the challenge to its use, by the clock of PostgreSQL', async () => {
    const wallet = evmTestWallet();
    const { message, nonce, pow } = await harness.challenge(wallet);
    await harness.db.inspect(
      "UPDATE identity.challenges SET issued_at = issued_at - interval '42 seconds' WHERE nonce = $1",
      [nonce],
    );
    const issued = (
      await harness.db.inspect<{ at: Date }>('SELECT issued_at AS at FROM identity.challenges WHERE nonce = $1', [
        nonce,
      ])
    )[0]!.at;
    const signature = await wallet.sign(message.replace(/Issued At: .*/, `Issued At: ${issued.toISOString()}`));
    const { user_id: id } = await harness.register(wallet, { nonce, signature, pow_nonce: solve(pow) });
    const events = await harness.db.inspect<{ payload: { accountId: string; solveMs: number } }>(
      'SELECT payload FROM identity.outbox WHERE subject = $1',
      [registrationWorkSolved.subject],
    );
    const { solveMs } = events.map(({ payload }) => payload).find(({ accountId }) => accountId === id)!;
    expect(solveMs).toBeGreaterThanOrEqual(42_000);
    expect(solveMs).toBeLessThan(60_000);
  });

  it("refuses a human's wallet, and sends it to the door for humans", async () => {
    const human = await harness.human();
    expect(await reasonOf(harness.register(human.wallet))).toBe('wallet_is_a_humans');
  });

  it('refuses names that cannot be read, before the challenge is used up', async () => {
    const wallet = evmTestWallet();
    const { message, nonce, pow } = await harness.challenge(wallet);
    const answer = { nonce, pow_nonce: solve(pow), signature: await wallet.sign(message) };
    for (const display_name of [' ', 'a\0b', 'a\nb', '\u001b[31m', '\ud800'])
      expect(await reasonOf(harness.register(wallet, { ...answer, display_name }))).toBe('display_name_invalid');
    const { api_key } = await harness.register(wallet, { ...answer, display_name: '🦉'.repeat(100) });
    expect(
      await harness.bus.request(authenticate, { keyHash: hashApiKey(api_key)! }, newRequestContext()),
    ).toMatchObject({
      displayName: '🦉'.repeat(100),
    });
  });
});
