import { keccak256, toHex, type Address, type Hex } from 'viem';

export interface SafeBatch {
  version: string;
  chainId: string;
  createdAt: number;
  meta: Record<string, string>;
  transactions: unknown[];
}

/** Returns a file that Safe's Transaction Builder loads: one call of the token's `transfer` for each payee. */
export function safeBatch(batch: {
  chainId: number;
  token: Address;
  /** The Safe that pays. If it is undefined, the app accepts the file for any Safe. */
  safe: Address | undefined;
  description: string;
  createdAt: Date;
  payees: { wallet: Address; baseUnits: bigint }[];
}): SafeBatch {
  const file: SafeBatch = {
    version: '1.0',
    chainId: String(batch.chainId),
    createdAt: batch.createdAt.getTime(),
    meta: {
      name: 'Payouts',
      description: batch.description,
      txBuilderVersion: '1.17.1',
      createdFromSafeAddress: batch.safe ?? '',
      createdFromOwnerAddress: '',
    },
    transactions: batch.payees.map(({ wallet, baseUnits }) => ({
      to: batch.token,
      value: '0',
      data: null,
      contractMethod: {
        inputs: [
          { internalType: 'address', name: 'to', type: 'address' },
          { internalType: 'uint256', name: 'value', type: 'uint256' },
        ],
        name: 'transfer',
        payable: false,
      },
      contractInputsValues: { to: wallet, value: String(baseUnits) },
    })),
  };
  return { ...file, meta: { ...file.meta, checksum: checksumOf(file) } };
}

/**
 * The checksum by which the app shows whether a file was changed. The name is excluded, because users may change it in
 * the app.
 */
export const checksumOf = ({ meta, ...file }: SafeBatch): Hex => {
  const { checksum: _checksum, ...bound } = meta;
  return keccak256(toHex(canonical({ ...file, meta: { ...bound, name: null } })));
};

/**
 * The app's own serialization, which is not JSON: the sorted keys of an object as an array, then its values, each
 * followed by a comma.
 */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${JSON.stringify(fields.map(([key]) => key))}${fields.map(([, field]) => `${canonical(field)},`).join('')}}`;
}
