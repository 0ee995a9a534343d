import { countOf } from '@market/test-servers/threats';
import fc from 'fast-check';
import { recoverMessageAddress, toHex, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { verifyPersonalSign } from './evm-signature.js';

const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const account = privateKeyToAccount(generatePrivateKey());
const message = 'market.example wants you to sign in — ünïcode too';

interface Parts {
  r: bigint;
  s: bigint;
  v: number;
}
const split = (signature: Hex): Parts => ({
  r: BigInt(signature.slice(0, 66)),
  s: BigInt(`0x${signature.slice(66, 130)}`),
  v: Number(`0x${signature.slice(130)}`),
});
const join = ({ r, s, v }: Parts): Hex =>
  `${toHex(r, { size: 32 })}${toHex(s, { size: 32 }).slice(2)}${toHex(v, { size: 1 }).slice(2)}`;

describe('verifyPersonalSign', () => {
  it('accepts what a wallet signs, for that wallet and that text only', async () => {
    const other = privateKeyToAccount(generatePrivateKey());
    for (const text of [message, '', '0x1234', 'a\nb']) {
      const signature = await account.signMessage({ message: text });
      expect(await verifyPersonalSign(account.address, text, signature)).toBe(true);
      expect(await verifyPersonalSign(other.address, text, signature)).toBe(false);
      expect(await verifyPersonalSign(account.address, `${text} `, signature)).toBe(false);
    }
  });

  it('accepts one of the four byte strings viem reads as the same signature', async () => {
    const { r, s, v } = split(await account.signMessage({ message }));
    const spellings = [
      { r, s, v },
      { r, s, v: v - 27 },
      { r, s: N - s, v: 55 - v },
      { r, s: N - s, v: 28 - v },
    ].map(join);
    const accepted = await Promise.all(
      spellings.map((signature) => verifyPersonalSign(account.address, message, signature)),
    );
    const byViem = await Promise.all(spellings.map((signature) => recoverMessageAddress({ message, signature })));
    expect(byViem).toEqual([account.address, account.address, account.address, account.address]);
    expect(accepted).toEqual([true, false, false, false]);
  });

  it('refuses high s and every other v', async () => {
    for (let round = 0; round < 50; round += 1) {
      const text = `${message} ${round}`;
      const { r, s, v } = split(await account.signMessage({ message: text }));
      expect(await verifyPersonalSign(account.address, text, join({ r, s: N - s, v: 55 - v }))).toBe(false);
    }
    const parts = split(await account.signMessage({ message }));
    for (let v = 0; v < 256; v++) {
      expect(await verifyPersonalSign(account.address, message, join({ ...parts, v }))).toBe(v === parts.v);
    }
  });

  it('refuses every flip of one bit', async () => {
    for (let n = 0; n < countOf('evmFlips'); n += 1) {
      const text = `${message} ${n}`;
      const bytes = Buffer.from((await account.signMessage({ message: text })).slice(2), 'hex');
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        const flipped = Uint8Array.from(bytes);
        flipped[bit >> 3]! ^= 1 << (bit & 7);
        expect(await verifyPersonalSign(account.address, text, toHex(flipped))).toBe(false);
      }
    }
  });

  it('answers false to r and s outside the group and to r that is on no curve point', async () => {
    const { r, s, v } = split(await account.signMessage({ message }));
    for (const bad of [0n, N, N + 1n, 2n ** 256n - 1n]) {
      expect(await verifyPersonalSign(account.address, message, join({ r: bad, s, v }))).toBe(false);
      expect(await verifyPersonalSign(account.address, message, join({ r, s: bad, v }))).toBe(false);
    }
    for (let small = 1n; small < 20n; small++)
      expect(await verifyPersonalSign(account.address, message, join({ r: small, s, v }))).toBe(false);
  });

  it('answers false to malformed text and never throws', async () => {
    const signature = await account.signMessage({ message });
    const malformed = [
      '',
      '0x',
      signature.slice(2),
      `0X${signature.slice(2)}`,
      `${signature}00`,
      signature.slice(0, -2),
      ` ${signature}`,
      `${signature}\n`,
      `0x${'zz'.repeat(65)}`,
      `0x${'00'.repeat(65)}`,
      `0x${'ff'.repeat(65)}`,
    ];
    for (const text of malformed) expect(await verifyPersonalSign(account.address, message, text)).toBe(false);
    const hex = fc.stringMatching(/^0x[0-9a-f]{130}$/);
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), hex), async (text) => {
        expect(await verifyPersonalSign(account.address, message, text)).toBe(false);
      }),
      { numRuns: 300 },
    );
  });
});
