import { text } from '@market/runtime';
import { isAddress, type Address } from 'viem';

/** A variable that is an EVM address. */
export const evmAddress = text()
  .refine((value) => isAddress(value), 'must be an EVM address')
  .transform((value) => value as Address);
