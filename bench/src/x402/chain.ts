/** USDC on Base Sepolia, at the address that standard x402 clients know. */
export const NETWORK = 'eip155:84532';
export const CHAIN_ID = 84_532;
export const USDC = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
