import fc from 'fast-check';
import { bytesToHex } from 'viem';
import { HDKey, privateKeyToAddress } from 'viem/accounts';
import { depositPath } from '../deposit-path.js';
import { DepositAddresses } from './deposit-addresses.js';

const relayId = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);

describe('deposit addresses', () => {
  const owner = HDKey.fromMasterSeed(Buffer.alloc(32, 7));
  const addresses = new DepositAddresses(owner.publicExtendedKey);

  it('are those whose key the owner of the private half derives from the offer alone', () => {
    fc.assert(
      fc.property(relayId, (id) => {
        const path = depositPath(id);
        expect(path.every((index) => index >= 0 && index < 2 ** 31)).toBe(true);
        expect(addresses.of(id)).toBe(privateKeyToAddress(bytesToHex(owner.derive(`m/${path.join('/')}`).privateKey!)));
      }),
      { numRuns: 20 },
    );
  });

  it('are one for each offer, the same each time', () => {
    const ids = fc.sample(relayId, 200);
    const made = ids.map((id) => addresses.of(id));
    expect(new Set(made).size).toBe(new Set(ids).size);
    expect(ids.map((id) => addresses.of(id))).toEqual(made);
  });

  it('take no key that could spend', () => {
    expect(() => new DepositAddresses(owner.privateExtendedKey)).toThrow('private key');
    expect(() => new DepositAddresses('xpub-of-nothing')).toThrow();
  });
});
