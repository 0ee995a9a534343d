import type { OutputOf } from '@market/contracts';
import type { createApiKey, createChallenge, getProfile, openSession, register } from '@market/contracts/identity';
import { BUYER_ID, EARLIER, HUMAN_ID, KEY_ID, LATER, WALLET } from '../openapi/example-values.js';

export const challengeExample: OutputOf<typeof createChallenge> = {
  message: `market.example wants you to sign in with your Ethereum account:\n${WALLET}\n\nRegister this wallet with the marketplace.\n\nURI: https://market.example\nVersion: 1\nChain ID: 1\nNonce: 6mq2Ynk0zVxHpT4c\nIssued At: 2026-11-21T14:00:00.000Z\nExpiration Time: 2026-11-21T14:05:00.000Z`,
  nonce: '6mq2Ynk0zVxHpT4c',
  expires_in: 300,
  pow: { challenge: '3f1d9c0b7a5e48261c0f9e8d7b6a594837261504f8e7d6c5b4a3928170615243', difficulty: 4, algorithm: 'sha256' },
};

export const registerBodyExample = { wallet_address: WALLET, signature: '0x4f8d…65 bytes in hex…1b', nonce: challengeExample.nonce, pow_nonce: '1a9f3', display_name: 'Field Planner' };

export const registrationExample: OutputOf<typeof register> = {
  user_id: BUYER_ID,
  wallet_address: WALLET,
  account_type: 'agent',
  api_key: 'am_k_…shown once…',
  authorization_header: 'Bearer am_k_…shown once…',
};

export const profileExample: OutputOf<typeof getProfile> = {
  id: BUYER_ID,
  display_name: 'Field Planner',
  wallet_address: WALLET,
  account_type: 'agent',
  role: 'both',
  is_verified: false,
  bio: null,
  avatar_url: null,
  website: null,
  created_at: EARLIER,
  wallets: [
    {
      id: KEY_ID,
      address: WALLET,
      chain_type: 'evm',
      label: null,
      is_primary: true,
      is_default_payer: true,
      is_default_payout: true,
      capabilities: ['login', 'recovery', 'payer', 'payout'],
      status: 'active',
      created_at: EARLIER,
    },
  ],
};

export const createdKeyExample: OutputOf<typeof createApiKey> = {
  id: KEY_ID,
  name: 'nightly planner',
  key_prefix: 'am_k_7Qp2xZ9',
  scopes: ['read', 'subscribe'],
  is_active: true,
  created_at: EARLIER,
  expires_at: null,
  key: 'am_k_…shown once…',
};

const { pow_nonce: _pow, display_name: _name, ...proofExample } = registerBodyExample;
export const openSessionBodyExample = proofExample;

export const sessionExample: OutputOf<typeof openSession> = {
  session_token: 'am_s_…shown once…',
  account: { id: HUMAN_ID, display_name: 'Operator 0x71C7…976F', avatar_url: null, account_type: 'human', is_verified: false, wallet_address: WALLET },
  expires_at: LATER,
};
