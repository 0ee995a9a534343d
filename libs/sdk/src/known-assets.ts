import type { PaymentCurrency } from './types.js';

/** The decimals of the currencies of offers. */
export const DECIMALS: Record<PaymentCurrency, number> = { USDC: 6, ETH: 18, SOL: 9 };

/**
 * The contracts of USDC that its issuer deployed, by CAIP-2 network.
 * Source: developers.circle.com/stablecoins/usdc-contract-addresses.
 */
const USDC: Record<string, string> = {
  'eip155:1': '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
  'eip155:10': '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85',
  'eip155:137': '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
  'eip155:8453': '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  'eip155:42161': '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
  'eip155:84532': '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  'eip155:11155111': '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238',
};

/** A chain that a payer may pay on. */
export interface PayableChain {
  /** The contract of USDC on a chain that is not in the issuer's list. */
  usdc?: string;
  /** Whether the wallet has approved Permit2 for USDC there, which `upto` pays by. */
  permit2?: boolean;
}

/** The chains on which a payer may pay, by CAIP-2 network. It pays on no other. */
export type PayableChains = Readonly<Record<string, PayableChain>>;

/** The contract of USDC on a chain that a payer may pay on; undefined when it is not known. */
export const usdcOf = (chains: PayableChains, network: string): string | undefined =>
  Object.hasOwn(chains, network) ? (chains[network]!.usdc ?? USDC[network]) : undefined;
