import * as identity from '@market/contracts/identity';
import type { ZodType } from 'zod';
import { isPrintable } from './printable-text.js';

/** What is compared, or shown to operators alone. */
const UNSEEN = [
  ...['wallet_address', 'walletAddress', 'address', 'signature', 'nonce', 'pow_nonce'],
  ...['sign_in', 'code', 'claim_code', 'state', 'iss'],
  ...['query', 'command', 'subject', 'reason'],
];

describe('isPrintable', () => {
  it.each(['Ada', 'a', '  Ada  ', 'Zoë 李 🦉', '👩‍🚀', "Robert'); DROP TABLE accounts;--"])('accepts %p', (text) => {
    expect(isPrintable(text)).toBe(true);
  });

  it.each([
    '',
    ' ',
    '\t\n',
    'a\0b',
    'a\nb',
    '\u001b[31m',
    '\ud800',
    'A\u200bda',
    'A\u2060da',
    '\ufeffAda',
    'Ada\u202e',
  ])('refuses text that is no name (case %#)', (text) => {
    expect(isPrintable(text)).toBe(false);
  });
});

describe('the names that others see', () => {
  it('are all known to be refused where they hide something', () => {
    const requests = Object.entries(identity) as [string, { input?: { shape?: Record<string, ZodType> } }][];
    const taken = requests.flatMap(([request, { input }]) =>
      Object.entries(input?.shape ?? {})
        .filter(([field, type]) => !UNSEEN.includes(field) && type.safeParse('hid\u200bden').success)
        .map(([field]) => `${request} ${field}`),
    );
    // Each of these requests asks `isPrintable`, which its own tests prove.
    expect(taken.sort()).toEqual([
      'createApiKey name',
      'linkWallet label',
      'register display_name',
      'updateWallet label',
    ]);
  });
});
