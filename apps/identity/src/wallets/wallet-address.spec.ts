import { randomBytes } from 'node:crypto';
import bs58 from 'bs58';
import fc from 'fast-check';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { smallOrderEncodings } from '../../test/support/edwards25519.js';
import { newEd25519Wallet } from '../../test/support/ed25519-wallet.js';
import { parseWalletAddress } from './wallet-address.js';

const evm = privateKeyToAccount(generatePrivateKey()).address;
const solana = bs58.encode(newEd25519Wallet().publicKey);

/** Changes the case of the EVM address's letters by the bits of `pattern`. */
function recased(pattern: Uint8Array): string {
  const letters = [...evm.slice(2)].map((letter, index) =>
    (pattern[index >> 3]! >> (index & 7)) & 1 ? letter.toUpperCase() : letter.toLowerCase(),
  );
  return `0x${letters.join('')}`;
}

describe('parseWalletAddress', () => {
  it('reads 200 spellings of one wallet as one address or as none', () => {
    const plain = [evm, evm.toLowerCase(), `0x${evm.slice(2).toUpperCase()}`];
    const decorated = plain.flatMap((text) => [
      ` ${text}`,
      `${text} `,
      `${text}\n`,
      `\t${text}`,
      `${text}\0`,
      `0X${text.slice(2)}`,
      text.slice(2),
      `0x0${text.slice(2)}`,
      `0x00${text.slice(2)}`,
      `eip155:1:${text}`,
      `ethereum:${text}`,
      `${text}.eth`,
      `\u200b${text}`,
      `${text}00`,
      text.slice(0, -1),
    ]);
    const spellings = [...plain, ...decorated, ...Array.from({ length: 160 }, () => recased(randomBytes(5)))];
    expect(spellings.length).toBeGreaterThanOrEqual(200);
    const read = spellings.map((text) => parseWalletAddress(text));
    expect(read.slice(0, 3)).toEqual([
      { chainType: 'evm', address: evm },
      { chainType: 'evm', address: evm },
      { chainType: 'evm', address: evm },
    ]);
    expect(new Set(read.filter((wallet) => wallet !== null).map((wallet) => wallet.address))).toEqual(new Set([evm]));
    expect(read.slice(3, 3 + decorated.length).every((wallet) => wallet === null)).toBe(true);
  });

  it('refuses mixed case with a wrong checksum', () => {
    for (const wrong of [
      '0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
      '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD',
      '0xffffffffffffffffffffffffffffffffffffffFf',
    ]) {
      expect(parseWalletAddress(wrong)).toBeNull();
    }
  });

  it.each([
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  ])('writes %s as EIP-55 does', (address) => {
    expect(parseWalletAddress(address.toLowerCase())).toEqual({ chainType: 'evm', address });
  });

  it('reads every Solana key in its one spelling', () => {
    for (let round = 0; round < 50; round += 1) {
      const address = bs58.encode(newEd25519Wallet().publicKey);
      expect(parseWalletAddress(address)).toEqual({ chainType: 'solana', address });
    }
  });

  it('refuses other spellings of a Solana key', () => {
    const bytes = Buffer.from(bs58.decode(solana));
    const spellings = [
      ` ${solana}`,
      `${solana} `,
      `${solana}\n`,
      `1${solana}`,
      `11${solana}`,
      `${solana}1`,
      `solana:${solana}`,
      bytes.toString('hex'),
      `0x${bytes.toString('hex')}`,
      bytes.toString('base64'),
    ];
    expect(spellings.filter((text) => parseWalletAddress(text) !== null)).toEqual([]);
  });

  it('refuses base58 of 31 and 33 bytes', () => {
    for (let round = 0; round < 100; round += 1) {
      expect(parseWalletAddress(bs58.encode(randomBytes(31)))).toBeNull();
      expect(parseWalletAddress(bs58.encode(randomBytes(33)))).toBeNull();
    }
  });

  it('refuses Solana addresses nobody can sign for: small order, off the curve', () => {
    expect(parseWalletAddress('11111111111111111111111111111111')).toBeNull();
    for (const weak of smallOrderEncodings()) expect(parseWalletAddress(bs58.encode(weak))).toBeNull();
    // No point of the curve has y = 2. The addresses of program-derived accounts are off the curve, too.
    expect(parseWalletAddress(bs58.encode(Uint8Array.of(2, ...new Uint8Array(31))))).toBeNull();
  });

  it('refuses arbitrary text without throwing', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.stringMatching(/^0x[0-9a-fA-FxX]{38,42}$/)),
        (text) => void parseWalletAddress(text),
      ),
      { numRuns: 1000 },
    );
    for (const text of ['', '0x', 'vitalik.eth', '0x'.repeat(60), '1'.repeat(1e6)])
      expect(parseWalletAddress(text)).toBeNull();
  });
});
