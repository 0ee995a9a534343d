import { countOf } from '@market/test-servers/threats';
import {
  findPaidSeller,
  findPayerWallet,
  findPayoutWallets,
  findSettlementWallets,
  getProfile,
  getWallet,
  linkedWallet,
  linkWallet,
  listWallets,
  updateWallet,
  walletLinked,
  walletSummary,
} from '@market/contracts/identity';
import { newId } from '@market/kernel';
import { newRequestContext } from '@market/messaging';
import { eventually } from '@market/testing';
import type { RequestOf } from '@market/contracts';
import { reasonOf, startIdentity, type IdentityHarness, type Known } from '../support/identity-harness.js';
import { evmTestWallet, solanaTestWallet, type TestWallet } from '../support/test-wallets.js';

describe('wallets', () => {
  let harness: IdentityHarness;
  let agent: Known;
  beforeAll(async () => {
    harness = await startIdentity();
  });
  afterAll(() => harness.stop());
  beforeEach(async () => {
    agent = await harness.agent();
  });

  const link = async (added: TestWallet, more: Partial<RequestOf<typeof linkWallet>> = {}, to = agent) =>
    harness.bus.request(
      linkWallet,
      {
        existing_wallet: await harness.prove(to.wallet, 'wallet_link', { by: to }),
        new_wallet: await harness.prove(added, 'wallet_link', { by: to }),
        ...more,
      },
      to.context,
    );
  const update = async (walletId: string, changes: Partial<RequestOf<typeof updateWallet>>, prover = agent.wallet) =>
    harness.bus.request(
      updateWallet,
      { wallet_id: walletId, proof: await harness.prove(prover, 'wallet_update'), ...changes },
      agent.context,
    );
  const list = async (of = agent) => (await harness.bus.request(listWallets, {}, of.context)).wallets;
  const firstId = async (): Promise<string> => (await list())[0]!.id;
  const everything = ['login', 'recovery', 'payer', 'payout'] as const;

  it('of a new account are the one it was registered with, which may do everything, as the profile says', async () => {
    const wallets = await list();
    expect(wallets).toEqual([
      {
        id: expect.any(String) as string,
        address: agent.wallet.address,
        chain_type: 'evm',
        label: null,
        is_primary: true,
        is_default_payer: true,
        is_default_payout: true,
        capabilities: everything,
        status: 'active',
        verified_at: expect.stringMatching(/Z$/) as string,
        created_at: expect.stringMatching(/Z$/) as string,
      },
    ]);
    expect(await harness.bus.request(getWallet, { wallet_id: wallets[0]!.id }, agent.context)).toEqual(wallets[0]);
    expect((await harness.bus.request(getProfile, {}, agent.context)).wallets).toEqual(
      wallets.map((wallet) => walletSummary.parse(wallet)),
    );
  });

  it('are linked when both agree, of either chain; the new one is told of and may not recover unless it is said', async () => {
    const received: unknown[] = [];
    await harness.link.consumeEvents(
      walletLinked.subject,
      async (events) => void received.push(...events.map((event) => event.payload)),
    );
    const [solana, evm] = [solanaTestWallet(), evmTestWallet()];
    const first = await link(solana, { label: 'cold 🧊' });
    expect(first).toMatchObject({
      address: solana.address,
      chain_type: 'solana',
      label: 'cold 🧊',
      is_primary: false,
      is_default_payer: false,
      is_default_payout: false,
      capabilities: ['login', 'payer', 'payout'],
      status: 'active',
    });
    expect(linkedWallet.safeParse(first).error).toBeUndefined();
    const second = await link(evm, { capabilities: ['recovery', 'login'] });
    expect(second).toMatchObject({ address: evm.address, label: null, capabilities: ['login', 'recovery'] });
    expect((await list()).map(({ address }) => address)).toEqual([agent.wallet.address, solana.address, evm.address]);
    await eventually(() =>
      expect(received).toEqual(
        expect.arrayContaining(
          [first, second].map(({ address, chain_type: chainType, created_at: linkedAt }) => ({
            accountId: agent.id,
            address,
            chainType,
            linkedAt,
          })),
        ),
      ),
    );
  });

  it('belong to one account: a wallet somebody has is not linked, whoever has it', async () => {
    const [other, human] = [await harness.agent(), await harness.human()];
    const mine = evmTestWallet();
    await link(mine);
    for (const taken of [other.wallet, human.wallet, mine, agent.wallet])
      expect(await reasonOf(link(taken))).toBe('wallet_already_linked');
    const wanted = solanaTestWallet();
    const agents = await Promise.all(Array.from({ length: 12 }, () => harness.agent()));
    const outcomes = await Promise.allSettled(agents.map((each) => link(wanted, {}, each)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(
      outcomes.flatMap((outcome) =>
        outcome.status === 'rejected' ? [(outcome.reason as { reason: string }).reason] : [],
      ),
    ).toEqual(Array.from({ length: 11 }, () => 'wallet_already_linked'));
  });

  it('are managed by an active wallet of the account that may recover it, and by no other', async () => {
    const [weak, strong, other] = [evmTestWallet(), evmTestWallet(), await harness.agent()];
    const { id } = await link(weak);
    await link(strong, { capabilities: ['recovery'] });
    await update(id, { label: 'by a second' }, strong);
    for (const prover of [weak, other.wallet, evmTestWallet()]) {
      expect(await reasonOf(update(id, { capabilities: [...everything] }, prover))).toBe('proof_not_sufficient');
      const existing_wallet = await harness.prove(prover, 'wallet_link');
      expect(await reasonOf(link(evmTestWallet(), { existing_wallet }))).toBe('proof_not_sufficient');
    }
    await update((await list()).find(({ address }) => address === strong.address)!.id, { status: 'disabled' });
    expect(await reasonOf(update(id, { label: 'no more' }, strong))).toBe('proof_not_sufficient');
    expect((await list()).find((wallet) => wallet.id === id)).toMatchObject({
      label: 'by a second',
      capabilities: ['login', 'payer', 'payout'],
    });
  });

  it('change in label, capabilities and status; a label may be taken away', async () => {
    const { id, verified_at, created_at } = await link(solanaTestWallet(), { label: 'one' });
    expect(await update(id, { label: 'two', capabilities: ['payout', 'payer'], status: 'disabled' })).toMatchObject({
      id,
      label: 'two',
      capabilities: ['payer', 'payout'],
      status: 'disabled',
      verified_at,
      created_at,
    });
    expect(await update(id, { label: null, status: 'active' })).toMatchObject({
      label: null,
      capabilities: ['payer', 'payout'],
      status: 'active',
    });
    expect(await update(id, {})).toMatchObject({ label: null, status: 'active' });
    for (const label of [' ', 'a\nb']) {
      expect(await reasonOf(update(id, { label }))).toBe('label_invalid');
      expect(await reasonOf(link(evmTestWallet(), { label }))).toBe('label_invalid');
    }
  });

  it('pass primary and defaults in one step, so that there never are two or none', async () => {
    const [a, b] = [await firstId(), (await link(evmTestWallet(), { capabilities: [...everything] })).id];
    const seen: { primary: number; payer: number; payout: number }[] = [];
    const count = async () => {
      const [counts] = await harness.db.inspect<{ primary: number; payer: number; payout: number }>(
        `SELECT count(*) FILTER (WHERE is_primary)::int AS primary,
           count(*) FILTER (WHERE is_default_payer)::int AS payer,
           count(*) FILTER (WHERE is_default_payout)::int AS payout
         FROM identity.wallets WHERE account_id = $1`,
        [agent.id],
      );
      seen.push(counts!);
    };
    await Promise.all(
      Array.from({ length: 24 }, async (_, index) => {
        await update(index % 2 ? a : b, { is_primary: true, is_default_payer: true, is_default_payout: true });
        await count();
      }),
    );
    expect(seen).toEqual(Array.from({ length: 24 }, () => ({ primary: 1, payer: 1, payout: 1 })));
    await update(b, { is_primary: true });
    expect((await harness.bus.request(getProfile, {}, agent.context)).wallet_address).not.toBe(agent.wallet.address);
    expect((await list()).map(({ id }) => id)).toEqual([b, a]);
  });

  it('always leave one that can recover, under 64 changes at once', async () => {
    for (let round = 0; round < countOf('lastWallets'); round += 1) {
      agent = await harness.agent();
      const ids = [
        await firstId(),
        (await link(evmTestWallet(), { capabilities: ['recovery'] })).id,
        (await link(solanaTestWallet(), { capabilities: ['recovery', 'login'] })).id,
      ];
      const outcomes = await Promise.allSettled(
        Array.from({ length: 64 }, (_, index) =>
          update(ids[index % 3]!, index % 2 ? { status: 'disabled' } : { capabilities: ['login', 'payer', 'payout'] }),
        ),
      );
      const reasons = new Set(
        outcomes.flatMap((outcome) =>
          outcome.status === 'rejected' ? [(outcome.reason as { reason: string }).reason] : [],
        ),
      );
      expect(
        [...reasons].filter(
          (reason) => reason !== 'would_remove_last_recovery_wallet' && reason !== 'proof_not_sufficient',
        ),
      ).toEqual([]);
      const left = await harness.db.inspect(
        "SELECT id FROM identity.wallets WHERE account_id = $1 AND status = 'active' AND 'recovery' = ANY (capabilities)",
        [agent.id],
      );
      expect(left.length).toBeGreaterThanOrEqual(1);
    }
    expect(await reasonOf(update(await firstId(), { status: 'disabled', capabilities: ['login'] }))).toMatch(
      /would_remove_last_recovery_wallet|proof_not_sufficient/,
    );
  });

  it('refuse what would break the rules, and write nothing', async () => {
    const [a, b] = [await firstId(), (await link(evmTestWallet(), { capabilities: ['payout'] })).id];
    const before = await list();
    expect(await reasonOf(update(a, { status: 'disabled' }))).toBe('would_remove_last_recovery_wallet');
    expect(await reasonOf(update(a, { capabilities: ['login'] }))).toBe('would_remove_last_recovery_wallet');
    expect(await reasonOf(update(a, { is_primary: false }))).toBe('primary_wallet_required');
    expect(await reasonOf(update(b, { is_default_payer: true, label: 'x' }))).toBe('wallet_not_eligible');
    expect(await list()).toEqual(before);
  });

  it('exist for their own account alone', async () => {
    const other = await harness.agent();
    const [theirs] = await list(other);
    for (const walletId of [theirs!.id, newId()]) {
      expect(await reasonOf(harness.bus.request(getWallet, { wallet_id: walletId }, agent.context))).toBe(
        'wallet_not_found',
      );
      expect(await reasonOf(update(walletId, { label: 'mine' }))).toBe('wallet_not_found');
      expect(await reasonOf(update(walletId, { label: 'mine' }, other.wallet))).toBe('wallet_not_found');
    }
    expect(await list(other)).toEqual([theirs]);
  });

  it('are at most 50 to an account', async () => {
    await harness.db.inspect(
      `INSERT INTO identity.wallets (id, account_id, chain_type, address, capabilities, status)
       SELECT gen_random_uuid(), $1::uuid, 'evm', $1::text || '/' || n, '{payer}', 'active'
       FROM generate_series(1, 49) n`,
      [agent.id],
    );
    const outcome: unknown = await link(evmTestWallet()).catch((error: unknown) => error);
    expect(outcome).toMatchObject({ reason: 'too_many_wallets', details: { maximum: 50 } });
  });

  it('pay for calls when they are active, may pay and are of the caller', async () => {
    const find = (walletId: string) => harness.gatewayBus.request(findPayerWallet, { walletId }, agent.context);
    const [a, b] = [await firstId(), (await link(solanaTestWallet())).id];
    expect(await find(a)).toEqual({ id: a, address: agent.wallet.address, chainType: 'evm' });
    expect(await find(b)).toMatchObject({ id: b, chainType: 'solana' });
    await update(b, { capabilities: ['login', 'payout'] });
    expect(await reasonOf(find(b))).toBe('wallet_not_found');
    await update(b, { capabilities: ['payer'], status: 'disabled' });
    for (const id of [b, newId(), (await list(await harness.agent()))[0]!.id])
      expect(await reasonOf(find(id))).toBe('wallet_not_found');
  });

  it('settle payments from the one named or the default and to the default, each of the kind of chain asked for', async () => {
    const seller = await harness.agent();
    const find = (payerChainType: 'evm' | 'solana', payoutChainType: 'evm' | 'solana', payerWalletId?: string) =>
      harness.ledgerBus.request(
        findSettlementWallets,
        { payerChainType, payerWalletId, sellerId: seller.id, payoutChainType },
        agent.context,
      );
    const first = agent.wallet.address;
    expect(await find('evm', 'evm')).toEqual({ payer: first, payout: seller.wallet.address });
    expect(await find('solana', 'solana')).toEqual({ payer: null, payout: null });
    const [second, solana] = [await link(evmTestWallet()), await link(solanaTestWallet())];
    expect(await find('evm', 'evm', second.id)).toMatchObject({ payer: second.address });
    expect(await find('solana', 'evm')).toMatchObject({ payer: solana.address });
    expect(await find('solana', 'evm', second.id)).toMatchObject({ payer: null });
    expect(await find('evm', 'evm', (await list(seller))[0]!.id)).toMatchObject({ payer: null });
    await update(second.id, { is_default_payer: true });
    expect(await find('evm', 'evm')).toMatchObject({ payer: second.address });
    await update(second.id, { status: 'disabled' });
    expect(await find('evm', 'evm')).toMatchObject({ payer: first });
    await update(solana.id, { capabilities: ['login'] });
    expect(await find('solana', 'evm')).toMatchObject({ payer: null });
  });

  it('are what sellers are paid to: of several at once the default of the kind of chain, or none, and back again', async () => {
    const [other, stranger] = [await harness.agent(), newId()];
    const find = async (chainType: 'evm' | 'solana' = 'evm') =>
      (
        await harness.ledgerBus.request(
          findPayoutWallets,
          { sellerIds: [agent.id, stranger, other.id, agent.id], chainType },
          newRequestContext(),
        )
      ).payouts;
    const sellerOf = async (address: string) =>
      (await harness.bus.request(findPaidSeller, { address }, newRequestContext())).sellerId;
    const [first, theirs] = [agent.wallet.address, other.wallet.address];
    expect(await find()).toEqual([first, null, theirs, first]);
    expect(await find('solana')).toEqual([null, null, null, null]);
    const [second, solana] = [await link(evmTestWallet()), await link(solanaTestWallet())];
    expect(await find('solana')).toEqual([solana.address, null, null, solana.address]);
    expect(await find()).toEqual([first, null, theirs, first]);
    await update(second.id, { is_default_payout: true });
    expect(await find()).toEqual([second.address, null, theirs, second.address]);
    expect(await Promise.all([second.address, second.address.toLowerCase(), solana.address].map(sellerOf))).toEqual([
      agent.id,
      agent.id,
      agent.id,
    ]);
    expect(await Promise.all([first, evmTestWallet().address, 'nonsense', ''].map(sellerOf))).toEqual([
      null,
      null,
      null,
      null,
    ]);
    await update(second.id, { status: 'disabled' });
    expect(await find()).toEqual([first, null, theirs, first]);
    expect(await sellerOf(second.address)).toBeNull();
  });
});
