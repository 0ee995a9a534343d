import { checksumOf, safeBatch, type SafeBatch } from './safe-batch.js';

/** A file that the Transaction Builder 1.18.2 itself exported. */
const FILE: SafeBatch = {
  version: '1.0',
  chainId: '1',
  createdAt: 1761326849944,
  meta: {
    name: 'Transactions Batch',
    description: '',
    txBuilderVersion: '1.18.2',
    createdFromSafeAddress: '0xA77DE01e157f9f57C7c4A326eeE9C4874D0598b6',
    createdFromOwnerAddress: '',
    checksum: '0x8b5032f716845c8b08bab3d63dbd9ba92e056f3557793cd041e59b84e16aa989',
  },
  transactions: [
    {
      to: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
      value: '0',
      data: null,
      contractMethod: {
        inputs: [
          { internalType: 'address', name: 'spender', type: 'address' },
          { internalType: 'uint256', name: 'value', type: 'uint256' },
        ],
        name: 'approve',
        payable: false,
      },
      contractInputsValues: { spender: '0x474e5Ded6b5D078163BFB8F6dBa355C3aA5478C8', value: '100000000000' },
    },
  ],
};

describe("a file for a Safe's Transaction Builder", () => {
  it('has the checksum that the app computes, whatever it is called', () => {
    expect(checksumOf(FILE)).toBe(FILE.meta['checksum']);
    expect(checksumOf({ ...FILE, meta: { ...FILE.meta, name: 'Payouts' } })).toBe(FILE.meta['checksum']);
    expect(checksumOf({ ...FILE, chainId: '8453' })).not.toBe(FILE.meta['checksum']);
  });

  it('transfers to each payee what it is due, in base units', () => {
    const file = safeBatch({
      chainId: 8_453,
      token: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      safe: undefined,
      description: 'two',
      createdAt: new Date(5),
      payees: [
        { wallet: '0x52908400098527886E0F7030069857D2E4169EE7', baseUnits: 712_500n },
        { wallet: '0x474e5Ded6b5D078163BFB8F6dBa355C3aA5478C8', baseUnits: 1n },
      ],
    });
    expect(file).toMatchObject({ version: '1.0', chainId: '8453', createdAt: 5 });
    expect(file.meta['checksum']).toBe(checksumOf(file));
    expect(file.transactions).toMatchObject([
      { value: '0', contractInputsValues: { to: '0x52908400098527886E0F7030069857D2E4169EE7', value: '712500' } },
      { contractMethod: { name: 'transfer' }, contractInputsValues: { value: '1' } },
    ]);
  });
});
