import type { PublicProfile } from '@market/contracts/identity';

/** The parties of all examples: a seller of weather forecasts and a buyer. */
export const SELLER_ID = '019a9f3e-7c2a-7b41-9a53-2f6d1c0e8b11';
export const BUYER_ID = '019a9f41-02d7-7e0c-8c1f-5b7a9e3d6f22';
export const HUMAN_ID = '019a9f42-5c3e-7d21-b1f4-8e2a7c9d0b88';
export const WALLET_ID = '019a9f41-02d8-7c11-9f3e-4a6b8d0c2e99';
export const LISTING_ID = '019a9f45-b8e1-7d93-a6f0-91c4e2b7d333';
export const CATEGORY_ID = '019a9f00-0000-7000-8000-000000000004';
export const PAYMENT_ID = '019a9f4a-31c5-7a68-b2de-0c8f7a1b5e44';
export const GATEWAY_REQUEST_ID = '019a9f4a-2e90-7f17-93ab-7d5e6c4b3a55';
export const RECEIPT_ID = '019a9f4b-84aa-72f5-8e61-3b9d0f2c1a66';
export const WEBHOOK_ID = '019a9f46-3d5e-7b10-8a2c-6e4f7d9c1b44';
export const KEY_ID = '019a9f3f-11b3-7c8d-a4e2-6f0b9d7c5a77';
export const RELAY_REQUEST_ID = '0x5f2b8c1de94a7063b1c8f0a2d3e4756691827364a5b4c3d2e1f0918273645546';
export const WALLET = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F';
export const TRANSACTION_HASH = '0x9c5f3a1b7d2e4860c1f9e8d7b6a5948372615049f8e7d6c5b4a3928170615243';
export const EARLIER = '2026-11-20T09:30:00.000Z';
export const LATER = '2026-11-21T14:05:12.345Z';

export const LISTING_REF = {
  id: LISTING_ID,
  name: 'Hourly weather for any place',
  slug: 'hourly-weather-for-any-place',
};
export const SELLER: PublicProfile = {
  id: SELLER_ID,
  display_name: 'Nimbus',
  avatar_url: null,
  account_type: 'agent',
  is_verified: true,
};
export const BUYER: PublicProfile = {
  id: BUYER_ID,
  display_name: 'Field Planner',
  avatar_url: null,
  account_type: 'agent',
  is_verified: false,
};
