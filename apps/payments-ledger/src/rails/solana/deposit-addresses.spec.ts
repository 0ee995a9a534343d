import fc from 'fast-check';
import { createKeyPairSignerFromPrivateKeyBytes } from '@solana/kit';
import { depositPath } from '../deposit-path.js';
import { addressOf, deriveKey, DepositAddresses, pathTextOf } from './deposit-addresses.js';

const relayId = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);
const at = (seed: string, path: number[]): string => deriveKey(Buffer.from(seed, 'hex'), path).toString('hex');

describe('keys below a seed', () => {
  // Source: github.com/satoshilabs/slips, slip-0010.md, test vectors 1 and 2 for ed25519.
  const FIRST = '000102030405060708090a0b0c0d0e0f';
  const SECOND = 'fffcf9f6f3f0edeae7e4e1dedbd8d5d2cfccc9c6c3c0bdbab7b4b1aeaba8a5a29f9c999693908d8a8784817e7b7875726f6c696663605d5a5754514e4b484542';
  it.each([
    [FIRST, [], '2b4be7f19ee27bbf30c667b642d5f4aa69fd169872f8fc3059c08ebae2eb19e7'],
    [FIRST, [0], '68e0fe46dfb67e368c75379acec591dad19df3cde26e63b93a8e704f1dade7a3'],
    [FIRST, [0, 1], 'b1d0bad404bf35da785a64ca1ac54b2617211d2777696fbffaf208f746ae84f2'],
    [FIRST, [0, 1, 2], '92a5b23c0b8a99e37d07df3fb9966917f5d06e02ddbd909c7e184371463e9fc9'],
    [FIRST, [0, 1, 2, 2], '30d1dc7e5fc04c31219ab25a27ae00b50f6fd66622f6e9c913253d6511d1e662'],
    [FIRST, [0, 1, 2, 2, 1_000_000_000], '8f94d394a8e8fd6b1bc2f3f49f5c47e385281d5c17e65324b0f62483e37e8793'],
    [SECOND, [], '171cb88b1b3c1db25add599712e36245d75bc65a1a5c9e18d76f9f2b1eab4012'],
    [SECOND, [0], '1559eb2bbec5790b0c65d8693e4d0875b1747f4970ae8b650486ed7470845635'],
    [SECOND, [0, 2_147_483_647], 'ea4f5bfe8694d8bb74b7b59404632fd5968b774ed545e810de9c32a4fb4192f4'],
    [SECOND, [0, 2_147_483_647, 1], '3757c7577170179c7868353ada796c839135b3d30554bbb74a4b1e4a5a58505c'],
    [SECOND, [0, 2_147_483_647, 1, 2_147_483_646], '5837736c89570de861ebc173b1086da4f505d4adb387c6a1b1342d5e4ac9ec72'],
    [SECOND, [0, 2_147_483_647, 1, 2_147_483_646, 2], '551d333177df541ad876a60ea71f00447931c0a9da16f227c11ea080d7391b8d'],
  ])('are those that SLIP-0010 publishes: %s at %j', (seed, path, key) => {
    expect(at(seed, path)).toBe(key);
  });

  it("belong to the addresses that wallets show: of the mnemonic of twelve times abandon, at m/44'/501'/0'/0'", () => {
    const seed = '5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc19a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4';
    expect(addressOf(Buffer.from(at(seed, [44, 501, 0, 0]), 'hex'))).toBe('HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk');
  });
});

describe('deposit addresses on Solana', () => {
  const seed = Buffer.alloc(32, 7);
  const addresses = new DepositAddresses(seed);

  it('are those whose key whoever holds the seed derives from the offer alone', async () => {
    await fc.assert(
      fc.asyncProperty(relayId, async (id) => {
        const path = depositPath(id);
        expect(pathTextOf(id)).toBe(`m/${path[0]}'/${path[1]}'/${path[2]}'`);
        expect(addresses.of(id)).toBe((await createKeyPairSignerFromPrivateKeyBytes(deriveKey(seed, path))).address);
      }),
      { numRuns: 20 },
    );
  });

  it('are one for each offer, the same each time, and others below another seed', () => {
    const ids = fc.sample(relayId, 200);
    const made = ids.map((id) => addresses.of(id));
    expect(new Set(made).size).toBe(new Set(ids).size);
    expect(ids.map((id) => addresses.of(id))).toEqual(made);
    expect(made).not.toContain(new DepositAddresses(Buffer.alloc(32, 8)).of(ids[0]!));
  });
});
