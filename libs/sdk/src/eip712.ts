import { keccak_256 } from '@noble/hashes/sha3';
import { concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils';

export type Hex = `0x${string}`;

/** The types of EIP-712 that payments use: address, uint256, bytes32, string and structs of these, but no arrays. */
interface Field {
  readonly name: string;
  readonly type: string;
}
type Types = Readonly<Record<string, readonly Field[]>>;

export interface TypedData {
  domain: { name: string; version?: string; chainId: number; verifyingContract: Hex };
  types: Types;
  primaryType: string;
  message: Record<string, unknown>;
}

const DOMAIN_FIELDS: readonly Field[] = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
];

/** What an EVM account signs for typed data. Source: eips.ethereum.org/EIPS/eip-712. */
export const typedDataHash = ({ domain, types, primaryType, message }: TypedData): Uint8Array =>
  keccak_256(
    concatBytes(
      Uint8Array.of(0x19, 0x01),
      structHash('EIP712Domain', { EIP712Domain: DOMAIN_FIELDS.filter(({ name }) => name in domain) }, { ...domain }),
      structHash(primaryType, types, message),
    ),
  );

function structHash(name: string, types: Types, values: Record<string, unknown>): Uint8Array {
  const fields = types[name]!;
  // The structs in it follow it in the order of their names. None of them has one of its own.
  const inner = fields.map(({ type }) => type).filter((type) => type in types);
  const encoded = [name, ...[...new Set(inner)].sort()].map(
    (each) => `${each}(${types[each]!.map((field) => `${field.type} ${field.name}`).join(',')})`,
  );
  const words = fields.map(({ type, name: field }) =>
    type in types ? structHash(type, types, values[field] as Record<string, unknown>) : wordOf(type, values[field]),
  );
  return keccak_256(concatBytes(keccak_256(utf8ToBytes(encoded.join(''))), ...words));
}

/** Encodes a value in 32 bytes. @throws RangeError for a value that does not fit its type. */
function wordOf(type: string, value: unknown): Uint8Array {
  if (type === 'string') return keccak_256(utf8ToBytes(String(value)));
  const digits = type === 'uint256' ? BigInt(value as bigint).toString(16) : String(value).replace(/^0x/i, '');
  const isWhole = type === 'uint256' ? digits.length <= 64 : digits.length === (type === 'address' ? 40 : 64);
  if (!isWhole || !/^[0-9a-f]+$/i.test(digits)) throw new RangeError(`"${String(value)}" is no ${type}.`);
  return hexToBytes(digits.padStart(64, '0'));
}
