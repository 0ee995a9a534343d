import { walletCapability, walletStatus, type WalletCapability } from '@market/contracts/identity';
import fc from 'fast-check';
import { changeWallet, mayRecover, type WalletChanges, type WalletState } from './wallet-set.js';

const everything = walletCapability.options;
const first: WalletState = {
  id: 'a',
  label: null,
  is_primary: true,
  is_default_payer: true,
  is_default_payout: true,
  capabilities: everything,
  status: 'active',
};
const linked = (id: string, capabilities: WalletCapability[] = ['login', 'payer', 'payout']): WalletState => ({
  ...first,
  id,
  is_primary: false,
  is_default_payer: false,
  is_default_payout: false,
  capabilities,
});

function after(wallets: readonly WalletState[], id: string, changes: WalletChanges): readonly WalletState[] {
  const result = changeWallet(wallets, id, changes);
  if ('reason' in result) throw new Error(result.reason);
  return result;
}

const holderOf = (wallets: readonly WalletState[], flag: 'is_primary' | 'is_default_payer' | 'is_default_payout') =>
  wallets.filter((wallet) => wallet[flag]).map(({ id }) => id);

describe('the wallets of an account', () => {
  it('pass primary and defaults from one to another', () => {
    const wallets = after([first, linked('b')], 'b', { is_primary: true, is_default_payout: true });
    expect([
      holderOf(wallets, 'is_primary'),
      holderOf(wallets, 'is_default_payer'),
      holderOf(wallets, 'is_default_payout'),
    ]).toEqual([['b'], ['a'], ['b']]);
  });

  it.each<[string, WalletState[], string, WalletChanges, object]>([
    [
      'the only recovery wallet is not disabled',
      [first, linked('b')],
      'a',
      { status: 'disabled' },
      { reason: 'would_remove_last_recovery_wallet' },
    ],
    [
      'nor does it lose that capability',
      [first, linked('b')],
      'a',
      { capabilities: ['login', 'payer', 'payout'] },
      { reason: 'would_remove_last_recovery_wallet' },
    ],
    [
      'a disabled wallet that could recover does not count',
      [first, { ...linked('b', ['recovery']), status: 'disabled' }],
      'a',
      { status: 'disabled' },
      { reason: 'would_remove_last_recovery_wallet' },
    ],
    [
      'there is always a primary one',
      [first, linked('b')],
      'a',
      { is_primary: false },
      { reason: 'primary_wallet_required' },
    ],
    [
      'a disabled one does not become primary',
      [first, { ...linked('b'), status: 'disabled' }],
      'b',
      { is_primary: true },
      { reason: 'wallet_not_eligible', field: 'is_primary' },
    ],
    [
      'one that may not pay does not become default payer',
      [first, linked('b', ['payout'])],
      'b',
      { is_default_payer: true },
      { reason: 'wallet_not_eligible', field: 'is_default_payer' },
    ],
    [
      'nor one that stops being able to',
      [first, linked('b')],
      'b',
      { is_default_payout: true, capabilities: ['payer'] },
      { reason: 'wallet_not_eligible', field: 'is_default_payout' },
    ],
  ])('%s', (_rule, wallets, id, changes, denial) => {
    expect(changeWallet(wallets, id, changes)).toEqual(denial);
  });

  it('leave what a disabled one was to the oldest that can be it, or to none', () => {
    const wallets = after([first, linked('b', ['payout']), linked('c', ['recovery', 'payout'])], 'a', {
      status: 'disabled',
    });
    expect([
      holderOf(wallets, 'is_primary'),
      holderOf(wallets, 'is_default_payer'),
      holderOf(wallets, 'is_default_payout'),
    ]).toEqual([['b'], [], ['b']]);
  });

  it('do without a default that is given up', () => {
    expect(holderOf(after([first, linked('b')], 'a', { is_default_payer: false }), 'is_default_payer')).toEqual([]);
    expect(
      holderOf(after([first, linked('b')], 'b', { is_default_payer: false, is_primary: false }), 'is_default_payer'),
    ).toEqual(['a']);
  });

  it('keep their rules through any sequence of changes, and change nothing but what was asked and what follows from it', () => {
    const flag = fc.option(fc.boolean(), { nil: undefined });
    const changes = fc.record({
      label: fc.option(fc.string(), { nil: undefined }),
      is_primary: flag,
      is_default_payer: flag,
      is_default_payout: flag,
      capabilities: fc.option(fc.subarray(everything, { minLength: 1 }), { nil: undefined }),
      status: fc.option(fc.constantFrom(...walletStatus.options), { nil: undefined }),
    });
    const others = fc
      .array(fc.subarray(everything, { minLength: 1 }), { maxLength: 3 })
      .map((sets) => sets.map((capabilities, index) => linked('bcd'[index]!, capabilities)));
    fc.assert(
      fc.property(
        others,
        fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), changes), { maxLength: 12 }),
        (rest, steps) => {
          let wallets: readonly WalletState[] = [first, ...rest];
          for (const [id, change] of steps) {
            const target = wallets.find((wallet) => wallet.id === id);
            if (!target) continue;
            const next = changeWallet(wallets, id, change);
            if ('reason' in next) continue;
            const isHeldByOneThatMay = (
              name: 'is_default_payer' | 'is_default_payout',
              capability: 'payer' | 'payout',
            ) => {
              const holders = next.filter((wallet) => wallet[name]);
              const mayHold = ({ status, capabilities }: WalletState) =>
                status === 'active' && capabilities.includes(capability);
              return holders.length <= 1 && holders.every(mayHold);
            };
            const asked = (['is_primary', 'is_default_payer', 'is_default_payout'] as const).filter(
              (name) => change[name] !== undefined,
            );
            const changed = next.find((wallet) => wallet.id === id)!;
            expect({
              mayRecover: next.some(mayRecover),
              primary: next.filter(({ is_primary }) => is_primary).map(({ status }) => status),
              defaults: [
                isHeldByOneThatMay('is_default_payer', 'payer'),
                isHeldByOneThatMay('is_default_payout', 'payout'),
              ],
              asked: asked.map((name) => changed[name]),
              wallets: next,
            }).toEqual({
              mayRecover: true,
              primary: ['active'],
              defaults: [true, true],
              asked: asked.map((name) => change[name]),
              wallets: wallets.map((before) =>
                expect.objectContaining({
                  id: before.id,
                  label: (before.id === id ? change.label : undefined) ?? before.label,
                  capabilities: (before.id === id ? change.capabilities : undefined) ?? before.capabilities,
                  status: (before.id === id ? change.status : undefined) ?? before.status,
                }),
              ),
            });
            wallets = next;
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
